// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "src/comm/communicator.h"
#include "src/core/group_sum.h"

namespace trireme {

/// Sums of a program in mid-pass over a communicator, which should be apart from that of the gradients: their
/// buckets are in flight while backward asks for sums. One thread uses it. `communicator` and `stream` must
/// outlive it.
class CommunicatorSum final : public GroupSum {
 public:
  CommunicatorSum(Communicator& communicator, Stream& stream)
      : communicator_(communicator), stream_(stream) {}
  void sum(std::span<double> values, std::string_view what) override;
  /// Seconds that sum() has blocked in all.
  double wait_seconds() const { return wait_seconds_; }

 private:
  Communicator& communicator_;
  Stream& stream_;
  double wait_seconds_ = 0;
};

}  // namespace trireme
