// SPDX-License-Identifier: Apache-2.0
#include "src/device/cuda/conv2d_passes.h"

namespace trireme {
namespace {

template <typename T>
class NativePasses final : public ConvolutionPasses<T> {
 public:
  NativePasses(const kernels::Conv2dShape& shape, int multiprocessors, cudaStream_t stream)
      : shape_(shape), multiprocessors_(multiprocessors), stream_(stream) {}

  std::size_t workspace_bytes(ConvolutionPass pass) const override {
    if (pass != ConvolutionPass::backward_weights) return 0;
    return kernels::conv2d_backward_weights_workspace_bytes<T>(shape_, multiprocessors_);
  }
  void forward(const kernels::Conv2dForward<T>& pass, void* /*workspace*/) const override {
    kernels::conv2d_forward(pass, shape_, stream_);
  }
  void backward_data(const kernels::Conv2dBackwardData<T>& pass, void* /*workspace*/) const override {
    kernels::conv2d_backward_data(pass, shape_, stream_);
  }
  void backward_weights(const kernels::Conv2dBackwardWeights<T>& pass) const override {
    kernels::conv2d_backward_weights(pass, shape_, multiprocessors_, stream_);
  }

 private:
  kernels::Conv2dShape shape_;
  int multiprocessors_;
  cudaStream_t stream_;
};

}  // namespace

template <typename T>
std::unique_ptr<ConvolutionPasses<T>> make_native_passes(const kernels::Conv2dShape& shape,
                                                         int multiprocessors, cudaStream_t stream) {
  return std::make_unique<NativePasses<T>>(shape, multiprocessors, stream);
}

template std::unique_ptr<ConvolutionPasses<simt::BFloat16>> make_native_passes(const kernels::Conv2dShape&,
                                                                               int, cudaStream_t);
template std::unique_ptr<ConvolutionPasses<simt::Half>> make_native_passes(const kernels::Conv2dShape&, int,
                                                                           cudaStream_t);
template std::unique_ptr<ConvolutionPasses<simt::Tf32>> make_native_passes(const kernels::Conv2dShape&, int,
                                                                           cudaStream_t);
template std::unique_ptr<ConvolutionPasses<float>> make_native_passes(const kernels::Conv2dShape&, int,
                                                                      cudaStream_t);

}  // namespace trireme
