// SPDX-License-Identifier: Apache-2.0
// The gradient for the input. y[oh] holds x[h] through tap kh where h = oh * stride - pad + kh (and columns
// alike), so
//
//   dx[h] = sum over kh with (h + pad - kh) divisible by the stride of dy[(h + pad - kh) / stride] w[kh].
//
// All h of one remainder by the stride (a phase) meet the same taps, kh0, kh0 + stride, ... with
// kh0 = (h + pad) mod stride. With h = r * stride + phase and taps in falling order (j = 0 is the last one,
// of T):
//
//   dx[r] = sum over j < T of dy[r + (phase + pad - kh0) / stride - (T - 1) + j] w[kh0 + stride (T - 1 - j)]:
//
// a convolution of stride 1 over dy, and the stride^2 phases together multiply nothing that is not needed. A
// phase without taps has gradient zero.
#pragma once

#include <stdexcept>

#include "kernels/conv2d/geometry.h"
#include "kernels/conv2d/tap_weights_loader.cuh"
#include "kernels/gemm/output_tile.cuh"

namespace trireme::kernels {

struct DataPhase {
  WindowGrid grid;  ///< over dy, for the input pixels of the phase
  TapWeights weights;
  int first_h, first_w;
};

constexpr int kPhasesOfLaunch = 4;

template <typename T>
struct BackwardDataParameters {
  Picture dy;
  OutputParameters<T> out;
  int column_tiles;
  int in_h, in_w, stride_h, stride_w;
  DataPhase phases[kPhasesOfLaunch];  ///< one for each blockIdx.z

  template <typename Visit>
  __host__ __device__ void visit_pointers(Visit visit) const {
    visit(dy.data);
    out.visit_pointers(visit);
    visit(phases[0].weights.data);  // the same in all
  }
};

template <typename T, typename Tile>
__global__ void __launch_bounds__(Tile::kThreads)
    conv2d_backward_data_implicit_gemm_kernel(const __grid_constant__ BackwardDataParameters<T> p) {
  SIMT_DYN_SHARED(shared);
  using WindowLoader = PictureLoader<T, Tile::kM, Tile::kThreads>;
  const DataPhase& phase = p.phases[blockIdx.z];
  const int row_tile = static_cast<int>(blockIdx.x) / p.column_tiles;
  const int first_column = (static_cast<int>(blockIdx.x) - row_tile * p.column_tiles) * Tile::kN;
  const int first_row = row_tile * Tile::kM;
  if (first_row >= phase.grid.count) return;  // the grid is made for the largest phase
  Accumulators<Tile> sums;
  {
    WindowLoader windows(p.dy, phase.grid, first_row);
    TapWeightsLoader<T, Tile::kN, Tile::kThreads> weights(phase.weights, first_column);
    multiply<T, Tile>(sums, shared, WindowLoader::steps(p.dy, phase.grid), windows, weights);
  }
  const int rows = phase.grid.count - first_row < Tile::kM ? phase.grid.count - first_row : Tile::kM;
  OutputTile<T, Tile>::store(p.out, sums, shared, rows, first_column, row_tile, [&](int row) {
    int r, c;
    const int n = phase.grid.rows.divide(phase.grid.columns.divide(first_row + row, c), r);
    return static_cast<std::int64_t>((n * p.in_h + r * p.stride_h + phase.first_h) * p.in_w + c * p.stride_w +
                                     phase.first_w);
  });
}

/// Taps of one phase along one axis, and where its windows begin in dy.
struct PhaseAxis {
  PhaseAxis(std::int64_t phase, std::int64_t size, std::int64_t kernel, std::int64_t stride,
            std::int64_t pad) {
    const std::int64_t first = (phase + pad) % stride;
    count = static_cast<int>(divide_up(size - phase, stride));
    taps = first < kernel ? static_cast<int>(divide_up(kernel - first, stride)) : 0;
    last = static_cast<int>(first + stride * (taps - 1));
    origin = static_cast<int>((phase + pad - first) / stride - (taps - 1));
  }

