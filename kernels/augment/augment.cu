// SPDX-License-Identifier: Apache-2.0
// A block makes a band of output rows of one sample:
//
//   picture ──rows, 16 bytes at a time──► stage ──resize along rows──► levels ──resize along columns──► out
//   (global)                  a row for each warp                  (8 bit, all of the band)   look-up, cast
//
// The framing and the weights of both axes are worked out by the block itself: a few thousand operations
// against a band's megabyte of traffic a wave, and no memory for tables.
#include "kernels/augment/augment.h"

#include <algorithm>
#include <stdexcept>

#include "kernels/augment/axis.cuh"
#include "kernels/augment/framing.cuh"
#include "kernels/augment/pixels.cuh"

namespace trireme::kernels {
namespace {

constexpr int kThreads = kBandThreads;
constexpr int kWarps = kThreads / simt::kWarpSize;

/// Where things lie in the block's dynamic shared memory, in bytes.
struct SharedLayout {
  int table, x, y, stage, levels, total;
};

struct AugmentPlan {
  AugmentShape shape;
  FramingPlan framing;
  int kept_channels;       ///< of the levels in between: 1 where the picture or the output is grey
  int band;                ///< output rows of a block
  int x_stride, y_stride;  ///< places for weights
  int stage_bytes;         ///< of a warp
  SharedLayout shared;
};

template <typename T>
struct AugmentArguments {
  AugmentPlan plan;
  AugmentBuffers<T> buffers;

