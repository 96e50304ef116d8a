// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "src/comm/comm_thread.h"
#include "src/device/device.h"

namespace trireme {

/// Whose turn it is to start among the collectives of one communicator: they start in the order in which they
/// were made, on all ranks the same, whichever's tensor a device makes first.
struct StartOrder {
  std::uint64_t made = 0;      ///< for the thread that makes them
  std::uint64_t starting = 0;  ///< for the thread that steps them
};

/// A collective that begins when a device has made its tensors.
class GatedCollective final : public Collective {
 public:
  /// `made` is a point of a stream, or null: then it waits for its turn only. Made in the order of
  /// submission.
  GatedCollective(std::unique_ptr<Collective> collective, std::unique_ptr<Event> made,
                  std::shared_ptr<StartOrder> order);

  void start() override { begin(); }
  bool step() override { return begin() && collective_->step(); }
  std::string describe() const override { return collective_->describe(); }
  std::string awaited() const override { return has_begun_ ? collective_->awaited() : std::string(); }
  std::string held_up_by() const override;

 private:
  bool begin();

  const std::unique_ptr<Collective> collective_;
  const std::unique_ptr<Event> made_;
  const std::shared_ptr<StartOrder> order_;
  const std::uint64_t number_;
  bool has_begun_ = false;
};

}  // namespace trireme
