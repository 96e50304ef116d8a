// SPDX-License-Identifier: Apache-2.0
#include "src/train/core_binding.h"

#include <fmt/format.h>
#include <hwloc.h>

#include <cstdlib>
#include <string_view>

#include "src/core/parse.h"
#include "src/io/atomic_file.h"
#include "src/train/cgroup.h"

namespace trireme {
namespace {

struct BitmapDeleter {
  void operator()(hwloc_bitmap_t bitmap) const { hwloc_bitmap_free(bitmap); }
};
using Bitmap = std::unique_ptr<hwloc_bitmap_s, BitmapDeleter>;

std::string_view environment(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? std::string_view() : std::string_view(value);
}

/// First number of "4" or "4,2"; nothing if it is not a positive number.
std::optional<int> positive_number(std::string_view text) {
  const auto value = parse_int(text.substr(0, text.find(',')));
  if (!value || *value < 1 || *value > 4096) return std::nullopt;
  return static_cast<int>(*value);
}

std::string encode(const CoreSet& cores) {
  std::string text;
  for (const int core : cores) text += fmt::format("{}{}", text.empty() ? "" : ",", core);
  return text;
}

CoreSet decode(const std::string& text) {
  CoreSet cores;
  for (const std::string& word : split(text, ','))
    cores.insert(static_cast<int>(parse_int(word).value_or(0)));
  return cores;
}

double quota_of_this_process() {
  try {
    return cgroup_cpu_quota(read_text("/proc/self/cgroup"), "/sys/fs/cgroup");
  } catch (const Error&) {
    return 0;  // no /proc here: no quota that we could know
  }
}

}  // namespace

std::string explicit_binding(const LaunchFacts& launch) {
  if (launch.launcher.empty()) return "the process's own mask";
  const std::string_view policy = environment("OMPI_MCA_hwloc_base_binding_policy");
  if (!policy.empty()) return fmt::format("--bind-to {}", policy);
  const std::string_view mapping = environment("OMPI_MCA_rmaps_base_mapping_policy");
  // Without PE=N a mapping says where ranks go, not how many cores each gets.
  if (mapping.find("PE=") != std::string_view::npos || mapping.find("pe=") != std::string_view::npos)
    return fmt::format("--map-by {}", mapping);
  const std::string_view srun_binding = environment("SLURM_CPU_BIND_TYPE");
  if (launch.launcher.starts_with("srun") && !srun_binding.empty() && srun_binding != "none") return "srun";
  return {};
}

struct CoreBinding::Topology {
  Topology() {
    if (hwloc_topology_init(&handle) != 0) return;
    hwloc_topology_set_flags(handle, HWLOC_TOPOLOGY_FLAG_INCLUDE_DISALLOWED);
    usable = hwloc_topology_load(handle) == 0;
  }
  ~Topology() {
    if (handle != nullptr) hwloc_topology_destroy(handle);
  }

  /// Cores that have a processing unit in the calling thread's mask.
  CoreSet cores_of_mask() const {
    CoreSet cores;
    const Bitmap mask(hwloc_bitmap_alloc());
    if (!usable || hwloc_get_cpubind(handle, mask.get(), HWLOC_CPUBIND_THREAD) != 0) return cores;
    for (int i = 0, n = hwloc_get_nbobjs_by_type(handle, HWLOC_OBJ_CORE); i < n; ++i)
      if (hwloc_bitmap_intersects(
              hwloc_get_obj_by_type(handle, HWLOC_OBJ_CORE, static_cast<unsigned>(i))->cpuset, mask.get()))
        cores.insert(i);
    return cores;
  }

  void bind(const CoreSet& cores) const {
    if (!usable) return;
    const Bitmap mask(hwloc_bitmap_alloc());
    for (const int core : cores)
      hwloc_bitmap_or(mask.get(), mask.get(),
                      hwloc_get_obj_by_type(handle, HWLOC_OBJ_CORE, static_cast<unsigned>(core))->cpuset);
    hwloc_set_cpubind(handle, mask.get(), HWLOC_CPUBIND_THREAD);
  }

  /// The kernel cuts a mask of everything down to what this process may use.
  CoreSet allowed() const {
    const Bitmap before(hwloc_bitmap_alloc());
    if (!usable || hwloc_get_cpubind(handle, before.get(), HWLOC_CPUBIND_THREAD) != 0) return {};
    hwloc_set_cpubind(handle, hwloc_topology_get_complete_cpuset(handle), HWLOC_CPUBIND_THREAD);
    CoreSet cores = cores_of_mask();
    hwloc_set_cpubind(handle, before.get(), HWLOC_CPUBIND_THREAD);
    return cores;
  }

  hwloc_topology_t handle = nullptr;
  bool usable = false;
};

CoreBinding::CoreBinding(const World& world, const LaunchFacts& launch, int flag_threads,
                         std::chrono::duration<double> timeout)
    : topology_(std::make_unique<Topology>()) {
  CoreFacts facts;
  facts.local_rank = world.local_rank();
  facts.launch_masks.clear();
  const std::string own = encode(topology_->cores_of_mask());
  for (const std::string& text :
       world.node().allgather_text(own, timeout, "the core masks of this node's ranks"))
    facts.launch_masks.push_back(decode(text));
  facts.allowed = topology_->allowed();
  facts.cpu_quota = quota_of_this_process();
  facts.explicit_binding = explicit_binding(launch);
  facts.flag_threads = flag_threads;
  facts.omp_num_threads = positive_number(environment("OMP_NUM_THREADS"));
  facts.slurm_cpus_per_task = positive_number(environment("SLURM_CPUS_PER_TASK"));
  plan_ = plan_cores(facts);
  bind_calling_thread(plan_.compute);
}

CoreBinding::~CoreBinding() = default;

void CoreBinding::bind_calling_thread(const CoreSet& cores) const {
  if (!cores.empty()) topology_->bind(cores);
}

CoreBinding::HelperScope::HelperScope(const CoreBinding& binding) : binding_(binding) {
  binding_.bind_calling_thread(binding_.plan().helpers);
}

CoreBinding::HelperScope::~HelperScope() {
  binding_.bind_calling_thread(binding_.plan().compute);
}

}  // namespace trireme
