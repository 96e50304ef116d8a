// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace trireme {

/// Sums since a run began, of training steps only; the difference of two is a stretch of the run.
struct Rates {
  double seconds = 0;
  double data_wait = 0,
         comm_wait = 0;      ///< seconds of them in which the rank waited for batches, for other ranks
  std::int64_t samples = 0;  ///< of all ranks together

  double images_per_second() const { return seconds > 0 ? static_cast<double>(samples) / seconds : 0; }
  double data_wait_share() const { return seconds > 0 ? data_wait / seconds : 0; }
  double comm_wait_share() const { return seconds > 0 ? comm_wait / seconds : 0; }

  friend Rates operator-(const Rates& a, const Rates& b) {
    return {a.seconds - b.seconds, a.data_wait - b.data_wait, a.comm_wait - b.comm_wait,
            a.samples - b.samples};
  }
};

}  // namespace trireme
