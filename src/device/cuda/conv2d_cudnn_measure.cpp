// SPDX-License-Identifier: Apache-2.0
#include "src/device/cuda/conv2d_cudnn_measure.h"

#include <algorithm>
#include <limits>
#include <memory>
#include <type_traits>

#include "kernels/batch_norm/batch_norm.h"
#include "kernels/cast/cast.h"
#include "src/core/error.h"
#include "src/device/cuda/conv2d_cudnn.h"

namespace trireme {
namespace {

using kernels::Conv2dShape;

void check(cudaError_t status, const char* what) {
  if (status == cudaSuccess) return;
  throw make_error(Status::peer_gone, "{} failed while engines were compared: {}", what,
                   cudaGetErrorString(status));
}

struct FreeDevice {
  void operator()(void* memory) const { cudaFree(memory); }
};
using ScratchMemory = std::unique_ptr<void, FreeDevice>;

/// Zeroed, or null where there is too little.
ScratchMemory allocate(std::size_t bytes, cudaStream_t stream) {
  void* memory = nullptr;
  if (cudaMalloc(&memory, std::max<std::size_t>(bytes, 16)) != cudaSuccess) {
    cudaGetLastError();  // it is no error of what comes next
    return nullptr;
  }
  ScratchMemory owned(memory);
  kernels::fill_zero(memory, bytes, stream);
  return owned;
}

struct DestroyEvent {
  void operator()(cudaEvent_t event) const { cudaEventDestroy(event); }
};
using OwnedEvent = std::unique_ptr<CUevent_st, DestroyEvent>;

OwnedEvent make_event() {
  cudaEvent_t event = nullptr;
  check(cudaEventCreate(&event), "making an event");
  return OwnedEvent(event);
}

double time_once(const std::function<void()>& launch, cudaStream_t stream) {
  const OwnedEvent begin = make_event(), end = make_event();
  check(cudaEventRecord(begin.get(), stream), "recording an event");
  launch();
  check(cudaEventRecord(end.get(), stream), "recording an event");
  check(cudaEventSynchronize(end.get()), "waiting for an event");
  float milliseconds = 0;
  check(cudaEventElapsedTime(&milliseconds, begin.get(), end.get()), "reading an event");
  return milliseconds * 1e-3;
}

/// What kernels that know no tf32 call it.
template <typename T>
using Plain = std::conditional_t<std::is_same_v<T, simt::Tf32>, float, T>;

/// Both engines on the same operands.
template <typename T>
class Contest {
 public:
  Contest(const EngineMeasurement& convolution, const CudnnHandle& cudnn)
      : convolution_(convolution), shape_(convolution.shape), stream_(cudnn.stream()), cudnn_(cudnn, shape_) {
    allocate_operands();
  }

  bool has_memory() const { return has_memory_; }
  const CudnnConvolution<T>& cudnn() const { return cudnn_; }

  void launch(ConvolutionPass pass, Engine engine) const {
    if (pass == ConvolutionPass::forward) return forward(engine);
    if (pass == ConvolutionPass::backward_data) return backward_data(engine);
    backward_weights(engine);
  }

 private:
  void allocate_operands() {
    const auto elements = [](std::int64_t count) { return static_cast<std::size_t>(count) * sizeof(T); };
    const auto floats = [](std::int64_t count) { return static_cast<std::size_t>(count) * sizeof(float); };
    const kernels::StatisticsTiles tiles = kernels::conv2d_statistics_tiles<T>(shape_),
                                   batch_norm_tiles = kernels::batch_norm_tiles<Plain<T>>(rows());
    std::size_t workspace =
        kernels::conv2d_backward_weights_workspace_bytes<T>(shape_, convolution_.multiprocessors);
    for (const ConvolutionPass pass : kConvolutionPasses)
      workspace = std::max(workspace, cudnn_.workspace_bytes(pass));
    const int pitch = static_cast<int>(shape_.out_pitch);
    const std::size_t statistics = std::max(kernels::tile_statistics_bytes(tiles.tiles, pitch),
                                            kernels::tile_statistics_bytes(batch_norm_tiles.tiles, pitch));
    const std::int64_t weights = kernels::conv2d_packed_weights_size<T>(shape_);
    x_ = take(elements(shape_.in_pixels() * shape_.in_pitch));
    dx_ = take(elements(shape_.in_pixels() * shape_.in_pitch));
    y_ = take(elements(shape_.out_pixels() * shape_.out_pitch));
    weights_ = take(elements(weights));
    dweights_ = take(floats(weights));
    bias_ = take(floats(shape_.out_pitch));
    dbias_ = take(floats(shape_.out_pitch));
    statistics_ = take(statistics);
    workspace_ = take(workspace);
  }

  ScratchMemory take(std::size_t bytes) {
    ScratchMemory memory = has_memory_ ? allocate(bytes, stream_) : nullptr;
    has_memory_ = memory != nullptr;
    return memory;
  }

