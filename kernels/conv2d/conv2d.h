// SPDX-License-Identifier: Apache-2.0
// Convolution over NHWC pictures as implicit matrix products: forward, and the gradients for input and
// weights.
//
// Element types T: simt::BFloat16, simt::Half, simt::Tf32 (fp32 in memory, tf32 products) and float. All sums
// are fp32. Pictures have a channel pitch, a multiple of 16 bytes, and zeros between channels and pitch. The
// one exception is the first layer of a net: 16-bit types with at most 4 channels may have in_pitch 4.
// Weights are read from a packed copy in T, gradients of parameters are fp32 and unpadded.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>

#include "kernels/gemm/tile_table.h"
#include "kernels/numeric.h"
#include "kernels/tile_statistics.h"

namespace trireme::kernels {

struct Conv2dShape {
  std::int64_t batch, in_h, in_w, in_channels, in_pitch;
  std::int64_t out_channels, out_pitch;
  std::int64_t kernel_h, kernel_w, stride_h, stride_w, pad_h, pad_w;

  /// floor((in + 2 pad - kernel) / stride) + 1
  std::int64_t out_h() const { return (in_h + 2 * pad_h - kernel_h) / stride_h + 1; }
  std::int64_t out_w() const { return (in_w + 2 * pad_w - kernel_w) / stride_w + 1; }
  std::int64_t in_pixels() const { return batch * in_h * in_w; }
  std::int64_t out_pixels() const { return batch * out_h() * out_w(); }
};

/// Elements of the packed weights: [out_channels][kernel_h][kernel_w][in_pitch], where in_pitch 4 rounds
/// kernel_w up to a multiple of 16 bytes.
template <typename T>
std::int64_t conv2d_packed_weights_size(const Conv2dShape& shape);

/// packed = weights, rounded to T; `weights` is [out_channels][kernel_h][kernel_w][in_channels]. Pads become
/// zero.
template <typename T>
void conv2d_pack_weights(T* packed, const float* weights, const Conv2dShape& shape, cudaStream_t stream);

/// How a forward pass cuts the pixels for the statistics of the batch norm behind it (tile_statistics.h).
template <typename T>
StatisticsTiles conv2d_statistics_tiles(const Conv2dShape& shape, TileShape tile = TileShape::automatic);

/// What a forward pass reads and writes.
template <typename T>
struct Conv2dForward {
  T* y;                         ///< [out_pixels][out_pitch], written
  const T* x;                   ///< [in_pixels][in_pitch]
  const T* weights;             ///< packed
  const float* bias = nullptr;  ///< [out_channels], or null
  const T* residual = nullptr;  ///< as y, or null
  bool relu = false;
  float* statistics = nullptr;  ///< values of TileStatistics, of y as stored; or null
};
/// y = relu(conv(x, weights) + bias + residual); elements outside the picture are zero.
template <typename T>
void conv2d_forward(const Conv2dForward<T>& pass, const Conv2dShape& shape, cudaStream_t stream,
                    TileShape tile = TileShape::automatic);

/// dx = gradient of x + addend, and zero where `relu_output` is given and not above zero: x itself, where a
/// ReLU made it, so that the ReLU needs no pass. dx [in_pixels][in_pitch] is written; `addend` as dx, or
/// null, may be dx itself. in_pitch must be a multiple of 16 bytes.
template <typename T>
struct Conv2dBackwardData {
  T* dx;
  const T* dy;       ///< [out_pixels][out_pitch]
  const T* weights;  ///< packed
  const T* addend = nullptr;
  const T* relu_output = nullptr;  ///< as dx, or null
};
template <typename T>
void conv2d_backward_data(const Conv2dBackwardData<T>& pass, const Conv2dShape& shape, cudaStream_t stream,
                          TileShape tile = TileShape::automatic);

/// dweights [out_channels][kernel_h][kernel_w][in_channels] and, unless null, dbias [out_channels], fp32:
/// written, or added to where `accumulate`.
template <typename T>
struct Conv2dBackwardWeights {
  float* dweights;
  float* dbias = nullptr;
  const T* x;
  const T* dy;
  void* workspace;  ///< 16-byte aligned; contents undefined before and after
  bool accumulate = false;
};
/// The sum over pixels is cut into parts so that about `multiprocessors` are busy; how many parts depends on
/// nothing but the arguments.
template <typename T>
std::size_t conv2d_backward_weights_workspace_bytes(const Conv2dShape& shape, int multiprocessors,
                                                    TileShape tile = TileShape::automatic);
template <typename T>
void conv2d_backward_weights(const Conv2dBackwardWeights<T>& pass, const Conv2dShape& shape,
                             int multiprocessors, cudaStream_t stream, TileShape tile = TileShape::automatic);

/// What TileShape::automatic means, for reports.
template <typename T>
TileShape conv2d_forward_tile(const Conv2dShape& shape);
template <typename T>
TileShape conv2d_backward_data_tile(const Conv2dShape& shape);
template <typename T>
TileShape conv2d_backward_weights_tile(const Conv2dShape& shape);
/// Parts that the pixels are cut into.
template <typename T>
int conv2d_backward_weights_splits(const Conv2dShape& shape, int multiprocessors,
                                   TileShape tile = TileShape::automatic);

}  // namespace trireme::kernels
