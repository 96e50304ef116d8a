// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <memory>
#include <string>

#include "src/comm/comm_thread.h"
#include "src/comm/nccl/nccl_handle.h"
#include "src/device/device.h"

namespace trireme {

/// A call of NCCL's, between the thread that makes it and the one that watches it.
struct NcclOperation {
  explicit NcclOperation(Device& device) : made(device.make_event()), done(device.make_event()) {}

  const std::unique_ptr<Event> made;  ///< the tensor, on the caller's stream
  const std::unique_ptr<Event> done;  ///< the result, on NCCL's; recorded once it is launched
  /// What NCCL said: ncclInProgress until it has taken the call.
  std::atomic<ncclResult_t> launch{ncclInProgress};
};

/// Watches an operation: it is complete when the device has done it.
class NcclCollective final : public Collective {
 public:
  NcclCollective(std::shared_ptr<NcclHandle> handle, std::shared_ptr<const NcclOperation> operation,
                 std::string description);

  void start() override {}
  bool step() override;
  std::string describe() const override { return description_; }
  std::string held_up_by() const override;
  void abandon() noexcept override { handle_->abort(); }

 private:
  const std::shared_ptr<NcclHandle> handle_;
  const std::shared_ptr<const NcclOperation> operation_;
  const std::string description_;
};

}  // namespace trireme
