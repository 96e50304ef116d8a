// SPDX-License-Identifier: Apache-2.0
// Adds rows to the step record. One block takes all rows in a fixed order, so the float64 sum of losses has
// the same bits in every run; a batch is too small for more blocks to pay.
#include "kernels/softmax_cross_entropy/loss_record.h"

#include <cmath>

#include "kernels/team_reduce.cuh"

namespace trireme::kernels {
namespace {

constexpr int kThreads = 256;

/// 2^-24 steps. A loss that is not a number or huge counts as 2^16, which keeps any sum within 64 bits.
__device__ inline long long fixed_point(double loss) {
  constexpr double kLargest = 65536.0, kSteps = 16777216.0;
  return llrint((loss < kLargest ? loss : kLargest) * kSteps);
}

__global__ void __launch_bounds__(kThreads) loss_record_add_block_kernel(RecordArguments a) {
  SIMT_SHARED(double, doubles, simt::kWarpSize);
  SIMT_SHARED(long long, integers, simt::kWarpSize);
  const std::int64_t valid = simt::load(&a.step->valid_samples);
  const std::int64_t rows = valid < a.batch ? valid : a.batch;
  double loss_sum = 0;
  long long fixed = 0, top1 = 0, top5 = 0;
  for (std::int64_t n = threadIdx.x; n < rows; n += kThreads) {
    const auto loss = static_cast<double>(simt::load(a.losses + n));
    const std::int32_t rank = simt::load(a.ranks + n);
    loss_sum += loss;
    fixed += fixed_point(loss);
    top1 += rank < 1 ? 1 : 0;
    top5 += rank < 5 ? 1 : 0;
  }
  loss_sum = reduce_block<AddValues>(loss_sum, 0.0, doubles);
  fixed = reduce_block<AddValues>(fixed, 0LL, integers);
  top1 = reduce_block<AddValues>(top1, 0LL, integers);
  top5 = reduce_block<AddValues>(top5, 0LL, integers);
  if (threadIdx.x != 0) return;
  simt::store(&a.record->loss_sum, simt::load(&a.record->loss_sum) + loss_sum);
  simt::store<std::int64_t>(&a.record->loss_fixed, simt::load(&a.record->loss_fixed) + fixed);
  simt::store<std::int64_t>(&a.record->samples, simt::load(&a.record->samples) + rows);
  simt::store<std::int64_t>(&a.record->top1, simt::load(&a.record->top1) + top1);
  simt::store<std::int64_t>(&a.record->top5, simt::load(&a.record->top5) + top5);
}

}  // namespace

void add_to_record(const RecordArguments& arguments, cudaStream_t stream) {
  SIMT_LAUNCH(loss_record_add_block_kernel, 1, kThreads, 0, stream, arguments);
}

}  // namespace trireme::kernels
