// SPDX-License-Identifier: Apache-2.0
#include "src/device/cuda/conv2d_engines.h"

#include "src/core/error.h"
#include "src/device/cuda/conv2d_passes.h"
#ifdef TRIREME_HAVE_CUDNN
#include "src/device/cuda/conv2d_cudnn.h"
#include "src/device/cuda/conv2d_cudnn_measure.h"
#endif

namespace trireme {

#ifdef TRIREME_HAVE_CUDNN

namespace {

template <typename T>
class CudnnPasses final : public ConvolutionPasses<T> {
 public:
  CudnnPasses(const kernels::Conv2dShape& shape, const CudnnHandle& handle) : convolution_(handle, shape) {}

  std::size_t workspace_bytes(ConvolutionPass pass) const override {
    return convolution_.obstacle(pass).empty() ? convolution_.workspace_bytes(pass) : 0;
  }
  void forward(const kernels::Conv2dForward<T>& pass, void* workspace) const override {
    convolution_.forward(pass, workspace);
  }
  void backward_data(const kernels::Conv2dBackwardData<T>& pass, void* workspace) const override {
    convolution_.backward_data(pass, workspace);
  }
  void backward_weights(const kernels::Conv2dBackwardWeights<T>& pass) const override {
    convolution_.backward_weights(pass);
  }

 private:
  CudnnConvolution<T> convolution_;
};

/// Whether cuDNN can do the pass at all.
bool cudnn_can(Precision precision, const kernels::Conv2dShape& shape, const CudnnHandle& handle,
               ConvolutionPass pass) {
  const auto asked = [&]<typename T>(T) {
    return CudnnConvolution<T>::shape_obstacle(shape).empty() &&
           CudnnConvolution<T>(handle, shape).obstacle(pass).empty();
  };
  switch (precision) {
    case Precision::bf16:
      return asked(simt::BFloat16{});
    case Precision::fp16:
      return asked(simt::Half{});
    case Precision::tf32:
      return asked(simt::Tf32{});
    case Precision::fp32:
      break;
  }
  return asked(float{});
}

}  // namespace

ConvolutionEngines::ConvolutionEngines(const CudaDeviceOptions& options, const CudnnApi* cudnn,
                                       const std::string& obstacle, cudaStream_t stream, int multiprocessors)
    : wanted_(options.engine),
      precision_(options.precision),
      multiprocessors_(multiprocessors),
      choices_(EngineChoices::parse(options.engine_choices)) {
  if (wanted_ == Engine::native) return;
  if (cudnn == nullptr && wanted_ == Engine::cudnn)
    throw make_error(Status::configuration, "--engine cudnn cannot be used: {}", obstacle)
        .hint("--engine native needs no library");
  if (cudnn != nullptr) handle_ = std::make_unique<CudnnHandle>(*cudnn, stream);
}

Engine ConvolutionEngines::choose(const kernels::Conv2dShape& shape, const ConvolutionUse& use,
                                  ConvolutionPass pass) {
  if (handle_ == nullptr) return Engine::native;
  if (!cudnn_can(precision_, shape, *handle_, pass)) return Engine::native;
  if (wanted_ == Engine::cudnn) return Engine::cudnn;
  const std::string key = convolution_key(precision_, shape, use);
  if (!choices_.find(key, pass))
    measure_engines(choices_, {precision_, shape, use, multiprocessors_}, *handle_,
                    event_timer(handle_->stream()));
  return choices_.find(key, pass).value_or(Engine::native);
}

template <typename T>
std::unique_ptr<ConvolutionPasses<T>> make_cudnn_passes(const kernels::Conv2dShape& shape,
                                                        const ConvolutionEngines& engines) {
  return std::make_unique<CudnnPasses<T>>(shape, *engines.cudnn());
}

#else

class CudnnHandle {};

ConvolutionEngines::ConvolutionEngines(const CudaDeviceOptions& options, const CudnnApi* /*cudnn*/,
                                       const std::string& obstacle, cudaStream_t /*stream*/,
                                       int multiprocessors)
    : wanted_(options.engine), precision_(options.precision), multiprocessors_(multiprocessors) {
  if (wanted_ == Engine::cudnn)
    throw make_error(Status::configuration, "--engine cudnn cannot be used: {}", obstacle)
        .hint("--engine native needs no library");
}

Engine ConvolutionEngines::choose(const kernels::Conv2dShape& /*shape*/, const ConvolutionUse& /*use*/,
                                  ConvolutionPass /*pass*/) {
  return Engine::native;
}

template <typename T>
std::unique_ptr<ConvolutionPasses<T>> make_cudnn_passes(const kernels::Conv2dShape& /*shape*/,
                                                        const ConvolutionEngines& /*engines*/) {
  return nullptr;  // never chosen
}

#endif

ConvolutionEngines::~ConvolutionEngines() = default;

template std::unique_ptr<ConvolutionPasses<simt::BFloat16>> make_cudnn_passes(const kernels::Conv2dShape&,
                                                                              const ConvolutionEngines&);
template std::unique_ptr<ConvolutionPasses<simt::Half>> make_cudnn_passes(const kernels::Conv2dShape&,
                                                                          const ConvolutionEngines&);
template std::unique_ptr<ConvolutionPasses<simt::Tf32>> make_cudnn_passes(const kernels::Conv2dShape&,
                                                                          const ConvolutionEngines&);
template std::unique_ptr<ConvolutionPasses<float>> make_cudnn_passes(const kernels::Conv2dShape&,
                                                                     const ConvolutionEngines&);

}  // namespace trireme