  template <typename Visit>
  __host__ __device__ void visit_pointers(Visit visit) const {
    buffers.visit_pointers(visit);
  }
};

__device__ inline Axis axis_at(unsigned char* memory, int count, int stride) {
  int* const numbers = reinterpret_cast<int*>(memory);
  return {numbers, numbers + count, numbers + 2 * count, stride};
}

/// Bytes [begin, end) of the pictures into `stage`, by the lanes of a warp. Returns where byte `begin` lies.
__device__ inline const std::uint8_t* stage_bytes(const std::uint8_t* pictures, std::int64_t total,
                                                  std::int64_t begin, std::int64_t end, std::uint8_t* stage) {
  const std::int64_t aligned = begin / 16 * 16;
  for (std::int64_t at = aligned + simt::lane_id() * 16; at < end; at += simt::kWarpSize * 16) {
    std::uint8_t* const to = stage + (at - aligned);
    if (at + 16 <= total)
      *reinterpret_cast<simt::Vector16<std::uint8_t>*>(to) = simt::load16(pictures + at);
    else
      for (int i = 0; at + i < total; ++i) to[i] = simt::load(pictures + at + i);
  }
  return stage + (begin - aligned);
}

/// ITU-R 601 luma in 16-bit fixed point.
__device__ inline int luma(const std::uint8_t* rgb) {
  return (rgb[0] * 19595 + rgb[1] * 38470 + rgb[2] * 7471 + 0x8000) >> 16;
}

/// A staged row, whose first pixel is that of column `begin`, to `count` columns of levels.
template <int kSourceChannels, int kKept>
__device__ inline void resize_row(const std::uint8_t* row, int begin, const Axis& axis, int count,
                                  std::uint8_t* levels) {
  for (int x = simt::lane_id(); x < count; x += simt::kWarpSize) {
    const std::uint8_t* pixel = row + (axis.first[x] - begin) * kSourceChannels;
    const int taps = axis.taps[x];
    int sums[kKept];
    for (int& sum : sums) sum = kHalfLevel;
    for (int tap = 0; tap < taps; ++tap, pixel += kSourceChannels) {
      const int weight = axis.weights[x * axis.stride + tap];
      if constexpr (kSourceChannels == 3 && kKept == 1) {
        sums[0] += luma(pixel) * weight;
      } else {
        SIMT_UNROLL
        for (int c = 0; c < kKept; ++c) sums[c] += pixel[c] * weight;
      }
    }
    SIMT_UNROLL
    for (int c = 0; c < kKept; ++c) levels[x * kKept + c] = static_cast<std::uint8_t>(to_level(sums[c]));
  }
}

/// Source rows [y_begin, y_end) of the window through the first pass, a row for each warp.
template <typename T>
__device__ inline void resize_rows(const AugmentArguments<T>& a, const Framing& framing,
                                   std::int64_t sample_row, const Axis& x, int y_begin, int y_end,
                                   unsigned char* shared) {
  const AugmentShape& shape = a.plan.shape;
  const int columns = shape.image_size, begin = axis_begin(x), end = axis_end(x, columns);
  const std::int64_t total = shape.batch * shape.height * shape.width * shape.channels;
  std::uint8_t* const stage = shared + a.plan.shared.stage + simt::warp_id() * a.plan.stage_bytes;
  std::uint8_t* const levels = shared + a.plan.shared.levels;
  for (int row = y_begin + simt::warp_id(); row < y_end; row += kWarps) {
    const std::int64_t pixel =
        ((sample_row * shape.height) + framing.source_top + row) * shape.width + framing.source_left;
    const std::uint8_t* const staged = stage_bytes(
        a.buffers.pictures, total, (pixel + begin) * shape.channels, (pixel + end) * shape.channels, stage);
    __syncwarp();
    std::uint8_t* const out = levels + (row - y_begin) * columns * a.plan.kept_channels;
    if (shape.channels == 1)
      resize_row<1, 1>(staged, begin, x, columns, out);
    else if (a.plan.kept_channels == 1)
      resize_row<3, 1>(staged, begin, x, columns, out);
    else
      resize_row<3, 3>(staged, begin, x, columns, out);
    __syncwarp();
  }
}

/// Plans `count` entries from `position` on, by all threads.
__device__ inline void plan_axis(const Axis& axis, int count, int position, int source, int full,
                                 bool resizes) {
  for (int i = static_cast<int>(threadIdx.x); i < count; i += kThreads) {
    if (resizes)
      plan_resize(axis, i, position + i, source, full);
    else
      plan_copy(axis, i, position + i, source);
  }
}

template <typename T>
__global__ void __launch_bounds__(kThreads) augment_band_kernel(AugmentArguments<T> a) {
  SIMT_DYN_SHARED(shared);
  SIMT_SHARED(Framing, framing_of_block, 1);
  const AugmentShape& shape = a.plan.shape;
  const std::int64_t n = blockIdx.x;
  const int size = shape.image_size, first_row = static_cast<int>(blockIdx.y) * a.plan.band;
  const int rows = size - first_row < a.plan.band ? size - first_row : a.plan.band;
  float* const table = reinterpret_cast<float*>(shared + a.plan.shared.table);
  const Axis x = axis_at(shared + a.plan.shared.x, size, a.plan.x_stride);
  const Axis y = axis_at(shared + a.plan.shared.y, a.plan.band, a.plan.y_stride);
  const bool is_blank = n >= simt::load(&a.buffers.step->valid_samples);
  bool flip = false;
  int y_begin = 0;
  if (!is_blank) {
    if (threadIdx.x == 0) {
      const Framing own = frame_sample(a.plan.framing, shape.height, shape.width, a.buffers.step,
                                       simt::load(a.buffers.sample_ids + n));
      framing_of_block[0] = own;
    }
    for (int i = static_cast<int>(threadIdx.x) * 4; i < shape.out_channels * kLevels; i += kThreads * 4)
      *reinterpret_cast<simt::Vector16<float>*>(table + i) = simt::load16(a.buffers.levels + i);
    __syncthreads();
    const Framing framing = framing_of_block[0];
    const bool resizes = framing.resizes();
    plan_axis(x, size, framing.left, framing.source_width, framing.resized_width, resizes);
    plan_axis(y, rows, framing.top + first_row, framing.source_height, framing.resized_height, resizes);
    __syncthreads();
    y_begin = axis_begin(y);
    resize_rows(a, framing, n, x, y_begin, axis_end(y, rows), shared);
    flip = framing.flip != 0;
    __syncthreads();
  }
  const Levels levels{shared + a.plan.shared.levels,
                      y_begin,
                      size,
                      a.plan.kept_channels,
                      shape.out_channels,
                      y,
                      table,
                      flip,
                      is_blank};
  write_pixels(levels, rows * size, shape.out_pitch,
               a.buffers.out + (n * size + first_row) * size * shape.out_pitch);
}

/// The plan with bands of `band` rows. Windows are no larger than pictures and results no smaller than the
/// net's size, which bounds taps and rows.
AugmentPlan plan_bands(const AugmentShape& shape, const FramingPlan& framing, int band) {
  const int size = shape.image_size;
  const double y_scale = static_cast<double>(shape.height) / size,
               x_scale = static_cast<double>(shape.width) / size;
  AugmentPlan plan{shape,
                   framing,
                   std::min(shape.channels, shape.out_channels),
                   band,
                   most_taps(x_scale),
                   most_taps(y_scale),
                   0,
                   {}};
  plan.stage_bytes = round_up(shape.width * shape.channels, 16) + 16;
  const int rows = static_cast<int>((band - 1) * std::max(y_scale, 1.0)) + 1 + plan.y_stride;
  const auto axis_bytes = [](int count, int stride) {
    return round_up(count * (2 + stride) * static_cast<int>(sizeof(int)), 16);
  };
  SharedLayout& shared = plan.shared;
  shared.x = shape.out_channels * kLevels * static_cast<int>(sizeof(float));
  shared.y = shared.x + axis_bytes(size, plan.x_stride);
  shared.stage = shared.y + axis_bytes(band, plan.y_stride);
  shared.levels = shared.stage + kWarps * plan.stage_bytes;
  shared.total = shared.levels + round_up(rows * size * plan.kept_channels, 16);
  return plan;
}

/// Bands as high as leave room for a few blocks on a multiprocessor, and as low as need be.
AugmentPlan plan_augment(const AugmentShape& shape, const AugmentOptions& options) {
  constexpr int kRoom = 48 * 1024, kMostShared = 96 * 1024;
  const FramingPlan framing = plan_framing(shape, options);
  AugmentPlan plan = plan_bands(shape, framing, std::min(32, shape.image_size));
  while (plan.band > 1 && plan.shared.total > kRoom) plan = plan_bands(shape, framing, (plan.band + 1) / 2);
  if (plan.shared.total > kMostShared) throw std::invalid_argument("augment: pictures are too large");
  return plan;
}

}  // namespace

std::vector<float> normalised_levels(std::span<const double> mean, std::span<const double> deviation) {
  std::vector<float> levels;
  for (std::size_t c = 0; c < mean.size(); ++c) {
    const double divisor = deviation[c] > 0 ? deviation[c] : 1;
    for (int level = 0; level < kLevels; ++level)
      levels.push_back(static_cast<float>((static_cast<double>(level) / 255 - mean[c]) / divisor));
  }
  return levels;
}

template <typename T>
void augment(const AugmentShape& shape, const AugmentOptions& options, const AugmentBuffers<T>& buffers,
             cudaStream_t stream) {
  if (shape.out_pitch < shape.out_channels || shape.out_pitch % 4 != 0 ||
      (shape.out_pitch != 4 && shape.out_pitch % kVectorSize<T> != 0))
    throw std::invalid_argument("augment: the pitch is 4 elements or a multiple of 16 bytes");
  const AugmentPlan plan = plan_augment(shape, options);
  if (shape.batch == 0) return;
  const dim3 grid(static_cast<unsigned>(shape.batch),
                  static_cast<unsigned>(divide_up(shape.image_size, plan.band)));
  SIMT_LAUNCH(augment_band_kernel<T>, grid, kThreads, static_cast<std::size_t>(plan.shared.total), stream,
              AugmentArguments<T>{plan, buffers});
}

template void augment(const AugmentShape&, const AugmentOptions&, const AugmentBuffers<BFloat16>&,
                      cudaStream_t);
template void augment(const AugmentShape&, const AugmentOptions&, const AugmentBuffers<Half>&, cudaStream_t);
template void augment(const AugmentShape&, const AugmentOptions&, const AugmentBuffers<float>&, cudaStream_t);

}  // namespace trireme::kernels
