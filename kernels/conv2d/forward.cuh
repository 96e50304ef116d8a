// SPDX-License-Identifier: Apache-2.0
// y[pixel][o] = sum over (tap, channel) of window[pixel][(tap, channel)] weights[o][(tap, channel)]: rows of
// the product are output pixels, columns output channels, k the weights' row.
#pragma once

#include "kernels/conv2d/geometry.h"
#include "kernels/gemm/matrix_loader.cuh"
#include "kernels/gemm/output_tile.cuh"

namespace trireme::kernels {

template <typename T>
struct ForwardParameters {
  Picture x;
  WindowGrid grid;
  Matrix weights;
  OutputParameters<T> out;
  int column_tiles;

  template <typename Visit>
  __host__ __device__ void visit_pointers(Visit visit) const {
    visit(x.data);
    visit(weights.data);
    out.visit_pointers(visit);
  }
};

template <typename T, typename Tile, typename WindowLoader>
__global__ void __launch_bounds__(Tile::kThreads)
    conv2d_forward_implicit_gemm_kernel(const __grid_constant__ ForwardParameters<T> p) {
  SIMT_DYN_SHARED(shared);
  const int row_tile = static_cast<int>(blockIdx.x) / p.column_tiles;
  const int first_column = (static_cast<int>(blockIdx.x) - row_tile * p.column_tiles) * Tile::kN;
  const int first_row = row_tile * Tile::kM;
  Accumulators<Tile> sums;
  {
    WindowLoader windows(p.x, p.grid, first_row);
    KMajorMatrixLoader<T, Tile::kN, Tile::kThreads> weights(p.weights, first_column, 0);
    multiply<T, Tile>(sums, shared, WindowLoader::steps(p.x, p.grid), windows, weights);
  }
  const int rows = p.grid.count - first_row < Tile::kM ? p.grid.count - first_row : Tile::kM;
  OutputTile<T, Tile>::store(p.out, sums, shared, rows, first_column, row_tile,
                             [first_row](int row) { return static_cast<std::int64_t>(first_row + row); });
}

template <typename T, typename Tile>
void launch_forward(const ForwardParameters<T>& p, bool stem, cudaStream_t stream) {
  const dim3 grid(static_cast<unsigned>(divide_up(p.grid.count, Tile::kM) * p.column_tiles));
  if constexpr (sizeof(T) == 2) {
    if (stem) {
      SIMT_LAUNCH((conv2d_forward_implicit_gemm_kernel<T, Tile, StemLoader<T, Tile::kM, Tile::kThreads>>),
                  grid, dim3(Tile::kThreads), Tile::kSharedBytes, stream, p);
      return;
    }
  }
  SIMT_LAUNCH((conv2d_forward_implicit_gemm_kernel<T, Tile, PictureLoader<T, Tile::kM, Tile::kThreads>>),
              grid, dim3(Tile::kThreads), Tile::kSharedBytes, stream, p);
}

template <typename T>
TileShape conv2d_forward_tile(const Conv2dShape& shape) {
  return choose_tile(kArithmetic<T>, shape.out_pixels(), shape.out_pitch);
}

template <typename T>
StatisticsTiles conv2d_statistics_tiles(const Conv2dShape& shape, TileShape tile) {
  const std::int64_t rows = shape.out_pixels();
  const int size = tile_size(resolve_tile(tile, kArithmetic<T>, rows, shape.out_pitch)).m;
  return {divide_up<std::int64_t>(rows, size), size, rows};
}

template <typename T>
void conv2d_forward(const Conv2dForward<T>& pass, const Conv2dShape& shape, cudaStream_t stream,
                    TileShape tile) {
  check_conv2d<T>(shape);
  tile = resolve_tile(tile, kArithmetic<T>, shape.out_pixels(), shape.out_pitch);
  if (shape.batch == 0) return;
  ForwardParameters<T> p;
  p.x = input_picture(pass.x, shape);
  p.grid = output_grid(shape);
  p.weights = {pass.weights, static_cast<int>(shape.out_channels),
               static_cast<int>(packed_row<T>(shape)) / kVectorSize<T>};
  p.out = {pass.y,
           pass.residual,
           pass.bias,
           pass.statistics,
           static_cast<int>(shape.out_channels),
           static_cast<int>(shape.out_pitch),
           pass.relu};
  p.column_tiles = divide_up(static_cast<int>(shape.out_pitch), tile_size(tile).n);
  with_tile<T>(tile, [&](auto shape_of_tile) {
    launch_forward<T, decltype(shape_of_tile)>(p, is_stem<T>(shape), stream);
  });
}

#define TRIREME_INSTANTIATE_CONV2D_FORWARD(T)                                         \
  template TileShape conv2d_forward_tile<T>(const Conv2dShape&);                      \
  template StatisticsTiles conv2d_statistics_tiles<T>(const Conv2dShape&, TileShape); \
  template void conv2d_forward<T>(const Conv2dForward<T>&, const Conv2dShape&, cudaStream_t, TileShape)

}  // namespace trireme::kernels
