// SPDX-License-Identifier: Apache-2.0
// What the parts of the fake cuDNN share: its opaque types, its algorithms and what fits what.
#pragma once

#include <cstddef>

#include "kernels/reference/conv2d.h"
#include "src/device/cuda/cudnn_api.h"

// The opaque types of <cudnn.h>.
struct cudnnContext {
  cudaStream_t stream = nullptr;
};
struct cudnnTensorStruct {
  cudnnDataType_t type{};
  int n = 0, c = 0, h = 0, w = 0;
  std::size_t count() const { return static_cast<std::size_t>(n) * c * h * w; }
};
struct cudnnFilterStruct {
  cudnnDataType_t type{};
  int k = 0, c = 0, h = 0, w = 0;
  std::size_t count() const { return static_cast<std::size_t>(k) * c * h * w; }
};
struct cudnnConvolutionStruct {
  int pad_h = 0, pad_w = 0, stride_h = 0, stride_w = 0;
  cudnnMathType_t math{};
};

namespace trireme::test {

/// Of the usable algorithms: one number for each pass, all different, so that a mixed-up size is seen.
inline constexpr std::size_t kForwardBytes = 1000, kDataBytes = 3000, kFilterBytes = 5000;

/// What the heuristics name, in this order.
template <typename Performance>
struct Candidates {
  decltype(Performance::algo) unsupported, random, large, usable;
};
inline constexpr Candidates<cudnnConvolutionFwdAlgoPerf_t> kForward{
    CUDNN_CONVOLUTION_FWD_ALGO_WINOGRAD, CUDNN_CONVOLUTION_FWD_ALGO_DIRECT, CUDNN_CONVOLUTION_FWD_ALGO_FFT,
    CUDNN_CONVOLUTION_FWD_ALGO_IMPLICIT_PRECOMP_GEMM};
inline constexpr Candidates<cudnnConvolutionBwdDataAlgoPerf_t> kData{
    CUDNN_CONVOLUTION_BWD_DATA_ALGO_WINOGRAD, CUDNN_CONVOLUTION_BWD_DATA_ALGO_0,
    CUDNN_CONVOLUTION_BWD_DATA_ALGO_FFT, CUDNN_CONVOLUTION_BWD_DATA_ALGO_1};
inline constexpr Candidates<cudnnConvolutionBwdFilterAlgoPerf_t> kFilter{
    CUDNN_CONVOLUTION_BWD_FILTER_ALGO_WINOGRAD, CUDNN_CONVOLUTION_BWD_FILTER_ALGO_0,
    CUDNN_CONVOLUTION_BWD_FILTER_ALGO_FFT, CUDNN_CONVOLUTION_BWD_FILTER_ALGO_1};

/// One convolution as its descriptors tell it.
inline reference::Conv2dShape shape_of(const cudnnTensorStruct& x, const cudnnFilterStruct& w,
                                       const cudnnConvolutionStruct& convolution) {
  return {x.n,
          x.h,
          x.w,
          x.c,
          w.k,
          w.h,
          w.w,
          convolution.stride_h,
          convolution.stride_w,
          convolution.pad_h,
          convolution.pad_w};
}
/// Whether the descriptors fit each other.
inline bool fit(const cudnnTensorStruct& x, const cudnnFilterStruct& w,
                const cudnnConvolutionStruct& convolution, const cudnnTensorStruct& y) {
  const reference::Conv2dShape shape = shape_of(x, w, convolution);
  const bool narrow = x.type != CUDNN_DATA_FLOAT;
  return x.type == w.type && x.type == y.type && x.c == w.c && y.c == w.k && y.n == x.n &&
         y.h == shape.out_h() && y.w == shape.out_w() &&
         (convolution.math == CUDNN_TENSOR_OP_MATH || !narrow);
}

/// Puts the functions about algorithms into the table.
void fill_algorithms(CudnnApi& api);
/// Those of heuristics that know no deterministic algorithm for the gradients.
void fill_random_gradients(CudnnApi& api);

}  // namespace trireme::test
