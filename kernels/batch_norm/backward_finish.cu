// SPDX-License-Identifier: Apache-2.0
// Sums of tiles to sums of the batch, and what is made of those by channel; gradient.cuh has the formulas.
#include "kernels/batch_norm/chan.cuh"
#include "kernels/batch_norm/checks.h"
#include "kernels/batch_norm/row_tiles.cuh"
#include "kernels/batch_norm/running.cuh"

namespace trireme::kernels {
namespace {

/// BatchNormSaved for reading.
struct SavedPointers {
  explicit SavedPointers(const BatchNormSaved& saved)
      : mean(saved.mean),
        inverse_deviation(saved.inverse_deviation),
        variance(saved.variance),
        count(saved.count) {}

  const float *mean, *inverse_deviation, *variance;
  const double* count;

  template <typename Visit>
  __host__ __device__ void visit_pointers(Visit visit) const {
    visit(mean), visit(inverse_deviation), visit(variance), visit(count);
  }
};

struct ParameterTargets {
  explicit ParameterTargets(const BatchNormParameterGradients& gradients)
      : scale(gradients.scale),
        shift(gradients.shift),
        running(gradients.running),
        accumulate(gradients.accumulate) {}

  float *scale, *shift;
  RunningTarget running;
  bool accumulate;

  template <typename Visit>
  __host__ __device__ void visit_pointers(Visit visit) const {
    visit(scale), visit(shift);
    running.visit_pointers(visit);
  }

