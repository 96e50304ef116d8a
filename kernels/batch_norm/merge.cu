// SPDX-License-Identifier: Apache-2.0
// From the statistics of tiles to those of the batch. A convolution's epilogue leaves tens of thousands of
// tiles, too many for the few blocks that 64 channels give: they are merged into some hundred larger tiles
// first, in the same layout.
#include <cmath>

#include "kernels/batch_norm/batch_norm.h"
#include "kernels/batch_norm/chan.cuh"
#include "kernels/batch_norm/checks.h"
#include "kernels/batch_norm/running.cuh"

namespace trireme::kernels {
namespace {

constexpr std::int64_t kDirectTiles = 512;  ///< so many are merged at once
constexpr std::int64_t kMergedTiles = 128;  ///< more become about so many first

struct Tiles {
  const float* values;
  std::int64_t tiles, rows_per_tile, rows;
  int pitch;

  template <typename Visit>
  __host__ __device__ void visit_pointers(Visit visit) const {
    visit(values);
  }
};

/// The statistics of tiles [begin, end) in this thread's channel; whole in warp 0.
__device__ __forceinline__ Spread merge_range(const Tiles& tiles, std::int64_t begin, std::int64_t end) {
  Spread spread{0, 0, 0};
  const int channel = merge_channel();
  if (channel < tiles.pitch) {
    for (std::int64_t tile = begin + simt::warp_id(); tile < end; tile += kMergeWarps) {
      const float* from = tiles.values + tile * 2 * tiles.pitch + channel;
      const std::int64_t left = tiles.rows - tile * tiles.rows_per_tile;
      const auto count = static_cast<double>(left < tiles.rows_per_tile ? left : tiles.rows_per_tile);
      const float mean = simt::load(from), m2 = simt::load(from + tiles.pitch);
      spread.add({count, static_cast<double>(mean), static_cast<double>(m2)});
    }
  }
  fold_warps(spread);
  return spread;
}

/// Block (x, y): channels [32 x, 32 x + 32) of merged tile y, which is `together` tiles.
__global__ void __launch_bounds__(kMergeThreads)
    batch_norm_merge_chan_kernel(float* merged, Tiles tiles, std::int64_t together) {
  const std::int64_t begin = blockIdx.y * together;
  const Spread spread =
      merge_range(tiles, begin, begin + together < tiles.tiles ? begin + together : tiles.tiles);
  if (simt::warp_id() != 0 || merge_channel() >= tiles.pitch) return;
  float* to = merged + static_cast<std::int64_t>(blockIdx.y) * 2 * tiles.pitch + merge_channel();
  simt::store(to, static_cast<float>(spread.mean));
  simt::store(to + tiles.pitch, static_cast<float>(spread.m2));
}

__global__ void __launch_bounds__(kMergeThreads)
    batch_norm_finish_chan_kernel(SavedStatistics saved, RunningTarget running, Tiles tiles, int channels) {
  const Spread spread = merge_range(tiles, 0, tiles.tiles);
  if (simt::warp_id() != 0 || merge_channel() >= channels) return;
  const double variance = spread.m2 / spread.count;
  saved.store(merge_channel(), spread.mean, variance);
  running.store(merge_channel(), spread.mean, variance, spread.count);
}

/// With the mean and M2 of `count` values: sum x = count mean, sum x^2 = M2 + count mean^2.
__global__ void __launch_bounds__(kMergeThreads)
    batch_norm_sync_sums_chan_kernel(double* group_sums, Tiles tiles, int channels) {
  const Spread spread = merge_range(tiles, 0, tiles.tiles);
  if (simt::warp_id() != 0 || merge_channel() >= channels) return;
  const int channel = merge_channel();
  const double sum = spread.count * spread.mean;
  if (channel == 0) simt::store(group_sums, spread.count);
  simt::store(group_sums + 1 + channel, sum);
  simt::store(group_sums + 1 + channels + channel, spread.m2 + sum * spread.mean);
}

__global__ void batch_norm_sync_finish_kernel(SavedStatistics saved, double* saved_count,
                                              RunningTarget running, const double* group_sums, int channels) {
  const int channel = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (channel >= channels) return;
  const double count = simt::load(group_sums);
  const double mean = simt::load(group_sums + 1 + channel) / count;
  const double spread = simt::load(group_sums + 1 + channels + channel) / count - mean * mean;
  // Of one value: 0 / 0.
  const double variance = count < 2 ? (count - count) / (count - count) : spread < 0 ? 0.0 : spread;
  if (channel == 0) simt::store(saved_count, count);
  saved.store(channel, mean, variance);
  running.store(channel, mean, variance, count);
}

void check_tiles(const TileStatistics& statistics, const BatchNormShape& shape) {
  check_shape<float>(shape);
  if (statistics.rows_per_tile < 1 || statistics.tiles != divide_up(shape.rows, statistics.rows_per_tile))
    throw std::invalid_argument("batch norm: tiles and rows per tile do not give the rows");
}

/// The tiles, or fewer that stand for them.
Tiles few_tiles(const TileStatistics& statistics, const BatchNormShape& shape, void* workspace,
                cudaStream_t stream) {
  Tiles tiles{statistics.values, statistics.tiles, statistics.rows_per_tile, shape.rows, shape.pitch};
  if (tiles.tiles <= kDirectTiles) return tiles;
  const std::int64_t together = divide_up(tiles.tiles, kMergedTiles);
  auto* merged = static_cast<float*>(workspace);
  const Tiles few{merged, divide_up(tiles.tiles, together), tiles.rows_per_tile * together, tiles.rows,
                  tiles.pitch};
  const dim3 grid(static_cast<unsigned>(divide_up(shape.pitch, simt::kWarpSize)),
                  static_cast<unsigned>(few.tiles));
  SIMT_LAUNCH(batch_norm_merge_chan_kernel, grid, kMergeThreads, 0, stream, merged, tiles, together);
  return few;
}

unsigned merge_blocks(int channels) {
  return static_cast<unsigned>(divide_up(channels, simt::kWarpSize));
}

}  // namespace

std::size_t tile_statistics_bytes(std::int64_t tiles, int pitch) {
  return static_cast<std::size_t>(tiles) * 2 * static_cast<std::size_t>(pitch) * sizeof(float);
}

std::size_t batch_norm_finish_workspace_bytes(std::int64_t tiles, int pitch) {
  return tiles <= kDirectTiles ? 0 : tile_statistics_bytes(kMergedTiles, pitch);
}

void batch_norm_finish_statistics(const BatchNormSaved& saved, const RunningGradients& running,
                                  const TileStatistics& statistics, const BatchNormShape& shape,
                                  double epsilon, void* workspace, cudaStream_t stream) {
  check_tiles(statistics, shape);
  check_training(shape);
  const Tiles tiles = few_tiles(statistics, shape, workspace, stream);
  SIMT_LAUNCH(batch_norm_finish_chan_kernel, merge_blocks(shape.channels), kMergeThreads, 0, stream,
              SavedStatistics(saved, epsilon), RunningTarget(running), tiles, shape.channels);
}

void batch_norm_sync_sums(double* group_sums, const TileStatistics& statistics, const BatchNormShape& shape,
                          void* workspace, cudaStream_t stream) {
  check_tiles(statistics, shape);
  const Tiles tiles = few_tiles(statistics, shape, workspace, stream);
  SIMT_LAUNCH(batch_norm_sync_sums_chan_kernel, merge_blocks(shape.channels), kMergeThreads, 0, stream,
              group_sums, tiles, shape.channels);
}

void batch_norm_sync_finish_statistics(const BatchNormSaved& saved, const RunningGradients& running,
                                       const double* group_sums, int channels, double epsilon,
                                       cudaStream_t stream) {
  constexpr int kThreads = 128;
  SIMT_LAUNCH(batch_norm_sync_finish_kernel, static_cast<unsigned>(divide_up(channels, kThreads)), kThreads,
              0, stream, SavedStatistics(saved, epsilon), saved.count, RunningTarget(running), group_sums,
              channels);
}

}  // namespace trireme::kernels
