// SPDX-License-Identifier: Apache-2.0
// Linear layers: the convolutions' products over pictures of one pixel. Types and rules are those of
// conv2d.h; rows of x and y have a pitch that is a multiple of 16 bytes, with zeros behind the features.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>

#include "kernels/gemm/tile_table.h"
#include "kernels/numeric.h"

namespace trireme::kernels {

struct LinearShape {
  std::int64_t batch, in, in_pitch, out, out_pitch;
};

/// Elements of the weights as kernels read them: [out][in_pitch].
template <typename T>
std::int64_t linear_packed_weights_size(const LinearShape& shape);
/// packed = weights, rounded to T; `weights` is [out][in]. Pads become zero.
template <typename T>
void linear_pack_weights(T* packed, const float* weights, const LinearShape& shape, cudaStream_t stream);

template <typename T>
struct LinearForward {
  T* y;                         ///< [batch][out_pitch], written
  const T* x;                   ///< [batch][in_pitch]
  const T* weights;             ///< packed
  const float* bias = nullptr;  ///< [out], or null
  bool relu = false;
};
/// y = relu(x weights^T + bias)
template <typename T>
void linear_forward(const LinearForward<T>& pass, const LinearShape& shape, cudaStream_t stream,
                    TileShape tile = TileShape::automatic);

/// dx = dy weights + addend, and zero where `relu_output` is given and not above zero. dx [batch][in_pitch]
/// is written.
template <typename T>
struct LinearBackwardData {
  T* dx;
  const T* dy;                     ///< [batch][out_pitch]
  const T* weights;                ///< packed
  const T* addend = nullptr;       ///< as dx, or null; may be dx itself
  const T* relu_output = nullptr;  ///< as dx, or null
};
template <typename T>
void linear_backward_data(const LinearBackwardData<T>& pass, const LinearShape& shape, cudaStream_t stream,
                          TileShape tile = TileShape::automatic);

/// dweights = dy^T x [out][in] and, unless null, dbias = column sums of dy [out], fp32: written, or added to
/// where `accumulate`.
template <typename T>
struct LinearBackwardWeights {
  float* dweights;
  float* dbias = nullptr;
  const T* x;
  const T* dy;
  void* workspace;  ///< 16-byte aligned; contents undefined before and after
  bool accumulate = false;
};
template <typename T>
std::size_t linear_backward_weights_workspace_bytes(const LinearShape& shape, int multiprocessors,
                                                    TileShape tile = TileShape::automatic);
template <typename T>
void linear_backward_weights(const LinearBackwardWeights<T>& pass, const LinearShape& shape,
                             int multiprocessors, cudaStream_t stream, TileShape tile = TileShape::automatic);

}  // namespace trireme::kernels
