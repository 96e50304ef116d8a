// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>

namespace trireme {

/// Sums since a run began, of training steps only; the difference of two is a stretch of the run.
struct Rates {
  double seconds = 0;
  /// Seconds of them in which the rank waited for batches, and for other ranks; of the latter those spent on
  /// gradients.
  double data_wait = 0, comm_wait = 0, exchange_wait = 0;
  std::int64_t samples = 0;  ///< of all ranks together
  std::int64_t steps = 0;

  double images_per_second() const { return seconds > 0 ? static_cast<double>(samples) / seconds : 0; }
  double data_wait_share() const { return seconds > 0 ? data_wait / seconds : 0; }
  double comm_wait_share() const { return seconds > 0 ? comm_wait / seconds : 0; }

  /// The part of communication that went on behind computation: 1 - (step with exchange - step without) /
  /// (exchange alone). The difference of the steps is the time that the rank stood still for gradients;
  /// `alone` is the time of one exchange while nothing else runs. Between 0 and 1; NaN where there is no
  /// exchange.
  double comm_hidden_share(double alone) const {
    const double exchange = static_cast<double>(steps) * alone;
    if (exchange <= 0) return std::numeric_limits<double>::quiet_NaN();
    return std::clamp(1 - exchange_wait / exchange, 0.0, 1.0);
  }

  friend Rates operator-(const Rates& a, const Rates& b) {
    return {a.seconds - b.seconds,     a.data_wait - b.data_wait,
            a.comm_wait - b.comm_wait, a.exchange_wait - b.exchange_wait,
            a.samples - b.samples,     a.steps - b.steps};
  }
};

}  // namespace trireme
