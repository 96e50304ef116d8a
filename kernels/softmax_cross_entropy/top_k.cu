// SPDX-License-Identifier: Apache-2.0
// A label is among the k largest logits where fewer than k classes are better: larger, or equal and of a
// lower class. So nothing is sorted, for any k.
#include <stdexcept>

#include "kernels/softmax_cross_entropy/softmax_cross_entropy.h"
#include "kernels/team_reduce.cuh"

namespace trireme::kernels {
namespace {

constexpr int kRowsPerBlock = 4;

/// A warp for each row.
template <typename T>
__global__ void __launch_bounds__(kRowsPerBlock* simt::kWarpSize)
    top_k_count_warp_kernel(SoftmaxCrossEntropyShape shape, int k, const T* logits,
                            const std::int32_t* labels, const StepValues* step, std::int64_t* count) {
  constexpr int kSize = kVectorSize<T>;
  const std::int64_t n = static_cast<std::int64_t>(blockIdx.x) * kRowsPerBlock + simt::warp_id();
  if (n >= shape.batch || n >= simt::load(&step->valid_samples)) return;
  const int label = simt::load(labels + n);
  if (label < 0 || label >= shape.classes) return;
  const T* const row = logits + n * shape.pitch;
  const float z_label = to_float(simt::load(row + label));
  int better = 0;
  bool has_nan = false;
  for (int first = simt::lane_id() * kSize; first < shape.classes; first += simt::kWarpSize * kSize) {
    const auto loaded = simt::load16(row + first);
    SIMT_UNROLL
    for (int i = 0; i < kSize; ++i) {
      const float z = to_float(loaded[i]);
      if (first + i >= shape.classes) continue;
      better += z > z_label || (z == z_label && first + i < label) ? 1 : 0;
      has_nan = has_nan || z != z;
    }
  }
  better = reduce_warp<AddValues>(better);
  has_nan = __any_sync(simt::kFullMask, has_nan ? 1 : 0) != 0;
  if (simt::lane_id() == 0 && !has_nan && better < k)
    atomicAdd(reinterpret_cast<unsigned long long*>(count), 1ULL);
}

}  // namespace

template <typename T>
void top_k_count(const SoftmaxCrossEntropyShape& shape, int k, const T* logits, const std::int32_t* labels,
                 const StepValues* step, std::int64_t* count, cudaStream_t stream) {
  if (k < 1 || k > 32) throw std::invalid_argument("top_k_count: k must lie between 1 and 32");
  if (shape.batch == 0) return;
  const auto blocks = static_cast<unsigned>(divide_up<std::int64_t>(shape.batch, kRowsPerBlock));
  SIMT_LAUNCH(top_k_count_warp_kernel<T>, blocks, kRowsPerBlock * simt::kWarpSize, 0, stream, shape, k,
              logits, labels, step, count);
}

template void top_k_count(const SoftmaxCrossEntropyShape&, int, const BFloat16*, const std::int32_t*,
                          const StepValues*, std::int64_t*, cudaStream_t);
template void top_k_count(const SoftmaxCrossEntropyShape&, int, const Half*, const std::int32_t*,
                          const StepValues*, std::int64_t*, cudaStream_t);
template void top_k_count(const SoftmaxCrossEntropyShape&, int, const float*, const std::int32_t*,
                          const StepValues*, std::int64_t*, cudaStream_t);

}  // namespace trireme::kernels
