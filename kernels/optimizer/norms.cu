// SPDX-License-Identifier: Apache-2.0
// Norms in three stages: a block sums a tile, a warp the tiles of a segment, a block the segments. A square
// of an fp32 number is exact in float64, and no sum depends on who is first.
#include "kernels/optimizer/norms.h"

#include <cmath>

#include "kernels/optimizer/tiles.cuh"
#include "kernels/team_reduce.cuh"

namespace trireme::kernels {
namespace {

constexpr int kSegmentsPerBlock = 4;

__device__ __forceinline__ double square(float value) {
  return static_cast<double>(value) * static_cast<double>(value);
}

__global__ void __launch_bounds__(kTileThreads)
    squared_norm_tile_kernel(SegmentTable segments, const float* values, double* tile_sums) {
  SIMT_SHARED(double, shared, simt::kWarpSize);
  const BlockTile part = block_tile(segments, {0, INT64_MAX, 0, 0});
  double sum = 0;
  if (part.rule != SegmentRule::statistic)
    for_each_in(
        part,
        [&](std::int64_t at) {
          const auto four = simt::load16(values + at);
          SIMT_UNROLL
          for (int i = 0; i < 4; ++i) sum += square(four[i]);
        },
        [&](std::int64_t at) { sum += square(simt::load(values + at)); });
  sum = reduce_block<AddValues>(sum, 0.0, shared);
  if (threadIdx.x == 0) simt::store(tile_sums + blockIdx.x, sum);
}

__global__ void __launch_bounds__(kSegmentsPerBlock* simt::kWarpSize)
    squared_norm_segment_warp_kernel(SegmentTable segments, const double* tile_sums, double* per_segment) {
  const int segment = static_cast<int>(blockIdx.x) * kSegmentsPerBlock + simt::warp_id();
  if (segment >= segments.segment_count) return;
  const int end = simt::load(segments.first_tile + segment + 1);
  double sum = 0;
  for (int tile = simt::load(segments.first_tile + segment) + simt::lane_id(); tile < end;
       tile += simt::kWarpSize)
    sum += simt::load(tile_sums + tile);
  sum = reduce_warp<AddValues>(sum);
  if (simt::lane_id() == 0) simt::store(per_segment + segment, sum);
}

__global__ void __launch_bounds__(kTileThreads)
    squared_norm_total_block_kernel(const double* per_segment, int segment_count, double* total) {
  SIMT_SHARED(double, shared, simt::kWarpSize);
  double sum = 0;
  for (int segment = static_cast<int>(threadIdx.x); segment < segment_count; segment += kTileThreads)
    sum += simt::load(per_segment + segment);
  sum = reduce_block<AddValues>(sum, 0.0, shared);
  if (threadIdx.x == 0) simt::store(total, sum);
}

struct LarsArguments {
  SegmentTable segments;
  const double* squared_parameters;
  const double* squared_gradients;
  const UpdateFactors* factors;
  LarsOptions options;
  float* ratios;

  template <typename Visit>
  __host__ __device__ void visit_pointers(Visit visit) const {
    segments.visit_pointers(visit);
    visit(squared_parameters);
    visit(squared_gradients);
    visit(factors);
    visit(ratios);
  }
};

__global__ void __launch_bounds__(kTileThreads) lars_ratio_segment_kernel(LarsArguments a) {
  const int segment = static_cast<int>(blockIdx.x) * kTileThreads + static_cast<int>(threadIdx.x);
  if (segment >= a.segments.segment_count) return;
  double ratio = 1;
  if (simt::load(a.segments.rules + segment) == SegmentRule::decayed) {
    const double parameter = sqrt(simt::load(a.squared_parameters + segment));
    const double gradient = static_cast<double>(simt::load(&a.factors->gradient)) *
                            sqrt(simt::load(a.squared_gradients + segment));
    const double below = gradient + a.options.weight_decay * parameter + a.options.epsilon;
    if (parameter > 0 && gradient > 0) ratio = a.options.trust * parameter / below;
  }
  simt::store(a.ratios + segment, static_cast<float>(ratio));
}

constexpr int kFinitePerBlock = 4 * kSegmentTile;

__device__ __forceinline__ bool is_finite(float value) {
  return value - value == 0.0F;
}

/// `values` is aligned; of its elements [begin, end) count. A block takes kFinitePerBlock of them.
__global__ void __launch_bounds__(kTileThreads)
    finite_check_block_kernel(const float* values, std::int64_t begin, std::int64_t end,
                              std::int32_t* not_finite) {
  const std::int64_t first = static_cast<std::int64_t>(blockIdx.x) * kFinitePerBlock;
  bool finite = true;
  for (int offset = static_cast<int>(threadIdx.x) * 4; offset < kFinitePerBlock; offset += kTileThreads * 4) {
    const std::int64_t at = first + offset;
    if (at >= begin && at + 4 <= end) {
      const auto four = simt::load16(values + at);
      finite = finite && is_finite(four[0]) && is_finite(four[1]) && is_finite(four[2]) && is_finite(four[3]);
    } else {
      for (std::int64_t each = at; each < at + 4; ++each)
        if (each >= begin && each < end) finite = finite && is_finite(simt::load(values + each));
    }
  }
  const bool all = __all_sync(simt::kFullMask, finite ? 1 : 0) != 0;
  if (!all && simt::lane_id() == 0) atomicOr(not_finite, 1);
}

unsigned blocks_for(int count, int per_block) {
  return static_cast<unsigned>(divide_up(count, per_block));
}

}  // namespace

std::size_t squared_norms_workspace_bytes(const HostSegments& segments) {
  return segments.tiles.size() * sizeof(double);
}

void squared_norms(const SegmentTable& segments, const float* values, double* per_segment, double* total,
                   void* workspace, cudaStream_t stream) {
  auto* const tile_sums = static_cast<double*>(workspace);
  if (segments.tile_count > 0)
    SIMT_LAUNCH(squared_norm_tile_kernel, static_cast<unsigned>(segments.tile_count), kTileThreads, 0, stream,
                segments, values, tile_sums);
  if (segments.segment_count > 0)
    SIMT_LAUNCH(squared_norm_segment_warp_kernel, blocks_for(segments.segment_count, kSegmentsPerBlock),
                kSegmentsPerBlock * simt::kWarpSize, 0, stream, segments, tile_sums, per_segment);
  if (total != nullptr)
    SIMT_LAUNCH(squared_norm_total_block_kernel, 1, kTileThreads, 0, stream, per_segment,
                segments.segment_count, total);
}

void lars_ratios(const SegmentTable& segments, const double* squared_parameters,
                 const double* squared_gradients, const UpdateFactors* factors, const LarsOptions& options,
                 float* ratios, cudaStream_t stream) {
  if (segments.segment_count == 0) return;
  const LarsArguments arguments{segments, squared_parameters, squared_gradients, factors, options, ratios};
  SIMT_LAUNCH(lars_ratio_segment_kernel, blocks_for(segments.segment_count, kTileThreads), kTileThreads, 0,
              stream, arguments);
}

void check_finite(const float* values, std::int64_t count, std::int32_t* not_finite, cudaStream_t stream) {
  if (count == 0) return;
  const auto begin = static_cast<std::int64_t>(reinterpret_cast<std::uintptr_t>(values) / sizeof(float) % 4);
  const std::int64_t end = begin + count;
  const auto blocks = static_cast<unsigned>(divide_up<std::int64_t>(end, kFinitePerBlock));
  SIMT_LAUNCH(finite_check_block_kernel, blocks, kTileThreads, 0, stream, values - begin, begin, end,
              not_finite);
}

}  // namespace trireme::kernels