  __device__ __forceinline__ void store(int channel, const Pair& sums, const SavedPointers& saved,
                                        double count) const {
    const auto inverse = static_cast<double>(simt::load(saved.inverse_deviation + channel));
    store_gradient(scale + channel, static_cast<float>(sums.second * inverse), accumulate);
    store_gradient(shift + channel, static_cast<float>(sums.first), accumulate);
    if (running.mean != nullptr)
      running.store(channel, static_cast<double>(simt::load(saved.mean + channel)),
                    static_cast<double>(simt::load(saved.variance + channel)), count);
  }
};

/// Offset and slope of a channel, zeros for a pad channel.
__device__ __forceinline__ void store_coefficients(float* coefficients, int channel, int pitch,
                                                   const Pair& sums, double inverse, double count) {
  simt::store(coefficients + channel, static_cast<float>(sums.first / count));
  simt::store(coefficients + pitch + channel, static_cast<float>(sums.second / count * inverse * inverse));
}

/// This thread's channel over all tiles; whole in warp 0.
__device__ __forceinline__ Pair add_tiles(const float* tile_sums, std::int64_t tiles, int pitch) {
  Pair sums{0, 0};
  const int channel = merge_channel();
  if (channel < pitch) {
    for (std::int64_t tile = simt::warp_id(); tile < tiles; tile += kMergeWarps) {
      const float* from = tile_sums + tile * 2 * pitch + channel;
      const float first = simt::load(from), second = simt::load(from + pitch);
      sums.add({static_cast<double>(first), static_cast<double>(second)});
    }
  }
  fold_warps(sums);
  return sums;
}

__global__ void __launch_bounds__(kMergeThreads)
    batch_norm_backward_finish_kernel(ParameterTargets gradients, float* coefficients, const float* tile_sums,
                                      std::int64_t tiles, SavedPointers saved, std::int64_t rows,
                                      int channels, int pitch) {
  const Pair sums = add_tiles(tile_sums, tiles, pitch);
  const int channel = merge_channel();
  if (simt::warp_id() != 0 || channel >= pitch) return;
  const auto count = static_cast<double>(rows);
  const bool is_pad = channel >= channels;
  if (!is_pad) gradients.store(channel, sums, saved, count);
  const double inverse = is_pad ? 0.0 : static_cast<double>(simt::load(saved.inverse_deviation + channel));
  store_coefficients(coefficients, channel, pitch, sums, inverse, count);
}

__global__ void __launch_bounds__(kMergeThreads)
    batch_norm_sync_backward_sums_kernel(ParameterTargets gradients, double* group_sums,
                                         const float* tile_sums, std::int64_t tiles, SavedPointers saved,
                                         int channels, int pitch) {
  const Pair sums = add_tiles(tile_sums, tiles, pitch);
  const int channel = merge_channel();
  if (simt::warp_id() != 0 || channel >= channels) return;
  gradients.store(channel, sums, saved, simt::load(saved.count));
  simt::store(group_sums + channel, sums.first);
  simt::store(group_sums + channels + channel, sums.second);
}

__global__ void batch_norm_sync_coefficients_kernel(float* coefficients, const double* group_sums,
                                                    SavedPointers saved, int channels, int pitch) {
  const int channel = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (channel >= pitch) return;
  Pair sums{0, 0};
  double inverse = 0;
  if (channel < channels) {
    sums = {simt::load(group_sums + channel), simt::load(group_sums + channels + channel)};
    inverse = static_cast<double>(simt::load(saved.inverse_deviation + channel));
  }
  store_coefficients(coefficients, channel, pitch, sums, inverse, simt::load(saved.count));
}

unsigned merge_blocks(int channels) {
  return static_cast<unsigned>(divide_up(channels, simt::kWarpSize));
}

}  // namespace

template <typename T>
std::size_t batch_norm_backward_sums_bytes(const BatchNormShape& shape) {
  return tile_statistics_bytes(reduction_tiles<T>(shape).tiles(), shape.pitch);
}

template <typename T>
void batch_norm_backward_finish(const BatchNormParameterGradients& gradients, float* coefficients,
                                const float* sums, const BatchNormSaved& saved, const BatchNormShape& shape,
                                cudaStream_t stream) {
  check_training(shape);
  SIMT_LAUNCH(batch_norm_backward_finish_kernel, merge_blocks(shape.pitch), kMergeThreads, 0, stream,
              ParameterTargets(gradients), coefficients, sums, reduction_tiles<T>(shape).tiles(),
              SavedPointers(saved), shape.rows, shape.channels, shape.pitch);
}

template <typename T>
void batch_norm_sync_backward_sums(const BatchNormParameterGradients& gradients, double* group_sums,
                                   const float* sums, const BatchNormSaved& saved,
                                   const BatchNormShape& shape, cudaStream_t stream) {
  SIMT_LAUNCH(batch_norm_sync_backward_sums_kernel, merge_blocks(shape.channels), kMergeThreads, 0, stream,
              ParameterTargets(gradients), group_sums, sums, reduction_tiles<T>(shape).tiles(),
              SavedPointers(saved), shape.channels, shape.pitch);
}

void batch_norm_sync_coefficients(float* coefficients, const double* group_sums, const BatchNormSaved& saved,
                                  int channels, int pitch, cudaStream_t stream) {
  constexpr int kThreads = 128;
  SIMT_LAUNCH(batch_norm_sync_coefficients_kernel, static_cast<unsigned>(divide_up(pitch, kThreads)),
              kThreads, 0, stream, coefficients, group_sums, SavedPointers(saved), channels, pitch);
}

#define TRIREME_INSTANTIATE(T)                                                                              \
  template std::size_t batch_norm_backward_sums_bytes<T>(const BatchNormShape&);                            \
  template void batch_norm_backward_finish<T>(const BatchNormParameterGradients&, float*, const float*,     \
                                              const BatchNormSaved&, const BatchNormShape&, cudaStream_t);  \
  template void batch_norm_sync_backward_sums<T>(const BatchNormParameterGradients&, double*, const float*, \
                                                 const BatchNormSaved&, const BatchNormShape&,              \
                                                 cudaStream_t);
TRIREME_INSTANTIATE(BFloat16)
TRIREME_INSTANTIATE(Half)
TRIREME_INSTANTIATE(float)
#undef TRIREME_INSTANTIATE

}  // namespace trireme::kernels
