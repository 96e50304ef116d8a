// SPDX-License-Identifier: Apache-2.0
#include "src/train/eval_result.h"

#include <fmt/format.h>

#include <cmath>
#include <limits>

namespace trireme {

double EvalResult::loss() const {
  if (non_finite > 0) return std::numeric_limits<double>::quiet_NaN();
  return std::ldexp(static_cast<double>(loss_fixed), -24) / static_cast<double>(total);
}

std::string EvalResult::text() const {
  return fmt::format("top1={:.4f} top5={:.4f} loss={:.4f} correct={} total={}", top1(), top5(), loss(),
                     correct, total);
}

Json EvalResult::json() const {
  return {{"loss", loss()}, {"top1", top1()}, {"top5", top5()}, {"correct", correct}, {"total", total}};
}

}  // namespace trireme
