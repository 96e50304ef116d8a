// SPDX-License-Identifier: Apache-2.0
#include "src/train/batch_plan.h"

#include <functional>
#include <set>

namespace trireme {

std::int64_t BatchPlan::steps_per_epoch() const {
  return keep_last ? (num_samples + global_batch - 1) / global_batch : num_samples / global_batch;
}

std::int64_t BatchPlan::dropped_samples() const {
  return keep_last ? 0 : num_samples % global_batch;
}

SampleRange BatchPlan::step(std::int64_t step_in_epoch) const {
  return step_range(step_in_epoch, global_batch, num_samples);
}

SampleRange BatchPlan::micro_batch(std::int64_t step_in_epoch, std::int64_t part) const {
  return share_of(share_of(step(step_in_epoch), part, accumulate), rank, ranks);
}

std::int64_t BatchPlan::micro_batch_samples(std::int64_t step_in_epoch, std::int64_t part) const {
  return share_of(step(step_in_epoch), part, accumulate).size();
}

std::vector<std::int64_t> BatchPlan::distinct_rows() const {
  std::set<std::int64_t, std::greater<>> rows;
  // All steps but the last are alike.
  for (const std::int64_t index : {std::int64_t{0}, steps_per_epoch() - 1})
    for (std::int64_t part = 0; part < accumulate; ++part) rows.insert(rows_of(micro_batch(index, part)));
  return {rows.begin(), rows.end()};
}

}  // namespace trireme
