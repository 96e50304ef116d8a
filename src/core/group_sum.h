// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string_view>

namespace trireme {

/// Sums that a program needs over all ranks in the middle of a pass. Whoever runs programs on several ranks
/// implements it; the program calls it between two ops, with what its stream was asked to do before already
/// done, so that a device with a queue copies its sums to the host, waits, and copies the result back.
class GroupSum {
 public:
  virtual ~GroupSum() = default;
  /// In place: every rank's values become the sum of all, with the same bits on every rank. Blocks until they
  /// are there. All ranks must call in the same order with equal lengths. `what` names the sum in messages.
  /// Error (69) if another rank does not come in time.
  virtual void sum(std::span<double> values, std::string_view what) = 0;
};

}  // namespace trireme
