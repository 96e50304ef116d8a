// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "kernels/conv2d/backward_weights.h"

namespace trireme::kernels {
namespace {

constexpr int kThreads = 256;
constexpr int kFewestSteps = 4;
constexpr int kMostParts = 4096;

/// Blocks that a multiprocessor holds, by their shared memory and registers on sm_90.
int blocks_of_multiprocessor(TileShape tile) {
  if (tile == TileShape::t128x128) return 2;
  return tile == TileShape::t128x64 ? 3 : 4;
}

/// The fewest parts that keep 85 % of the places of all their waves busy, or those that keep the most.
int choose_parts(std::int64_t tiles, int steps, std::int64_t places) {
  const std::int64_t most = steps / kFewestSteps < kMostParts ? steps / kFewestSteps : kMostParts;
  int best = 1;
  double best_share = 0;
  for (std::int64_t parts = 1; parts <= most && (parts == 1 || tiles * parts <= 4 * places); ++parts) {
    const std::int64_t blocks = tiles * parts;
    const double share = static_cast<double>(blocks) / static_cast<double>(round_up(blocks, places));
    if (share > best_share) {
      best = static_cast<int>(parts);
      best_share = share;
    }
    if (share >= 0.85) break;
  }
  return best;
}

__global__ void sum_parts_kernel(float* to, const float* parts, int count, std::int64_t part_size,
                                 std::int64_t size, bool accumulate) {
  const std::int64_t place =
      (static_cast<std::int64_t>(blockIdx.x) * kThreads + static_cast<int>(threadIdx.x)) * kVectorSize<float>;
  if (place >= size) return;
  simt::Vector16<float> sum = simt::load16(parts + place);
  for (int part = 1; part < count; ++part) {
    const simt::Vector16<float> more = simt::load16(parts + part * part_size + place);
    SIMT_UNROLL
    for (int j = 0; j < kVectorSize<float>; ++j) sum.values[j] += more.values[j];
  }
  if (place + kVectorSize<float> <= size) {
    if (accumulate) {
      const simt::Vector16<float> before = simt::load16(to + place);
      SIMT_UNROLL
      for (int j = 0; j < kVectorSize<float>; ++j) sum.values[j] += before.values[j];
    }
    simt::store16(to + place, sum);
    return;
  }
  for (int j = 0; place + j < size; ++j)
    simt::store(to + place + j, accumulate ? simt::load(to + place + j) + sum.values[j] : sum.values[j]);
}

}  // namespace

WeightsPlan plan_weights_parts(const ProductSize& product, std::int64_t gradient_size, int tile_k,
                               TileShape tile, int multiprocessors) {
  const TileSize size = tile_size(tile);
  WeightsPlan plan;
  plan.row_tiles = static_cast<int>(divide_up<std::int64_t>(product.m, size.m));
  plan.column_tiles = static_cast<int>(divide_up<std::int64_t>(product.n, size.n));
  plan.steps = static_cast<int>(divide_up<std::int64_t>(product.k, tile_k));
  const int parts =
      choose_parts(static_cast<std::int64_t>(plan.row_tiles) * plan.column_tiles, plan.steps,
                   std::max<std::int64_t>(1, std::int64_t{multiprocessors} * blocks_of_multiprocessor(tile)));
  plan.steps_of_part = divide_up(plan.steps, parts);
  plan.parts = plan.steps == 0 ? 1 : divide_up(plan.steps, plan.steps_of_part);
  plan.size = gradient_size;
  plan.bias_place = round_up<std::int64_t>(gradient_size, kVectorSize<float>);
  plan.part_size = plan.bias_place + round_up<std::int64_t>(product.m, kVectorSize<float>);
  return plan;
}

std::size_t parts_bytes(const WeightsPlan& plan) {
  return plan.parts == 1 ? 0 : static_cast<std::size_t>(plan.parts * plan.part_size) * sizeof(float);
}

void sum_parts(float* to, const float* parts, std::int64_t size, const WeightsPlan& plan, bool accumulate,
               cudaStream_t stream) {
  const std::int64_t vectors = divide_up<std::int64_t>(size, kVectorSize<float>);
  SIMT_LAUNCH(sum_parts_kernel, dim3(static_cast<unsigned>(divide_up<std::int64_t>(vectors, kThreads))),
              dim3(kThreads), 0, stream, to, parts, plan.parts, plan.part_size, size, accumulate);
}

}  // namespace trireme::kernels