  kernels::BatchNormShape rows() const {
    return {shape_.out_pixels(), static_cast<int>(shape_.out_channels), static_cast<int>(shape_.out_pitch)};
  }
  T* elements(const ScratchMemory& memory) const { return static_cast<T*>(memory.get()); }
  float* floats(const ScratchMemory& memory) const { return static_cast<float*>(memory.get()); }

  void forward(Engine engine) const {
    const ConvolutionUse& use = convolution_.use;
    kernels::Conv2dForward<T> pass{elements(y_), elements(x_), elements(weights_)};
    pass.bias = use.bias ? floats(bias_) : nullptr;
    pass.relu = use.relu;
    if (engine == Engine::native) {
      pass.statistics = use.feeds_batch_norm ? floats(statistics_) : nullptr;
      return kernels::conv2d_forward(pass, shape_, stream_);
    }
    cudnn_.forward(pass, workspace_.get());
    if (use.feeds_batch_norm)
      kernels::batch_norm_statistics(floats(statistics_), static_cast<const Plain<T>*>(y_.get()), rows(),
                                     stream_);
  }

  void backward_data(Engine engine) const {
    kernels::Conv2dBackwardData<T> pass{elements(dx_), elements(y_), elements(weights_)};
    pass.relu_output = convolution_.use.input_is_relu ? elements(x_) : nullptr;
    if (engine == Engine::native) return kernels::conv2d_backward_data(pass, shape_, stream_);
    cudnn_.backward_data(pass, workspace_.get());
  }

  void backward_weights(Engine engine) const {
    float* const dbias = convolution_.use.bias ? floats(dbias_) : nullptr;
    const kernels::Conv2dBackwardWeights<T> pass{floats(dweights_), dbias, elements(x_), elements(y_),
                                                 workspace_.get()};
    if (engine == Engine::native)
      return kernels::conv2d_backward_weights(pass, shape_, convolution_.multiprocessors, stream_);
    cudnn_.backward_weights(pass);
  }

  const EngineMeasurement& convolution_;
  const Conv2dShape& shape_;
  cudaStream_t stream_;
  CudnnConvolution<T> cudnn_;
  bool has_memory_ = true;
  ScratchMemory x_, dx_, y_, weights_, dweights_, bias_, dbias_, statistics_, workspace_;
};

/// Infinite where cuDNN refuses a call that it had an algorithm for: our kernels can do every pass.
template <typename T>
double seconds_of_cudnn(Contest<T>& contest, ConvolutionPass pass, const LaunchTimer& timer) {
  try {
    return timer([&] { contest.launch(pass, Engine::cudnn); });
  } catch (const Error&) {
    return std::numeric_limits<double>::infinity();
  }
}

template <typename T>
void measure(EngineChoices& choices, const EngineMeasurement& convolution, const CudnnHandle& cudnn,
             const LaunchTimer& timer) {
  const std::string key = convolution_key(convolution.precision, convolution.shape, convolution.use);
  const bool is_known =
      std::all_of(kConvolutionPasses.begin(), kConvolutionPasses.end(),
                  [&](ConvolutionPass pass) { return choices.find(key, pass).has_value(); });
  if (is_known) return;
  std::unique_ptr<Contest<T>> contest;
  if (CudnnConvolution<T>::shape_obstacle(convolution.shape).empty())
    contest = std::make_unique<Contest<T>>(convolution, cudnn);
  for (const ConvolutionPass pass : kConvolutionPasses) {
    if (choices.find(key, pass)) continue;
    choices.set(key, pass, Engine::native);
    if (contest == nullptr || !contest->has_memory() || !contest->cudnn().obstacle(pass).empty()) continue;
    const double native = timer([&] { contest->launch(pass, Engine::native); });
    if (seconds_of_cudnn(*contest, pass, timer) < native) choices.set(key, pass, Engine::cudnn);
  }
  check(cudaStreamSynchronize(cudnn.stream()), "waiting for the compute stream");
}

}  // namespace

LaunchTimer event_timer(cudaStream_t stream) {
  return [stream](const std::function<void()>& launch) {
    constexpr int kRuns = 3;
    launch();  // warms up
    double least = std::numeric_limits<double>::infinity();
    for (int run = 0; run < kRuns; ++run) least = std::min(least, time_once(launch, stream));
    return least;
  };
}

void measure_engines(EngineChoices& choices, const EngineMeasurement& convolution, const CudnnHandle& cudnn,
                     const LaunchTimer& timer) {
  switch (convolution.precision) {
    case Precision::fp32:
      return measure<float>(choices, convolution, cudnn, timer);
    case Precision::tf32:
      return measure<simt::Tf32>(choices, convolution, cudnn, timer);
    case Precision::bf16:
      return measure<simt::BFloat16>(choices, convolution, cudnn, timer);
    case Precision::fp16:
      return measure<simt::Half>(choices, convolution, cudnn, timer);
  }
}

}  // namespace trireme
