// SPDX-License-Identifier: Apache-2.0
#include "src/device/cuda/cuda_device.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "kernels/numeric.h"
#include "src/device/cuda/conv2d_engines.h"
#include "src/device/cuda/cuda_check.h"
#include "src/device/cuda/cuda_graph.h"
#include "src/device/cuda/cuda_memory.h"
#include "src/device/cuda/cuda_op.h"
#include "src/device/cuda/cuda_stream.h"

namespace trireme {
namespace {

constexpr int kTensorCoreMajor = 8;
constexpr float kFirstLossScale = 65536;

cudaDeviceProp select(int index) {
  check_cuda(cudaSetDevice(index), fmt::format("cudaSetDevice({})", index));
  cudaDeviceProp properties{};
  check_cuda(cudaGetDeviceProperties(&properties, index), "cudaGetDeviceProperties");
  return properties;
}

void check_precision(const cudaDeviceProp& properties, Precision precision) {
  if (precision == Precision::fp32 || properties.major >= kTensorCoreMajor) return;
  throw make_error(Status::configuration,
                   "a GPU of compute capability {}.{} computes in fp32 only; bf16, fp16 and tf32 need 8.0",
                   properties.major, properties.minor)
      .at(properties.name)
      .hint("--precision fp32, perhaps with --engine cudnn");
}

/// Elements as fp32 in logical order, without pads.
template <typename T>
std::vector<float> without_pads(const ValueSpec& spec, const std::vector<std::byte>& bytes) {
  const auto channels = static_cast<std::size_t>(spec.layout == nullptr ? 1 : channels_of(spec));
  const auto pitch = static_cast<std::size_t>(spec.layout == nullptr ? 1 : pitch_of(spec));
  const std::size_t rows = static_cast<std::size_t>(spec.shape.count()) / channels;
  std::vector<float> values(rows * channels);
  for (std::size_t row = 0; row < rows; ++row)
    for (std::size_t c = 0; c < channels; ++c) {
      T element;
      std::memcpy(&element, bytes.data() + (row * pitch + c) * sizeof(T), sizeof(T));
      values[row * channels + c] = kernels::to_float(element);
    }
  return values;
}

class CudaDeviceOfOptions final : public CudaDevice {
 public:
  CudaDeviceOfOptions(const CudaDeviceOptions& options, const CudnnApi* cudnn,
                      const std::string& cudnn_obstacle)
      : options_(options),
        properties_(select(options.index)),
        engines_(options, cudnn, cudnn_obstacle, stream_.handle(), properties_.multiProcessorCount) {
    check_precision(properties_, options.precision);
    engine_.stream = stream_.handle();
    engine_.precision = options.precision;
    engine_.multiprocessors = properties_.multiProcessorCount;
    engine_.engines = &engines_;
    if (options.precision == Precision::fp16) make_loss_scale();
  }

  std::unique_ptr<Buffer> allocate(std::size_t bytes) override { return device_memory_.allocate(bytes); }
  std::string description() const override {
    return fmt::format("{}, compute capability {}.{}, {:.0f} GiB", properties_.name, properties_.major,
                       properties_.minor, static_cast<double>(properties_.totalGlobalMem) / 0x1p30);
  }
  Stream& compute_stream() override { return stream_; }
  std::unique_ptr<Stream> make_stream() override { return std::make_unique<CudaStream>(); }
  std::unique_ptr<Event> make_event() override { return std::make_unique<CudaEvent>(); }
  BufferSource& host_memory() override { return pinned_memory_; }
  std::shared_ptr<void> pin(void* data, std::size_t bytes) override { return pin_host_memory(data, bytes); }
  bool takes_levels() const override { return true; }

  std::optional<std::size_t> free_bytes() const override {
    std::size_t free = 0, total = 0;
    check_cuda(cudaMemGetInfo(&free, &total), "cudaMemGetInfo");
    return std::min(free, total / static_cast<std::size_t>(options_.ranks_per_gpu));
  }

