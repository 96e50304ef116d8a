// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <vector>

#include "tests/src/device/cuda/cudnn_fake_types.h"

namespace trireme::test {
namespace {

constexpr std::size_t kTooMuch = std::size_t{2} << 30;

template <typename Performance>
cudnnStatus_t list(const Candidates<Performance>& candidates, const cudnnConvolutionStruct& convolution,
                   std::size_t bytes, int wanted, int* returned, Performance* results) {
  const cudnnMathType_t math = convolution.math;
  const std::vector<Performance> all = {
      {candidates.unsupported, CUDNN_STATUS_NOT_SUPPORTED, -1, 0, CUDNN_DETERMINISTIC, math, {}},
      {candidates.random, CUDNN_STATUS_SUCCESS, 1, 0, CUDNN_NON_DETERMINISTIC, math, {}},
      {candidates.large, CUDNN_STATUS_SUCCESS, 2, kTooMuch, CUDNN_DETERMINISTIC, math, {}},
      {candidates.usable, CUDNN_STATUS_SUCCESS, 3, bytes, CUDNN_DETERMINISTIC, math, {}}};
  *returned = std::min(wanted, static_cast<int>(all.size()));
  std::copy_n(all.begin(), *returned, results);
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t forward_algorithms(cudnnHandle_t /*handle*/, const cudnnTensorDescriptor_t x,
                                 const cudnnFilterDescriptor_t w,
                                 const cudnnConvolutionDescriptor_t convolution,
                                 const cudnnTensorDescriptor_t y, int wanted, int* returned,
                                 cudnnConvolutionFwdAlgoPerf_t* results) {
  if (!fit(*x, *w, *convolution, *y)) return CUDNN_STATUS_BAD_PARAM;
  return list(kForward, *convolution, kForwardBytes, wanted, returned, results);
}
cudnnStatus_t data_algorithms(cudnnHandle_t /*handle*/, const cudnnFilterDescriptor_t w,
                              const cudnnTensorDescriptor_t dy,
                              const cudnnConvolutionDescriptor_t convolution,
                              const cudnnTensorDescriptor_t dx, int wanted, int* returned,
                              cudnnConvolutionBwdDataAlgoPerf_t* results) {
  if (!fit(*dx, *w, *convolution, *dy)) return CUDNN_STATUS_BAD_PARAM;
  return list(kData, *convolution, kDataBytes, wanted, returned, results);
}
cudnnStatus_t filter_algorithms(cudnnHandle_t /*handle*/, const cudnnTensorDescriptor_t x,
                                const cudnnTensorDescriptor_t dy,
                                const cudnnConvolutionDescriptor_t convolution,
                                const cudnnFilterDescriptor_t dw, int wanted, int* returned,
                                cudnnConvolutionBwdFilterAlgoPerf_t* results) {
  if (!fit(*x, *dw, *convolution, *dy)) return CUDNN_STATUS_BAD_PARAM;
  return list(kFilter, *convolution, kFilterBytes, wanted, returned, results);
}
template <typename List>
cudnnStatus_t without_the_last(List status, int* returned) {
  --*returned;
  return status;
}
cudnnStatus_t random_data_algorithms(cudnnHandle_t handle, const cudnnFilterDescriptor_t w,
                                     const cudnnTensorDescriptor_t dy,
                                     const cudnnConvolutionDescriptor_t convolution,
                                     const cudnnTensorDescriptor_t dx, int wanted, int* returned,
                                     cudnnConvolutionBwdDataAlgoPerf_t* results) {
  return without_the_last(data_algorithms(handle, w, dy, convolution, dx, wanted, returned, results),
                          returned);
}
cudnnStatus_t random_filter_algorithms(cudnnHandle_t handle, const cudnnTensorDescriptor_t x,
                                       const cudnnTensorDescriptor_t dy,
                                       const cudnnConvolutionDescriptor_t convolution,
                                       const cudnnFilterDescriptor_t dw, int wanted, int* returned,
                                       cudnnConvolutionBwdFilterAlgoPerf_t* results) {
  return without_the_last(filter_algorithms(handle, x, dy, convolution, dw, wanted, returned, results),
                          returned);
}

cudnnStatus_t forward_size(cudnnHandle_t /*handle*/, const cudnnTensorDescriptor_t x,
                           const cudnnFilterDescriptor_t w, const cudnnConvolutionDescriptor_t convolution,
                           const cudnnTensorDescriptor_t y, cudnnConvolutionFwdAlgo_t algorithm,
                           std::size_t* bytes) {
  *bytes = kForwardBytes;
  return fit(*x, *w, *convolution, *y) && algorithm == kForward.usable ? CUDNN_STATUS_SUCCESS
                                                                       : CUDNN_STATUS_BAD_PARAM;
}
cudnnStatus_t data_size(cudnnHandle_t /*handle*/, const cudnnFilterDescriptor_t w,
                        const cudnnTensorDescriptor_t dy, const cudnnConvolutionDescriptor_t convolution,
                        const cudnnTensorDescriptor_t dx, cudnnConvolutionBwdDataAlgo_t algorithm,
                        std::size_t* bytes) {
  *bytes = kDataBytes;
  return fit(*dx, *w, *convolution, *dy) && algorithm == kData.usable ? CUDNN_STATUS_SUCCESS
                                                                      : CUDNN_STATUS_BAD_PARAM;
}
cudnnStatus_t filter_size(cudnnHandle_t /*handle*/, const cudnnTensorDescriptor_t x,
                          const cudnnTensorDescriptor_t dy, const cudnnConvolutionDescriptor_t convolution,
                          const cudnnFilterDescriptor_t dw, cudnnConvolutionBwdFilterAlgo_t algorithm,
                          std::size_t* bytes) {
  *bytes = kFilterBytes;
  return fit(*x, *dw, *convolution, *dy) && algorithm == kFilter.usable ? CUDNN_STATUS_SUCCESS
                                                                        : CUDNN_STATUS_BAD_PARAM;
}

}  // namespace

void fill_algorithms(CudnnApi& api) {
  api.get_forward_algorithms = forward_algorithms;
  api.get_backward_data_algorithms = data_algorithms;
  api.get_backward_filter_algorithms = filter_algorithms;
  api.get_forward_workspace_size = forward_size;
  api.get_backward_data_workspace_size = data_size;
  api.get_backward_filter_workspace_size = filter_size;
}

void fill_random_gradients(CudnnApi& api) {
  api.get_backward_data_algorithms = random_data_algorithms;
  api.get_backward_filter_algorithms = random_filter_algorithms;
}

}  // namespace trireme::test
