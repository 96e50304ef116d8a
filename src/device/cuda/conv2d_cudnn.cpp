// SPDX-License-Identifier: Apache-2.0
#include "src/device/cuda/conv2d_cudnn.h"

#include <algorithm>
#include <limits>
#include <span>
#include <type_traits>

#include "kernels/cast/cast.h"
#include "kernels/elementwise/elementwise.h"
#include "src/core/error.h"

namespace trireme {
namespace {

using kernels::Conv2dShape;

constexpr std::size_t kAlignment = 256;
/// Algorithms that want more memory than this are passed over: it would be taken from the batch.
constexpr std::size_t kMostWorkspace = std::size_t{1} << 30;

template <typename T>
constexpr cudnnDataType_t kDataType = CUDNN_DATA_FLOAT;
template <>
constexpr cudnnDataType_t kDataType<simt::BFloat16> = CUDNN_DATA_BFLOAT16;
template <>
constexpr cudnnDataType_t kDataType<simt::Half> = CUDNN_DATA_HALF;

/// fp32 keeps all its bits; the others may use tensor cores.
template <typename T>
constexpr cudnnMathType_t kMath = CUDNN_TENSOR_OP_MATH;
template <>
constexpr cudnnMathType_t kMath<float> = CUDNN_FMA_MATH;
template <>
constexpr cudnnMathType_t kMath<simt::Tf32> = CUDNN_DEFAULT_MATH;  // means tf32 for fp32 tensors

template <typename T>
constexpr bool kIsWide = sizeof(T) == sizeof(float);

/// What kernels that know no tf32 call it.
template <typename T>
using Plain = std::conditional_t<std::is_same_v<T, simt::Tf32>, float, T>;
template <typename T>
Plain<T>* plain(T* pointer) {
  return reinterpret_cast<Plain<T>*>(pointer);
}
template <typename T>
const Plain<T>* plain(const T* pointer) {
  return reinterpret_cast<const Plain<T>*>(pointer);
}

int narrow(std::int64_t value) {
  return static_cast<int>(value);
}

std::size_t aligned(std::size_t bytes) {
  return kernels::round_up(bytes, kAlignment);
}

/// Hands out parts of a workspace one after the other.
class Carver {
 public:
  explicit Carver(void* begin) : next_(static_cast<unsigned char*>(begin)) {}
  template <typename Type>
  Type* take(std::size_t count) {
    auto* const part = reinterpret_cast<Type*>(next_);
    next_ += aligned(count * sizeof(Type));
    return part;
  }

