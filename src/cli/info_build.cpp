// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <map>

#include "src/cli/build_facts.h"
#include "src/cli/failure.h"
#include "src/cli/info.h"
#include "src/cli/text.h"
#include "src/cli/usable_cores.h"
#include "src/device/cpu/cpu_device.h"

namespace trireme {

namespace {

void print_gpus(Accelerator* accelerator) {
  if (accelerator == nullptr) return print_row("CUDA", "not in this build");
  const AcceleratorFacts facts = accelerator->facts();
  print_row("CUDA", fmt::format("runtime {}, driver {}{}", facts.runtime,
                                facts.driver.empty() ? "none" : facts.driver,
                                facts.is_emulated ? " (emulated)" : ""));
  print_row("cuDNN", facts.cudnn);
  print_row("NCCL", facts.nccl);
  if (facts.gpus.empty()) print_row("GPU", facts.obstacle);
  for (const GpuFacts& gpu : facts.gpus)
    print_row(fmt::format("GPU {}", gpu.index),
              fmt::format("{}, compute capability {}.{}, {:.1f} GiB, {}", gpu.name, gpu.major, gpu.minor,
                          static_cast<double>(gpu.memory_bytes) / 0x1p30, gpu.uuid));
}

void print_build(Accelerator* accelerator) {
  print_row("trireme", program_version());
  for (const auto& [heading, text] : build_facts()) print_row(heading, text);
  const UsableCores cores = read_usable_cores();
  const std::string quota =
      cores.by_quota > 0 ? fmt::format(", {:.1f} by the cgroup's quota", cores.by_quota) : "";
  print_row("cores", fmt::format("{} by affinity{}", cores.by_affinity, quota));
  print_gpus(accelerator);
  print_row("CPU", make_cpu_device({.threads = cores.threads()})->description());
}

// Rising numbers as ranges: "0-3,6".
std::string ranges_text(const std::vector<int>& numbers) {
  std::string text;
  for (std::size_t begin = 0; begin < numbers.size();) {
    std::size_t end = begin + 1;
    while (end < numbers.size() && numbers[end] == numbers[end - 1] + 1) ++end;
    text += fmt::format("{}{}", text.empty() ? "" : ",", numbers[begin]);
    if (end - begin > 1) text += fmt::format("-{}", numbers[end - 1]);
    begin = end;
  }
  return text;
}

}  // namespace

std::string ranks_text(const std::vector<std::string>& hosts_by_rank) {
  std::vector<std::string> hosts;
  std::map<std::string, std::vector<int>> ranks;
  for (std::size_t rank = 0; rank < hosts_by_rank.size(); ++rank) {
    std::vector<int>& of_host = ranks[hosts_by_rank[rank]];
    if (of_host.empty()) hosts.push_back(hosts_by_rank[rank]);
    of_host.push_back(static_cast<int>(rank));
  }
  std::string text;
  for (const std::string& host : hosts)
    text += fmt::format("{}{} on {}", text.empty() ? "" : ", ", ranges_text(ranks[host]), host);
  return text;
}

Status tell_about_build(const Invocation& invocation) {
  if (invocation.launch.launcher.empty()) {
    print_build(invocation.accelerator);
    return Status::ok;
  }
  return run_with_world(invocation, [&](World& world) {
    check_world_size(world, invocation.launch, 0);
    const auto hosts =
        world.all().allgather_text(world.host(), std::chrono::minutes(1), "the host names of all ranks");
    if (world.rank() != 0) return Status::ok;
    print_build(invocation.accelerator);
    print_row("launcher", invocation.launch.launcher);
    print_row("ranks", fmt::format("{}: {}", hosts.size(), ranks_text(hosts)));
    return Status::ok;
  });
}

}  // namespace trireme
