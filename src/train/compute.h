// SPDX-License-Identifier: Apache-2.0
// What a rank computes on: chosen with the other ranks before anything is made on it.
#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "src/comm/world.h"
#include "src/train/accelerator.h"
#include "src/train/core_binding.h"

namespace trireme {

/// The settings that decide, as they are spelled.
struct ComputeSettings {
  std::string device = "auto", precision = "auto", engine = "native";
  int ranks_per_gpu = 1;
};
template <typename Config>
ComputeSettings compute_settings(const Config& config) {
  return {config.device, config.precision, config.engine, config.ranks_per_gpu};
}

struct Compute {
  DeviceKind kind = DeviceKind::cpu;
  CudaDeviceOptions cuda;              ///< kind cuda
  GpuFacts gpu;                        ///< kind cuda
  AcceleratorFacts facts;              ///< of this rank
  Accelerator* accelerator = nullptr;  ///< kind cuda
  bool shares_gpu = false;             ///< with another rank
  std::vector<std::string> gpus;       ///< kind cuda: every rank's, by rank: "NVIDIA H200 (GPU-...)"
  std::string note;                    ///< why "auto" did not take a GPU; for people
  /// "cuda bf16" or "cpu fp32": equal on all ranks.
  std::string kind_text() const;
};

/// Collective. All ranks compute on the same kind of device in the same precision. Error 69 where a GPU is
/// asked for and not there, 78 for what it cannot do or where ranks would share one unasked.
Compute choose_compute(const ComputeSettings& settings, const World& world, Accelerator* accelerator,
                       std::chrono::duration<double> timeout);

std::unique_ptr<Device> make_device(const Compute& compute, const CorePlan& cores);
/// `device` is one of make_device for `compute`.
std::unique_ptr<Optimizer> make_sgd(const Compute& compute, const Graph& graph, const FlatLayout& layout,
                                    const OptimizerOptions& options, Device& device);

}  // namespace trireme
