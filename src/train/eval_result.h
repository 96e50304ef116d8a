// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

#include "src/train/json_log.h"

namespace trireme {

/// Sums over every sample of a dataset, once each. All are integers, so they are the same digits at any
/// number of ranks and in any order of summation.
struct EvalResult {
  std::int64_t loss_fixed = 0;  ///< StepRecord::loss_fixed
  std::int64_t total = 0, correct = 0, top5_correct = 0;
  std::int64_t non_finite = 0;  ///< ranks that met a loss that is not a finite number
  std::int64_t incomplete = 0;  ///< ranks that left out samples; above 0 the rest says nothing

  double loss() const;  ///< mean per sample; NaN if it is not finite
  double top1() const { return static_cast<double>(correct) / static_cast<double>(total); }
  double top5() const { return static_cast<double>(top5_correct) / static_cast<double>(total); }
  /// "top1=0.9132 top5=0.9970 loss=0.2871 correct=9132 total=10000"
  std::string text() const;
  /// The members of an `eval` event.
  Json json() const;
};

}  // namespace trireme
