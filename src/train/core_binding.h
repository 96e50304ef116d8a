// SPDX-License-Identifier: Apache-2.0
// The operating system's side of cores.h: reads the facts of this process and applies a plan.
#pragma once

#include <memory>

#include "src/comm/world.h"
#include "src/train/cores.h"

namespace trireme {

/// Applies the rule to this rank and keeps what it needs to place threads. Linux affinity through hwloc;
/// where the system refuses to bind, the run goes on unbound.
class CoreBinding {
 public:
  /// Collective over the node's ranks. Threads made afterwards by the calling thread run on the compute
  /// cores.
  CoreBinding(const World& world, const LaunchFacts& launch, int flag_threads,
              std::chrono::duration<double> timeout);
  ~CoreBinding();
  CoreBinding(const CoreBinding&) = delete;
  CoreBinding& operator=(const CoreBinding&) = delete;

  const CorePlan& plan() const { return plan_; }

  /// While it lives, threads that the calling thread makes run on the helpers' cores.
  class HelperScope {
   public:
    explicit HelperScope(const CoreBinding& binding);
    ~HelperScope();
    HelperScope(const HelperScope&) = delete;
    HelperScope& operator=(const HelperScope&) = delete;

   private:
    const CoreBinding& binding_;
  };

 private:
  struct Topology;
  void bind_calling_thread(const CoreSet& cores) const;

  std::unique_ptr<Topology> topology_;
  CorePlan plan_;
};

/// Who bound this process on purpose, by what Open MPI and Slurm leave in the environment; empty if nobody
/// did. A process without a launcher has the mask that its user gave it.
std::string explicit_binding(const LaunchFacts& launch);

}  // namespace trireme
