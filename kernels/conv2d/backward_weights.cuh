// SPDX-License-Identifier: Apache-2.0
// The gradient for the weights: dw[o][(tap, channel)] = sum over output pixels of dy[pixel][o]
// window[pixel][(tap, channel)]. Rows of the product are output channels, columns the packed (tap, channel),
// and k the pixels, of which there are many more than results: blocks of different blockIdx.z sum different
// parts of them. Each part is a whole gradient in the workspace, and sum_parts adds them in order, so that
// the result does not depend on timing.
#pragma once

#include "kernels/conv2d/backward_weights.h"
#include "kernels/conv2d/geometry.h"
#include "kernels/conv2d/weights_tile.cuh"
#include "kernels/conv2d/window_rows_loader.cuh"
#include "kernels/gemm/matrix_loader.cuh"

namespace trireme::kernels {

struct BackwardWeightsParameters {
  Matrix dy;
  Picture x;
  WindowGrid grid;
  WeightsGradient gradient;  ///< the first part's
  float* bias_gradient;      ///< the first part's, or null
  std::int64_t part_size;    ///< floats from part to part, of both
  int column_tiles;
  int steps, steps_of_part;  ///< along k

  template <typename Visit>
  __host__ __device__ void visit_pointers(Visit visit) const {
    visit(dy.data);
    visit(x.data);
    visit(gradient.data);
    visit(bias_gradient);
  }
};

template <typename T, typename Tile, bool kStem>
__global__ void __launch_bounds__(Tile::kThreads)
    conv2d_backward_weights_split_k_kernel(const __grid_constant__ BackwardWeightsParameters p) {
  SIMT_DYN_SHARED(shared);
  const int row_tile = static_cast<int>(blockIdx.x) / p.column_tiles;
  const int first_column = (static_cast<int>(blockIdx.x) - row_tile * p.column_tiles) * Tile::kN;
  const int first_row = row_tile * Tile::kM;
  const int part = static_cast<int>(blockIdx.z);
  const int first_step = part * p.steps_of_part;
  const int steps_left = p.steps - first_step;
  // Of the blocks that share rows of the product, the first sums the bias.
  const bool sums_bias = p.bias_gradient != nullptr && first_column == 0;
  Accumulators<Tile> sums;
  BiasSums<T, Tile> bias;
  {
    MnMajorMatrixLoader<T, Tile::kM, Tile::kThreads> gradients(p.dy, first_row, first_step);
    WindowRowsLoader<T, Tile::kN, Tile::kThreads, kStem> windows(p.x, p.grid, first_column, first_step);
    multiply<T, Tile>(sums, shared, steps_left < p.steps_of_part ? steps_left : p.steps_of_part, gradients,
                      windows, [&](const unsigned char* tile) {
                        if (sums_bias) bias.add(tile);
                      });
  }
  WeightsGradient gradient = p.gradient;
  gradient.data += part * p.part_size;
  store_weights_tile<Tile>(gradient, sums, first_row, first_column);
  if (sums_bias)
    bias.store(p.bias_gradient + part * p.part_size, shared, first_row, gradient.rows, gradient.accumulate);
}

template <typename T, typename Tile>
void launch_backward_weights(const BackwardWeightsParameters& p, dim3 grid, bool stem, cudaStream_t stream) {
  if constexpr (sizeof(T) == 2) {
    if (stem) {
      SIMT_LAUNCH((conv2d_backward_weights_split_k_kernel<T, Tile, true>), grid, dim3(Tile::kThreads),
                  Tile::kSharedBytes, stream, p);
      return;
    }
  }
  SIMT_LAUNCH((conv2d_backward_weights_split_k_kernel<T, Tile, false>), grid, dim3(Tile::kThreads),
              Tile::kSharedBytes, stream, p);
}

template <typename T>
TileShape resolve_weights_tile(TileShape tile, const Conv2dShape& shape) {
  return resolve_tile(tile == TileShape::automatic ? conv2d_backward_weights_tile<T>(shape) : tile,
                      kArithmetic<T>, shape.out_channels, packed_row<T>(shape));
}

template <typename T>
WeightsPlan plan_backward_weights(const Conv2dShape& shape, int multiprocessors, TileShape tile) {
  return plan_weights_parts({shape.out_channels, packed_row<T>(shape), shape.out_pixels()},
                            shape.out_channels * shape.kernel_h * shape.kernel_w * shape.in_channels,
                            kTileK<T>, resolve_weights_tile<T>(tile, shape), multiprocessors);
}

template <typename T>
TileShape conv2d_backward_weights_tile(const Conv2dShape& shape) {
  return choose_split_tile(kArithmetic<T>, shape.out_channels, packed_row<T>(shape));
}

template <typename T>
int conv2d_backward_weights_splits(const Conv2dShape& shape, int multiprocessors, TileShape tile) {
  return plan_backward_weights<T>(shape, multiprocessors, tile).parts;
}

template <typename T>
std::size_t conv2d_backward_weights_workspace_bytes(const Conv2dShape& shape, int multiprocessors,
                                                    TileShape tile) {
  return parts_bytes(plan_backward_weights<T>(shape, multiprocessors, tile));
}

template <typename T>
void conv2d_backward_weights(const Conv2dBackwardWeights<T>& pass, const Conv2dShape& shape,
                             int multiprocessors, cudaStream_t stream, TileShape tile) {
  check_conv2d<T>(shape);
  tile = resolve_weights_tile<T>(tile, shape);
  const WeightsPlan plan = plan_backward_weights<T>(shape, multiprocessors, tile);
  const bool direct = plan.parts == 1;
  BackwardWeightsParameters p;
  p.dy = {pass.dy, static_cast<int>(shape.out_pixels()), static_cast<int>(shape.out_pitch) / kVectorSize<T>};
  p.x = input_picture(pass.x, shape);
  p.grid = output_grid(shape);
  p.gradient = {direct ? pass.dweights : static_cast<float*>(pass.workspace),
                static_cast<int>(shape.out_channels),
                FastDivide(static_cast<int>(packed_taps_w<T>(shape) * shape.in_pitch)),
                FastDivide(static_cast<int>(shape.in_pitch)),
                static_cast<int>(shape.kernel_h),
                static_cast<int>(shape.kernel_w),
                static_cast<int>(shape.in_channels),
                direct && pass.accumulate};
  p.bias_gradient = pass.dbias;
  if (pass.dbias != nullptr && !direct) p.bias_gradient = p.gradient.data + plan.bias_place;
  p.part_size = plan.part_size;
  p.column_tiles = plan.column_tiles;
  p.steps = plan.steps;
  p.steps_of_part = plan.steps_of_part;
  const dim3 grid(static_cast<unsigned>(plan.row_tiles * plan.column_tiles), 1,
                  static_cast<unsigned>(plan.parts));
  with_tile<T>(tile, [&](auto shape_of_tile) {
    launch_backward_weights<T, decltype(shape_of_tile)>(p, grid, is_stem<T>(shape), stream);
  });
  if (direct) return;
  const auto* parts = static_cast<const float*>(pass.workspace);
  sum_parts(pass.dweights, parts, plan.size, plan, pass.accumulate, stream);
  if (pass.dbias != nullptr)
    sum_parts(pass.dbias, parts + plan.bias_place, shape.out_channels, plan, pass.accumulate, stream);
}

#define TRIREME_INSTANTIATE_CONV2D_BACKWARD_WEIGHTS(T)                                                 \
  template TileShape conv2d_backward_weights_tile<T>(const Conv2dShape&);                              \
  template int conv2d_backward_weights_splits<T>(const Conv2dShape&, int, TileShape);                  \
  template std::size_t conv2d_backward_weights_workspace_bytes<T>(const Conv2dShape&, int, TileShape); \
  template void conv2d_backward_weights<T>(const Conv2dBackwardWeights<T>&, const Conv2dShape&, int,   \
                                           cudaStream_t, TileShape)

}  // namespace trireme::kernels
