// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "src/comm/scalar_record.h"
#include "src/device/op.h"

namespace trireme {

/// What one rank adds to the record of a step.
struct StepFlags {
  bool stop = false;            ///< this rank was asked to stop
  bool eval_due = false;        ///< by rank 0's clock
  bool checkpoint_due = false;  ///< by rank 0's clock
};

/// The record summed over all ranks: the same on each of them.
struct StepTotals {
  std::int64_t loss_fixed = 0;  ///< StepRecord::loss_fixed
  std::int64_t samples = 0, top1 = 0;
  std::int64_t non_finite = 0;  ///< ranks whose loss is not a finite number
  bool stop = false, eval_due = false, checkpoint_due = false;

  double loss() const;  ///< mean per sample; NaN if it is not finite
};

/// Sends each step's small numbers through an allreduce of their own, beside the gradients': what is agreed
/// at step k acts before step k + 1.
class StepScalars {
 public:
  explicit StepScalars(Communicator& communicator);

  void submit(const StepRecord& record, const StepFlags& flags, Stream& stream);
  StepTotals wait(Stream& stream);
  double wait_seconds() const { return wait_seconds_; }

 private:
  ScalarRecord record_;
  double wait_seconds_ = 0;
};

}  // namespace trireme
