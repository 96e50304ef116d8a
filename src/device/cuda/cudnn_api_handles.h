// SPDX-License-Identifier: Apache-2.0
// Owners of cuDNN's handles and descriptors.
#pragma once

#include <string_view>
#include <utility>

#include "src/device/cuda/cudnn_api.h"

namespace trireme {

/// Error (69) with what was asked for and cuDNN's words, unless `status` is success.
void check_cudnn(const CudnnApi& api, cudnnStatus_t status, std::string_view what);

/// cuDNN on one stream of the current device. For one thread at a time.
class CudnnHandle {
 public:
  /// `api` must outlive the handle and all that is made with it.
  CudnnHandle(const CudnnApi& api, cudaStream_t stream);
  ~CudnnHandle();
  CudnnHandle(const CudnnHandle&) = delete;
  CudnnHandle& operator=(const CudnnHandle&) = delete;

  const CudnnApi& api() const { return api_; }
  cudnnHandle_t get() const { return handle_; }
  cudaStream_t stream() const { return stream_; }
  void check(cudnnStatus_t status, std::string_view what) const { check_cudnn(api_, status, what); }

 private:
  const CudnnApi& api_;
  cudaStream_t stream_;
  cudnnHandle_t handle_ = nullptr;
};

/// A descriptor, made by one function of the table and destroyed by another.
template <typename Descriptor>
class CudnnDescriptor {
 public:
  using Create = cudnnStatus_t (*)(Descriptor*);
  using Destroy = cudnnStatus_t (*)(Descriptor);

  CudnnDescriptor(const CudnnApi& api, Create create, Destroy destroy) : destroy_(destroy) {
    check_cudnn(api, create(&descriptor_), "make a descriptor");
  }
  ~CudnnDescriptor() {
    if (descriptor_ != nullptr) destroy_(descriptor_);
  }
  CudnnDescriptor(CudnnDescriptor&& other) noexcept
      : destroy_(other.destroy_), descriptor_(std::exchange(other.descriptor_, nullptr)) {}
  CudnnDescriptor(const CudnnDescriptor&) = delete;
  CudnnDescriptor& operator=(const CudnnDescriptor&) = delete;
  CudnnDescriptor& operator=(CudnnDescriptor&&) = delete;

  Descriptor get() const { return descriptor_; }

 private:
  Destroy destroy_;
  Descriptor descriptor_ = nullptr;
};

using CudnnTensor = CudnnDescriptor<cudnnTensorDescriptor_t>;
using CudnnFilter = CudnnDescriptor<cudnnFilterDescriptor_t>;
using CudnnConvolutionDescriptor = CudnnDescriptor<cudnnConvolutionDescriptor_t>;

/// Dense NHWC.
CudnnTensor make_cudnn_tensor(const CudnnApi& api, cudnnDataType_t type, int n, int h, int w, int c);
/// [out][h][w][in]
CudnnFilter make_cudnn_filter(const CudnnApi& api, cudnnDataType_t type, int out, int h, int w, int in);

/// Cross-correlation with fp32 sums.
struct CudnnWindow {
  int pad_h, pad_w, stride_h, stride_w;
};
CudnnConvolutionDescriptor make_cudnn_convolution(const CudnnApi& api, const CudnnWindow& window,
                                                  cudnnMathType_t math);

}  // namespace trireme
