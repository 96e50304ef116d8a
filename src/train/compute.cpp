// SPDX-License-Identifier: Apache-2.0
#include "src/train/compute.h"

#include <algorithm>
#include <vector>

#include "src/comm/gpu_choice.h"
#include "src/core/error.h"
#include "src/device/cpu/cpu_device.h"
#include "src/train/device_names.h"

namespace trireme {
namespace {

using Timeout = std::chrono::duration<double>;

constexpr int kTensorCoreMajor = 8;  // bf16 and tf32 products, asynchronous copies

AcceleratorFacts facts_of(Accelerator* accelerator) {
  if (accelerator != nullptr) return accelerator->facts();
  AcceleratorFacts facts;
  facts.obstacle = "this program was built without CUDA";
  return facts;
}

/// What each rank tells the others about its GPUs: nothing, or the lowest compute capability.
std::string told(const AcceleratorFacts& facts) {
  if (facts.gpus.empty()) return "";
  int lowest = facts.gpus.front().major;
  for (const GpuFacts& gpu : facts.gpus) lowest = std::min(lowest, gpu.major);
  return std::to_string(lowest);
}

Precision choose_precision(const std::string& name, const std::vector<std::string>& told_by_rank) {
  if (const auto precision = parse_precision(name)) return *precision;
  const bool has_bf16 = std::ranges::all_of(
      told_by_rank, [](const std::string& major) { return std::stoi(major) >= kTensorCoreMajor; });
  return has_bf16 ? Precision::bf16 : Precision::fp32;
}

Compute on_the_cpu(const ComputeSettings& settings, Compute compute) {
  const std::optional<Precision> precision = parse_precision(settings.precision);
  if (precision && *precision != Precision::fp32)
    throw make_error(Status::configuration, "--precision {} is for GPUs; the CPU computes in fp32",
                     settings.precision)
        .hint(compute.facts.obstacle.empty() ? "--device cuda" : compute.facts.obstacle);
  return compute;
}

}  // namespace

std::string Compute::kind_text() const {
  if (kind == DeviceKind::cpu) return "cpu fp32";
  return fmt::format("cuda {}", precision_name(cuda.precision));
}

Compute choose_compute(const ComputeSettings& settings, const World& world, Accelerator* accelerator,
                       Timeout timeout) {
  const WantedDevice wanted = parse_device_name(settings.device);
  Compute compute;
  if (wanted.kind == DeviceKind::cpu) return on_the_cpu(settings, std::move(compute));
  compute.facts = facts_of(accelerator);
  if (wanted.kind == DeviceKind::cuda && compute.facts.gpus.empty())
    throw make_error(Status::peer_gone, "--device {}: {}", settings.device, compute.facts.obstacle)
        .at(fmt::format("rank {} on {}", world.rank(), world.host()))
        .hint("--device auto takes the CPU where there is no GPU");
  const std::vector<std::string> all =
      world.all().allgather_text(told(compute.facts), timeout, "all ranks to have looked for their GPUs");
  const auto without = std::ranges::find(all, std::string());
  if (without != all.end()) {
    compute.note =
        fmt::format("--device auto: computing on the CPU, since rank {} has no GPU{}", without - all.begin(),
                    compute.facts.obstacle.empty() ? "" : ": " + compute.facts.obstacle);
    return on_the_cpu(settings, std::move(compute));
  }
  const GpuChoice choice =
      choose_gpu(compute.facts.gpus, wanted.index, settings.ranks_per_gpu, world, timeout);
  compute.kind = DeviceKind::cuda;
  compute.accelerator = accelerator;
  compute.gpu = compute.facts.gpus.at(static_cast<std::size_t>(choice.index));
  compute.shares_gpu = choice.sharing > 1;
  compute.gpus = world.all().allgather_text(fmt::format("{} ({})", compute.gpu.name, compute.gpu.uuid),
                                            timeout, "all ranks to have chosen their GPUs");
  compute.cuda = {choice.index, choose_precision(settings.precision, all), parse_engine(settings.engine),
                  settings.ranks_per_gpu, ""};
  return compute;
}

std::unique_ptr<Device> make_device(const Compute& compute, const CorePlan& cores) {
  if (compute.kind == DeviceKind::cpu) return make_cpu_device({.threads = cores.threads});
  return compute.accelerator->make_device(compute.cuda);
}

std::unique_ptr<Optimizer> make_sgd(const Compute& compute, const Graph& graph, const FlatLayout& layout,
                                    const OptimizerOptions& options, Device& device) {
  if (compute.kind == DeviceKind::cpu) return make_sgd(graph, layout, options, device);
  return compute.accelerator->make_sgd(graph, layout, options, device);
}

}  // namespace trireme
