// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernels/softmax_cross_entropy/softmax_cross_entropy.h"

namespace trireme::kernels {

/// The rank of a row that is never correct: of padding, with NaN, or with a label that is no class.
constexpr std::int32_t kNeverCorrect = 0x7FFFFFFF;

/// Loss and rank (how many classes are better than the label) of each row, and the record that they add to.
struct RecordArguments {
  const float* losses;        ///< [batch]
  const std::int32_t* ranks;  ///< [batch]
  std::int64_t batch;
  const StepValues* step;
  LossRecord* record;

  template <typename Visit>
  __host__ __device__ void visit_pointers(Visit visit) const {
    visit(losses);
    visit(ranks);
    visit(step);
    visit(record);
  }
};

void add_to_record(const RecordArguments& arguments, cudaStream_t stream);

}  // namespace trireme::kernels
