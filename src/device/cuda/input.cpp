// SPDX-License-Identifier: Apache-2.0
// The pictures of the batch in the first layer's layout: from the network's fp32 numbers, which are only
// cast, or from levels, which are cropped, flipped, resized and normalised on the way. No layer behind asks
// for this value's gradient, so its pixels may be as narrow as a convolution reads them.
#include "kernels/augment/augment.h"
#include "kernels/cast/channels.h"
#include "src/device/cuda/cuda_check.h"
#include "src/device/cuda/cuda_memory.h"
#include "src/device/cuda/cuda_op.h"

namespace trireme::cuda {
namespace {

/// Four channels of 16 bits fill half a vector: convolutions, and they alone, read such pixels where nobody
/// wants their gradient.
std::int64_t input_pitch(const OpRequest& request, DType element) {
  constexpr std::int64_t kNarrow = 4;
  const std::int64_t channels = request.output_shape[3];
  const bool is_narrow = request.feeds_convolutions && size_of(element) == 2 && channels <= kNarrow;
  return is_narrow ? kNarrow : pitch_of(channels, element);
}

kernels::AugmentKind kind_of(Augment augment) {
  switch (augment) {
    case Augment::none:
      break;
    case Augment::flip:
      return kernels::AugmentKind::flip;
    case Augment::crop:
      return kernels::AugmentKind::crop;
    case Augment::crop_flip:
      return kernels::AugmentKind::crop_flip;
    case Augment::resized_crop:
      return kernels::AugmentKind::resized_crop;
  }
  return kernels::AugmentKind::none;
}

/// normalised_levels in device memory, there for all that the stream does from now on.
std::shared_ptr<Buffer> upload_levels(const InputFormat& format, cudaStream_t stream) {
  const std::vector<float> levels = kernels::normalised_levels(format.mean, format.std);
  const std::size_t bytes = levels.size() * sizeof(float);
  std::shared_ptr<Buffer> memory = DeviceMemory().allocate(bytes);
  check_cuda(cudaMemcpyAsync(memory->data(), levels.data(), bytes, cudaMemcpyHostToDevice, stream),
             "cudaMemcpyAsync");
  check_cuda(cudaStreamSynchronize(stream), "cudaStreamSynchronize");
  return memory;
}

class InputPlan final : public CudaOpPlan {
 public:
  InputPlan(const CudaEngine& engine, const OpRequest& request)
      : CudaOpPlan(engine, request), format_(request.input_format) {
    const Shape& shape = request.output_shape;
    facts_.output = cuda_value(shape, engine.element(), input_pitch(request, engine.element()));
    if (format_.dtype == DType::f32) return;
    TRIREME_ASSERT(format_.dtype == DType::u8 && format_.stored.rank() == 3, "pictures are fp32 or levels");
    TRIREME_ASSERT(shape[1] == shape[2], "levels become square pictures");
    const auto channels = static_cast<std::size_t>(shape[3]);
    TRIREME_ASSERT(format_.mean.size() == channels && format_.std.size() == channels,
                   "a mean and a deviation for each channel of the network");
  }

 private:
  Pass bind_forward(const Bindings& bindings) const override {
    return with_element(engine_.precision, [&]<typename T>(T) {
      auto* const out = static_cast<T*>(bindings.output);
      return format_.dtype == DType::u8 ? from_levels(out, step_values(bindings)) : from_numbers(out);
    });
  }

  Pass bind_backward(const Bindings&) const override {
    return [](const RunContext&) {};
  }

  template <typename T>
  Pass from_numbers(T* out) const {
    return [out, pitch = static_cast<int>(pitch_of(facts_.output)),
            channels = static_cast<int>(channels_of(facts_.output)), pixels = rows_of(facts_.output),
            stream = engine_.stream](const RunContext& context) {
      kernels::cast_to_pitch(out, pitch, static_cast<const float*>(context.images), channels, pixels, stream);
    };
  }

  template <typename T>
  Pass from_levels(T* out, const kernels::StepValues* step) const {
    const Shape& shape = facts_.output.shape;
    const auto extent = [&](int axis) { return static_cast<int>(format_.stored[axis]); };
    const kernels::AugmentShape pictures{shape[0],
                                         extent(0),
                                         extent(1),
                                         extent(2),
                                         static_cast<int>(shape[1]),
                                         static_cast<int>(shape[3]),
                                         static_cast<int>(pitch_of(facts_.output))};
    const kernels::AugmentOptions options{training_ ? kind_of(format_.augment) : kernels::AugmentKind::none,
                                          format_.crop_ratio};
    return [pictures, options, out, step, levels = upload_levels(format_, engine_.stream),
            stream = engine_.stream](const RunContext& context) {
      kernels::AugmentBuffers<T> buffers;
      buffers.pictures = static_cast<const std::uint8_t*>(context.images);
      buffers.sample_ids = context.sample_ids;
      buffers.levels = static_cast<const float*>(levels->data());
      buffers.step = step;
      buffers.out = out;
      kernels::augment(pictures, options, buffers, stream);
    };
  }

  InputFormat format_;
};

}  // namespace

std::unique_ptr<OpPlan> make_plan(const CudaEngine& engine, const OpRequest& request, const InputOp&) {
  return std::make_unique<InputPlan>(engine, request);
}

}  // namespace trireme::cuda