 private:
  unsigned char* next_;
};

CudnnWindow window_of(const Conv2dShape& shape) {
  return {narrow(shape.pad_h), narrow(shape.pad_w), narrow(shape.stride_h), narrow(shape.stride_w)};
}

/// The first, which cuDNN believes to be the fastest, that gives equal bits every time, with math that is
/// allowed. Null: none.
template <typename Performance>
const Performance* first_usable(std::span<const Performance> candidates, cudnnMathType_t math) {
  const auto found = std::find_if(candidates.begin(), candidates.end(), [&](const Performance& one) {
    return one.status == CUDNN_STATUS_SUCCESS && one.determinism == CUDNN_DETERMINISTIC &&
           one.memory <= kMostWorkspace && (math != CUDNN_FMA_MATH || one.mathType == CUDNN_FMA_MATH);
  });
  return found == candidates.end() ? nullptr : &*found;
}

/// Asks for algorithms, takes one and asks for its workspace. `ask(convolution, count, returned, results)`
/// and `measure(convolution, algorithm, bytes)` are the two functions of cuDNN with the pass's descriptors.
template <typename Performance, typename Planned, typename Ask, typename Measure>
void plan_pass(Planned& planned, const CudnnApi& api, const Conv2dShape& shape, cudnnMathType_t math,
               std::string_view name, const Ask& ask, const Measure& measure) {
  constexpr int kMostAlgorithms = 16;
  std::array<Performance, kMostAlgorithms> results{};
  int returned = 0;
  CudnnConvolutionDescriptor asked = make_cudnn_convolution(api, window_of(shape), math);
  const cudnnStatus_t status = ask(asked.get(), kMostAlgorithms, &returned, results.data());
  const auto candidates = std::span<const Performance>(results).first(static_cast<std::size_t>(returned));
  const Performance* const best = status == CUDNN_STATUS_SUCCESS ? first_usable(candidates, math) : nullptr;
  if (best == nullptr) {
    planned.obstacle = fmt::format("cuDNN has no algorithm for {} that gives the same bits every time", name);
    return;
  }
  planned.algorithm = best->algo;
  planned.convolution.emplace(make_cudnn_convolution(api, window_of(shape), best->mathType));
  check_cudnn(api, measure(planned.convolution->get(), planned.algorithm, &planned.workspace_bytes),
              "say how much memory an algorithm needs");
}

}  // namespace

template <typename T>
std::string CudnnConvolution<T>::shape_obstacle(const Conv2dShape& shape) {
  if (shape.in_channels != shape.in_pitch || shape.out_channels != shape.out_pitch ||
      shape.in_pitch % kernels::kVectorSize<T> != 0)
    return "channels are padded in memory, which cuDNN does not know";
  const std::int64_t largest =
      std::max(shape.in_pixels() * shape.in_pitch, shape.out_pixels() * shape.out_pitch);
  if (largest > std::numeric_limits<int>::max()) return "more elements than cuDNN takes in one tensor";
  return "";
}

template <typename T>
CudnnConvolution<T>::CudnnConvolution(const CudnnHandle& handle, const Conv2dShape& shape)
    : handle_(handle),
      shape_(shape),
      x_(make_cudnn_tensor(handle.api(), kDataType<T>, narrow(shape.batch), narrow(shape.in_h),
                           narrow(shape.in_w), narrow(shape.in_channels))),
      y_(make_cudnn_tensor(handle.api(), kDataType<T>, narrow(shape.batch), narrow(shape.out_h()),
                           narrow(shape.out_w()), narrow(shape.out_channels))),
      bias_(make_cudnn_tensor(handle.api(), kDataType<T>, 1, 1, 1, narrow(shape.out_channels))),
      weights_(make_cudnn_filter(handle.api(), kDataType<T>, narrow(shape.out_channels),
                                 narrow(shape.kernel_h), narrow(shape.kernel_w), narrow(shape.in_channels))) {
  TRIREME_ASSERT(shape_obstacle(shape).empty(), "the caller asks first");
  plan_forward();
  plan_backward_data();
  plan_backward_weights();
}

template <typename T>
void CudnnConvolution<T>::plan_forward() {
  const CudnnApi& api = handle_.api();
  plan_pass<cudnnConvolutionFwdAlgoPerf_t>(
      forward_, api, shape_, kMath<T>, pass_name(ConvolutionPass::forward),
      [&](auto convolution, int count, int* returned, auto* results) {
        return api.get_forward_algorithms(handle_.get(), x_.get(), weights_.get(), convolution, y_.get(),
                                          count, returned, results);
      },
      [&](auto convolution, auto algorithm, std::size_t* bytes) {
        return api.get_forward_workspace_size(handle_.get(), x_.get(), weights_.get(), convolution, y_.get(),
                                              algorithm, bytes);
      });
}

template <typename T>
void CudnnConvolution<T>::plan_backward_data() {
  const CudnnApi& api = handle_.api();
  plan_pass<cudnnConvolutionBwdDataAlgoPerf_t>(
      data_, api, shape_, kMath<T>, pass_name(ConvolutionPass::backward_data),
      [&](auto convolution, int count, int* returned, auto* results) {
        return api.get_backward_data_algorithms(handle_.get(), weights_.get(), y_.get(), convolution,
                                                x_.get(), count, returned, results);
      },
      [&](auto convolution, auto algorithm, std::size_t* bytes) {
        return api.get_backward_data_workspace_size(handle_.get(), weights_.get(), y_.get(), convolution,
                                                    x_.get(), algorithm, bytes);
      });
}

template <typename T>
void CudnnConvolution<T>::plan_backward_weights() {
  const CudnnApi& api = handle_.api();
  plan_pass<cudnnConvolutionBwdFilterAlgoPerf_t>(
      filter_, api, shape_, kMath<T>, pass_name(ConvolutionPass::backward_weights),
      [&](auto convolution, int count, int* returned, auto* results) {
        return api.get_backward_filter_algorithms(handle_.get(), x_.get(), y_.get(), convolution,
                                                  weights_.get(), count, returned, results);
      },
      [&](auto convolution, auto algorithm, std::size_t* bytes) {
        return api.get_backward_filter_workspace_size(handle_.get(), x_.get(), y_.get(), convolution,
                                                      weights_.get(), algorithm, bytes);
      });
}

template <typename T>
const std::string& CudnnConvolution<T>::obstacle(ConvolutionPass pass) const {
  if (pass == ConvolutionPass::forward) return forward_.obstacle;
  return pass == ConvolutionPass::backward_data ? data_.obstacle : filter_.obstacle;
}

template <typename T>
std::int64_t CudnnConvolution<T>::weights_count() const {
  return shape_.out_channels * shape_.kernel_h * shape_.kernel_w * shape_.in_channels;
}

// Parts in the order in which the passes take them.
template <typename T>
std::size_t CudnnConvolution<T>::workspace_bytes(ConvolutionPass pass) const {
  const auto channels = static_cast<std::size_t>(shape_.out_channels);
  const auto weights = static_cast<std::size_t>(weights_count());
  if (pass == ConvolutionPass::backward_data) return data_.workspace_bytes;
  if (pass == ConvolutionPass::forward)
    return aligned(forward_.workspace_bytes) + (kIsWide<T> ? 0 : aligned(channels * sizeof(T)));
  if (kIsWide<T>) return filter_.workspace_bytes;
  return aligned(filter_.workspace_bytes) + aligned(weights * sizeof(T)) + aligned(weights * sizeof(float));
}

template <typename T>
void CudnnConvolution<T>::forward(const kernels::Conv2dForward<T>& pass, void* workspace) const {
  TRIREME_ASSERT(pass.statistics == nullptr && forward_.convolution, "cuDNN was planned for this pass");
  const CudnnApi& api = handle_.api();
  const float one = 1, zero = 0;
  Carver carver(workspace);
  auto* const own = carver.take<unsigned char>(forward_.workspace_bytes);
  handle_.check(api.convolution_forward(handle_.get(), &one, x_.get(), pass.x, weights_.get(), pass.weights,
                                        forward_.convolution->get(), forward_.algorithm, own,
                                        forward_.workspace_bytes, &zero, y_.get(), pass.y),
                "convolve forward");
  if (pass.bias != nullptr) {
    const void* bias = pass.bias;
    if constexpr (!kIsWide<T>) {
      T* const narrowed = carver.take<T>(static_cast<std::size_t>(shape_.out_channels));
      kernels::cast(narrowed, pass.bias, shape_.out_channels, handle_.stream());
      bias = narrowed;
    }
    handle_.check(api.add_tensor(handle_.get(), &one, bias_.get(), bias, &one, y_.get(), pass.y),
                  "add a bias");
  }
  const std::int64_t count = shape_.out_pixels() * shape_.out_pitch;
  if (pass.residual != nullptr)
    kernels::add_forward(plain(pass.y), plain(pass.y), plain(pass.residual), pass.relu, count,
                         handle_.stream());
  else if (pass.relu)
    kernels::relu_forward(plain(pass.y), plain(pass.y), count, handle_.stream());
}

template <typename T>
void CudnnConvolution<T>::backward_data(const kernels::Conv2dBackwardData<T>& pass, void* workspace) const {
  TRIREME_ASSERT(data_.convolution.has_value(), "cuDNN was planned for this pass");
  const std::int64_t count = shape_.in_pixels() * shape_.in_pitch;
  const float one = 1, kept = pass.addend != nullptr ? 1 : 0;
  if (pass.addend != nullptr && pass.addend != pass.dx) {
    const cudaError_t status =
        cudaMemcpyAsync(pass.dx, pass.addend, static_cast<std::size_t>(count) * sizeof(T),
                        cudaMemcpyDeviceToDevice, handle_.stream());
    if (status != cudaSuccess)
      throw make_error(Status::peer_gone, "a copy on the GPU failed: {}", cudaGetErrorString(status));
  }
  handle_.check(
      handle_.api().convolution_backward_data(handle_.get(), &one, weights_.get(), pass.weights, y_.get(),
                                              pass.dy, data_.convolution->get(), data_.algorithm, workspace,
                                              data_.workspace_bytes, &kept, x_.get(), pass.dx),
      "convolve backward to the input");
  if (pass.relu_output != nullptr)
    kernels::relu_backward(plain(pass.dx), plain(pass.dx), plain(pass.relu_output), count, handle_.stream());
}

template <typename T>
void CudnnConvolution<T>::deliver_gradient(float* gradient, const T* made, float* widened, std::int64_t count,
                                           bool accumulate) const {
  if constexpr (!kIsWide<T>) {
    kernels::cast(accumulate ? widened : gradient, made, count, handle_.stream());
    if (accumulate)  // whole vectors: channels are not padded
      kernels::add_forward(gradient, gradient, widened, /*relu=*/false, count, handle_.stream());
  }
}

template <typename T>
void CudnnConvolution<T>::backward_bias(const kernels::Conv2dBackwardWeights<T>& pass) const {
  const float one = 1, kept = kIsWide<T> && pass.accumulate ? 1 : 0;
  Carver carver(pass.workspace);
  carver.take<unsigned char>(filter_.workspace_bytes);
  void* made = pass.dbias;
  float* widened = nullptr;
  if constexpr (!kIsWide<T>) {  // where the weights' gradient has been, which is as large at least
    made = carver.take<T>(static_cast<std::size_t>(weights_count()));
    widened = carver.take<float>(static_cast<std::size_t>(weights_count()));
  }
  handle_.check(handle_.api().convolution_backward_bias(handle_.get(), &one, y_.get(), pass.dy, &kept,
                                                        bias_.get(), made),
                "sum the gradient of a bias");
  deliver_gradient(pass.dbias, static_cast<const T*>(made), widened, shape_.out_channels, pass.accumulate);
}

template <typename T>
void CudnnConvolution<T>::backward_weights(const kernels::Conv2dBackwardWeights<T>& pass) const {
  TRIREME_ASSERT(filter_.convolution.has_value(), "cuDNN was planned for this pass");
  const float one = 1, kept = kIsWide<T> && pass.accumulate ? 1 : 0;
  const auto count = static_cast<std::size_t>(weights_count());
  Carver carver(pass.workspace);
  auto* const own = carver.take<unsigned char>(filter_.workspace_bytes);
  void* made = pass.dweights;
  float* widened = nullptr;
  if constexpr (!kIsWide<T>) {
    made = carver.take<T>(count);
    widened = carver.take<float>(count);
  }
  handle_.check(handle_.api().convolution_backward_filter(
                    handle_.get(), &one, x_.get(), pass.x, y_.get(), pass.dy, filter_.convolution->get(),
                    filter_.algorithm, own, filter_.workspace_bytes, &kept, weights_.get(), made),
                "convolve backward to the weights");
  deliver_gradient(pass.dweights, static_cast<const T*>(made), widened, weights_count(), pass.accumulate);
  if (pass.dbias != nullptr) backward_bias(pass);
}

template class CudnnConvolution<simt::BFloat16>;
template class CudnnConvolution<simt::Half>;
template class CudnnConvolution<simt::Tf32>;
template class CudnnConvolution<float>;

}  // namespace trireme
