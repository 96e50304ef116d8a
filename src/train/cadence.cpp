// SPDX-License-Identifier: Apache-2.0
#include "src/train/cadence.h"

#include <algorithm>
#include <cmath>

namespace trireme {

Cadence::Cadence(const Interval& interval, std::int64_t steps_per_epoch) {
  const auto steps = [](double count) { return std::max<std::int64_t>(1, std::llround(count)); };
  switch (interval.unit) {
    case Interval::Unit::never:
      break;
    case Interval::Unit::steps:
      every_ = steps(interval.count);
      break;
    case Interval::Unit::epochs:
      every_ = steps(interval.count * static_cast<double>(steps_per_epoch));
      break;
    case Interval::Unit::minutes:
      seconds_ = interval.count * 60;
      break;
  }
}

}  // namespace trireme
