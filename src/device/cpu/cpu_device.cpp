// SPDX-License-Identifier: Apache-2.0
#include "src/device/cpu/cpu_device.h"

#include <omp.h>

#include <array>
#include <cstring>

#include "src/device/cpu/cpu_op.h"

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

/// Work is done when the call that asked for it returns, so every event has happened already.
class CpuEvent final : public Event {
 public:
  bool done() const override { return true; }
  void synchronize() override {}
};

class CpuStream final : public Stream {
 public:
  void record(Event&) override {}
  void wait(const Event&) override {}
  void synchronize() override {}
};

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
  std::unique_ptr<Stream> make_stream() override { return std::make_unique<CpuStream>(); }
  std::unique_ptr<Event> make_event() override { return std::make_unique<CpuEvent>(); }
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
    return cpu::translating(cpu::describe(request), [&] {
      return std::visit([&](const auto& op) { return cpu::make_plan(engine_, request, op); }, request.op);
    });
  }

 private:
  int threads_;
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
