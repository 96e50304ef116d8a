// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <mutex>
#include <optional>
#include <string>

#include "src/comm/nccl/nccl_api.h"
#include "src/comm/world.h"
#include "src/core/error.h"

namespace trireme {

/// RAII over an ncclComm_t that never blocks. Its calls are made one at a time, whichever thread makes them.
class NcclHandle {
 public:
  /// Collective over `group`, for the thread that may call MPI, with this rank's device current. Error (69)
  /// where the ranks are not connected when `timeout` has passed, 78 where NCCL refuses what is asked for.
  NcclHandle(const NcclApi& api, const Group& group, std::chrono::duration<double> timeout);
  ~NcclHandle() { end(); }
  NcclHandle(const NcclHandle&) = delete;
  NcclHandle& operator=(const NcclHandle&) = delete;

  const NcclApi& api() const { return api_; }
  /// "2.28.9"
  std::string version() const;

  /// What `call` returns for the communicator: ncclInProgress where state() will tell. ncclInvalidUsage once
  /// it is aborted.
  template <typename Call>
  ncclResult_t call(const Call& call) {
    const std::lock_guard lock(mutex_);
    return comm_ == nullptr ? ncclInvalidUsage : call(comm_);
  }
  /// ncclSuccess, ncclInProgress, or what has gone wrong since.
  ncclResult_t state();
  /// 69, or 78 for a call that NCCL does not take; with NCCL's own words.
  Error error(ncclResult_t result, std::string_view doing);
  /// What runs on the device ends, and nothing more is taken.
  void abort() noexcept;
  /// Ends it together with the other ranks, for 5 s at most; then, or while an error unwinds, without them.
  void end() noexcept;

 private:
  void connect(const Group& group, std::chrono::duration<double> timeout);
  void await_connection(const Group& group, std::chrono::duration<double> timeout);
  bool finalize() noexcept;

  const NcclApi& api_;
  std::mutex mutex_;
  ncclComm_t comm_ = nullptr;
};

}  // namespace trireme
