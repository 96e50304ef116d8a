// SPDX-License-Identifier: Apache-2.0
#include "src/train/step_scalars.h"

#include <cmath>
#include <limits>

#include "src/core/deadline.h"

namespace trireme {
namespace {

enum Field : std::size_t {
  kLossFixed,
  kSamples,
  kTop1,
  kNonFinite,
  kStop,
  kEvalDue,
  kCheckpointDue,
  kFields
};

}  // namespace

double StepTotals::loss() const {
  if (non_finite > 0 || samples == 0) return std::numeric_limits<double>::quiet_NaN();
  return std::ldexp(static_cast<double>(loss_fixed), -24) / static_cast<double>(samples);
}

StepScalars::StepScalars(Communicator& communicator) : record_(communicator, 0, kFields) {}

void StepScalars::submit(const StepRecord& record, const StepFlags& flags, Stream& stream) {
  const bool finite = std::isfinite(record.loss_sum);
  const auto fields = record_.integers();
  fields[kLossFixed] = finite ? record.loss_fixed : 0;
  fields[kSamples] = record.samples;
  fields[kTop1] = record.top1;
  fields[kNonFinite] = finite ? 0 : 1;
  fields[kStop] = flags.stop ? 1 : 0;
  fields[kEvalDue] = flags.eval_due ? 1 : 0;
  fields[kCheckpointDue] = flags.checkpoint_due ? 1 : 0;
  record_.submit(stream, "the step record");
}

StepTotals StepScalars::wait(Stream& stream) {
  const Stopwatch clock;
  record_.wait(stream);
  wait_seconds_ += clock.seconds();
  const auto fields = record_.integers();
  return {fields[kLossFixed],        fields[kSamples],  fields[kTop1],
          fields[kNonFinite],        fields[kStop] > 0, fields[kEvalDue] > 0,
          fields[kCheckpointDue] > 0};
}

}  // namespace trireme
