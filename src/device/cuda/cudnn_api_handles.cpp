// SPDX-License-Identifier: Apache-2.0
#include "src/device/cuda/cudnn_api_handles.h"

#include "src/core/error.h"

namespace trireme {

void check_cudnn(const CudnnApi& api, cudnnStatus_t status, std::string_view what) {
  if (status == CUDNN_STATUS_SUCCESS) return;
  throw make_error(Status::peer_gone, "cuDNN cannot {}: {}", what, api.get_error_string(status))
      .hint("--engine native needs no cuDNN");
}

CudnnHandle::CudnnHandle(const CudnnApi& api, cudaStream_t stream) : api_(api), stream_(stream) {
  check(api_.create(&handle_), "be started");
  const cudnnStatus_t status = api_.set_stream(handle_, stream);
  if (status == CUDNN_STATUS_SUCCESS) return;
  api_.destroy(handle_);
  check(status, "use the compute stream");
}

CudnnHandle::~CudnnHandle() {
  api_.destroy(handle_);
}

CudnnTensor make_cudnn_tensor(const CudnnApi& api, cudnnDataType_t type, int n, int h, int w, int c) {
  CudnnTensor tensor(api, api.create_tensor_descriptor, api.destroy_tensor_descriptor);
  check_cudnn(api, api.set_tensor_4d_descriptor(tensor.get(), CUDNN_TENSOR_NHWC, type, n, c, h, w),
              "describe a tensor");
  return tensor;
}

CudnnFilter make_cudnn_filter(const CudnnApi& api, cudnnDataType_t type, int out, int h, int w, int in) {
  CudnnFilter filter(api, api.create_filter_descriptor, api.destroy_filter_descriptor);
  check_cudnn(api, api.set_filter_4d_descriptor(filter.get(), type, CUDNN_TENSOR_NHWC, out, in, h, w),
              "describe weights");
  return filter;
}

CudnnConvolutionDescriptor make_cudnn_convolution(const CudnnApi& api, const CudnnWindow& window,
                                                  cudnnMathType_t math) {
  CudnnConvolutionDescriptor convolution(api, api.create_convolution_descriptor,
                                         api.destroy_convolution_descriptor);
  const auto set = api.set_convolution_2d_descriptor(
      convolution.get(), window.pad_h, window.pad_w, window.stride_h, window.stride_w, /*dilation_h=*/1,
      /*dilation_w=*/1, CUDNN_CROSS_CORRELATION, CUDNN_DATA_FLOAT);
  check_cudnn(api, set, "describe a convolution");
  check_cudnn(api, api.set_convolution_group_count(convolution.get(), 1), "describe a convolution");
  check_cudnn(api, api.set_convolution_math_type(convolution.get(), math), "describe a convolution");
  return convolution;
}

}  // namespace trireme
