// SPDX-License-Identifier: Apache-2.0
#include "src/device/cpu/cpu_device.h"

#include <omp.h>

#include <array>
#include <cstring>

#include "src/device/cpu/cpu_op.h"
#include "src/device/inline_stream.h"

namespace trireme {
namespace {

std::string_view name_of_isa(dnnl::cpu_isa isa) {
  switch (isa) {
    case dnnl::cpu_isa::sse41:
      return "sse41";
    case dnnl::cpu_isa::avx:
      return "avx";
    case dnnl::cpu_isa::avx2:
      return "avx2";
    case dnnl::cpu_isa::avx2_vnni:
      return "avx2_vnni";
    case dnnl::cpu_isa::avx512_mic:
      return "avx512_mic";
    case dnnl::cpu_isa::avx512_mic_4ops:
      return "avx512_mic_4ops";
    case dnnl::cpu_isa::avx512_core:
      return "avx512_core";
    case dnnl::cpu_isa::avx512_core_vnni:
      return "avx512_core_vnni";
    case dnnl::cpu_isa::avx512_core_bf16:
      return "avx512_core_bf16";
    case dnnl::cpu_isa::avx512_core_amx:
      return "avx512_core_amx";
    default:
      return "generic code";
  }
}

class CpuDevice final : public Device {
 public:
  explicit CpuDevice(int threads) : threads_(threads) {}

  std::unique_ptr<Buffer> allocate(std::size_t bytes) override { return HostMemory().allocate(bytes); }
  DeviceKind kind() const override { return DeviceKind::cpu; }
  std::string description() const override {
    const dnnl_version_t* version = dnnl_version();
    return fmt::format("cpu, {} thread{}, oneDNN {}.{}.{} ({})", threads_, threads_ == 1 ? "" : "s",
                       version->major, version->minor, version->patch,
                       name_of_isa(dnnl::get_effective_cpu_isa()));
  }
  Stream& compute_stream() override { return stream_; }
  std::unique_ptr<Stream> make_stream() override { return std::make_unique<InlineStream>(); }
  std::unique_ptr<Event> make_event() override { return std::make_unique<InlineEvent>(); }
  BufferSource& host_memory() override { return host_memory_; }
  void copy(const Tensor& destination, const Tensor& source, Stream&) override {
    TRIREME_ASSERT(destination.bytes() == source.bytes(), "a copy between tensors of different size");
    if (source.bytes() > 0) std::memcpy(destination.data, source.data, source.bytes());
  }
  void zero(void* data, std::size_t bytes, Stream&) override {
    if (bytes > 0) std::memset(data, 0, bytes);
  }
  std::span<const Fusion> fusions() const override {
    static constexpr std::array kFusions = {Fusion::conv_relu, Fusion::batch_norm_relu, Fusion::add_relu};
    return kFusions;
  }
  std::unique_ptr<OpPlan> plan_op(const OpRequest& request) override {
    return cpu::translating(describe(request), [&] {
      return std::visit([&](const auto& op) { return cpu::make_plan(engine_, request, op); }, request.op);
    });
  }

  std::vector<float> read(const ValueSpec& spec, const void* data, Stream& /*stream*/) override {
    std::vector<float> values(static_cast<std::size_t>(spec.shape.count()));
    cpu::Steps steps(engine_);
    steps.reorder(engine_.memory(cpu::desc_of(spec), data),
                  engine_.memory(cpu::desc_of({spec.shape, spec.dtype, nullptr, 0}), values.data()));
    steps.run();
    return values;
  }

 private:
  int threads_;
  InlineStream stream_;
  HostMemory host_memory_;
  cpu::CpuEngine engine_;
};

}  // namespace

std::unique_ptr<Device> make_cpu_device(const CpuDeviceOptions& options) {
  TRIREME_ASSERT(options.threads >= 1, "at least one thread computes");
  omp_set_dynamic(0);
  omp_set_num_threads(options.threads);
  return std::make_unique<CpuDevice>(options.threads);
}

}  // namespace trireme
