// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "data/sampler.h"

namespace trireme {

/// Which positions of an epoch's order one rank computes: step b takes [bG, (b+1)G), with accumulation in
/// micro-batches one after the other, and of each the rank has a contiguous share. So what is summed
/// together, such as the statistics of a synchronised batch norm, does not depend on the number of ranks.
struct BatchPlan {
  std::int64_t num_samples = 0, global_batch = 0;
  std::int64_t rank = 0, ranks = 1;
  std::int64_t accumulate = 1;
  bool keep_last = false;  ///< whether an epoch ends with a partial batch or drops it

  std::int64_t steps_per_epoch() const;
  /// Samples that the epoch leaves out.
  std::int64_t dropped_samples() const;
  /// Positions of a whole step, of all ranks together.
  SampleRange step(std::int64_t step_in_epoch) const;
  /// Positions of one micro-batch of this rank; may be empty.
  SampleRange micro_batch(std::int64_t step_in_epoch, std::int64_t part) const;
  /// Samples of one micro-batch of all ranks together.
  std::int64_t micro_batch_samples(std::int64_t step_in_epoch, std::int64_t part) const;
  /// Batch of the program that computes `range`: its size, and 1 for an empty one, whose row is padding.
  static std::int64_t rows_of(const SampleRange& range) { return range.size() > 0 ? range.size() : 1; }
  /// Every value that rows_of takes in an epoch, descending.
  std::vector<std::int64_t> distinct_rows() const;
};

}  // namespace trireme