  int count;  ///< input rows (or columns) of the phase
  int taps;
  int last;    ///< kernel row of the last tap
  int origin;  ///< row of dy that the first one's window begins at
};

template <typename T>
DataPhase make_phase(const T* weights, const Conv2dShape& s, std::int64_t phase_h, std::int64_t phase_w) {
  const PhaseAxis h(phase_h, s.in_h, s.kernel_h, s.stride_h, s.pad_h);
  const PhaseAxis w(phase_w, s.in_w, s.kernel_w, s.stride_w, s.pad_w);
  const int chunks = static_cast<int>(s.in_pitch) / kVectorSize<T>;
  DataPhase phase;
  phase.grid = {FastDivide(h.count),
                FastDivide(w.count),
                static_cast<int>(s.batch) * h.count * w.count,
                1,
                1,
                h.origin,
                w.origin,
                h.taps,
                w.taps};
  phase.weights = {weights,
                   static_cast<int>(s.out_channels),
                   static_cast<int>(s.kernel_h * s.kernel_w) * chunks,
                   static_cast<int>(s.kernel_w),
                   chunks,
                   FastDivide(static_cast<int>(s.out_pitch)),
                   FastDivide(w.taps > 0 ? w.taps : 1),
                   h.taps * w.taps,
                   h.last,
                   w.last,
                   static_cast<int>(s.stride_h),
                   static_cast<int>(s.stride_w)};
  phase.first_h = static_cast<int>(phase_h);
  phase.first_w = static_cast<int>(phase_w);
  return phase;
}

/// Launches the phases of `p` that are set: the first `phases`.
template <typename T>
void launch_backward_data(const BackwardDataParameters<T>& p, int phases, TileShape tile,
                          cudaStream_t stream) {
  int rows = 0;
  for (int i = 0; i < phases; ++i) rows = p.phases[i].grid.count > rows ? p.phases[i].grid.count : rows;
  with_tile<T>(tile, [&](auto shape_of_tile) {
    using Tile = decltype(shape_of_tile);
    const dim3 grid(static_cast<unsigned>(divide_up(rows, Tile::kM) * p.column_tiles), 1,
                    static_cast<unsigned>(phases));
    SIMT_LAUNCH((conv2d_backward_data_implicit_gemm_kernel<T, Tile>), grid, dim3(Tile::kThreads),
                Tile::kSharedBytes, stream, p);
  });
}

template <typename T>
TileShape conv2d_backward_data_tile(const Conv2dShape& shape) {
  return choose_tile(kArithmetic<T>, shape.in_pixels(), shape.in_pitch);
}

template <typename T>
void conv2d_backward_data(const Conv2dBackwardData<T>& pass, const Conv2dShape& s, cudaStream_t stream,
                          TileShape tile) {
  check_conv2d<T>(s);
  if (is_stem<T>(s)) throw std::invalid_argument("conv2d: no gradient for an input of pitch 4");
  tile = resolve_tile(tile, kArithmetic<T>, s.in_pixels(), s.in_pitch);
  if (s.batch == 0) return;
  BackwardDataParameters<T> p;
  p.dy = {pass.dy, static_cast<int>(s.out_h()), static_cast<int>(s.out_w()),
          static_cast<int>(s.out_pitch) / kVectorSize<T>};
  p.out = {pass.dx,
           pass.addend,
           nullptr,
           nullptr,
           static_cast<int>(s.in_channels),
           static_cast<int>(s.in_pitch),
           false,
           pass.relu_output};
  p.column_tiles = divide_up(static_cast<int>(s.in_pitch), tile_size(tile).n);
  p.in_h = static_cast<int>(s.in_h);
  p.in_w = static_cast<int>(s.in_w);
  p.stride_h = static_cast<int>(s.stride_h);
  p.stride_w = static_cast<int>(s.stride_w);
  int phases = 0;
  for (std::int64_t h = 0; h < s.stride_h && h < s.in_h; ++h)
    for (std::int64_t w = 0; w < s.stride_w && w < s.in_w; ++w) {
      p.phases[phases++] = make_phase(pass.weights, s, h, w);
      if (phases == kPhasesOfLaunch) {
        launch_backward_data(p, phases, tile, stream);
        phases = 0;
      }
    }
  if (phases > 0) launch_backward_data(p, phases, tile, stream);
}

#define TRIREME_INSTANTIATE_CONV2D_BACKWARD_DATA(T)                                                     \
  template TileShape conv2d_backward_data_tile<T>(const Conv2dShape&);                                  \
  template void conv2d_backward_data<T>(const Conv2dBackwardData<T>&, const Conv2dShape&, cudaStream_t, \
                                        TileShape)

}  // namespace trireme::kernels