  void copy(const Tensor& destination, const Tensor& source, Stream& stream) override {
    TRIREME_ASSERT(destination.bytes() == source.bytes(), "a copy between tensors of different size");
    if (source.bytes() == 0) return;
    check_cuda(
        cudaMemcpyAsync(destination.data, source.data, source.bytes(), cudaMemcpyDefault, handle_of(stream)),
        "cudaMemcpyAsync");
  }
  void zero(void* data, std::size_t bytes, Stream& stream) override {
    if (bytes > 0) check_cuda(cudaMemsetAsync(data, 0, bytes, handle_of(stream)), "cudaMemsetAsync");
  }

  std::span<const Fusion> fusions() const override {
    static constexpr std::array kFusions = {Fusion::conv_relu, Fusion::linear_relu, Fusion::batch_norm_relu,
                                            Fusion::add_relu, Fusion::batch_norm_add};
    return kFusions;
  }
  std::unique_ptr<OpPlan> plan_op(const OpRequest& request) override {
    return translating(describe(request), [&] {
      return std::visit([&](const auto& op) { return cuda::make_plan(engine_, request, op); }, request.op);
    });
  }

  std::size_t step_bytes() const override { return sizeof(kernels::StepValues); }
  void write_step(void* step, const RunContext& context, Stream& stream) override {
    kernels::StepValues values;
    values.seed = context.seed;
    values.valid_samples = context.valid_samples;
    values.epoch = context.epoch;
    values.gradient_scale = context.gradient_scale;
    values.share_weight = context.share_weight;
    kernels::set_step_values(static_cast<kernels::StepValues*>(step), values, loss_scale(),
                             handle_of(stream));
  }
  std::unique_ptr<Recording> record(const std::function<void()>& work, std::string& why) override {
    return record_graph(stream_.handle(), work, why);
  }

  std::vector<float> read(const ValueSpec& spec, const void* data, Stream& stream) override {
    std::vector<std::byte> bytes(spec.element_bytes());
    check_cuda(cudaMemcpyAsync(bytes.data(), data, bytes.size(), cudaMemcpyDeviceToHost, handle_of(stream)),
               "cudaMemcpyAsync");
    stream.synchronize();
    switch (spec.dtype) {
      case DType::bf16:
        return without_pads<kernels::BFloat16>(spec, bytes);
      case DType::f16:
        return without_pads<kernels::Half>(spec, bytes);
      default:
        TRIREME_ASSERT(spec.dtype == DType::f32, "values are floating-point numbers");
        return without_pads<float>(spec, bytes);
    }
  }

  cudaStream_t compute_handle() override { return stream_.handle(); }
  int multiprocessors() const override { return properties_.multiProcessorCount; }
  kernels::LossScaleState* loss_scale() override {
    return loss_scale_ == nullptr ? nullptr : static_cast<kernels::LossScaleState*>(loss_scale_->data());
  }
  std::string engine_choices() const override { return engines_.choices().text(); }

 private:
  void make_loss_scale() {
    loss_scale_ = allocate(sizeof(kernels::LossScaleState));
    const kernels::LossScaleState state{kFirstLossScale, 0, 0};
    check_cuda(
        cudaMemcpyAsync(loss_scale_->data(), &state, sizeof state, cudaMemcpyHostToDevice, stream_.handle()),
        "cudaMemcpyAsync");
    stream_.synchronize();
  }

  CudaDeviceOptions options_;
  cudaDeviceProp properties_;
  CudaStream stream_;
  ConvolutionEngines engines_;
  DeviceMemory device_memory_;
  PinnedMemory pinned_memory_;
  std::unique_ptr<Buffer> loss_scale_;
  cuda::CudaEngine engine_;
};

}  // namespace

std::unique_ptr<CudaDevice> make_cuda_device(const CudaDeviceOptions& options, const CudnnApi* cudnn,
                                             const std::string& cudnn_obstacle) {
  return std::make_unique<CudaDeviceOfOptions>(options, cudnn, cudnn_obstacle);
}

}  // namespace trireme
