// SPDX-License-Identifier: Apache-2.0
// What is said of GPUs where no GPU need be there: choices that settings name, and facts about devices.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace trireme {

/// What activations, their gradients and matrix products are in. Parameters, optimizer and statistics are
/// fp32 always.
enum class Precision {
  fp32,
  tf32,  ///< fp32 in memory, tf32 products
  bf16,
  fp16  ///< with dynamic loss scaling
};

/// Who computes convolutions: our kernels, cuDNN, or by layer whichever is faster.
enum class Engine { native, cudnn, automatic };

struct GpuFacts {
  int index = 0;  ///< among the visible devices
  std::string name;
  std::string uuid;  ///< "GPU-..." or "MIG-...": the same for two ranks only if they share the device
  int major = 0, minor = 0;
  std::size_t memory_bytes = 0;
};

/// What this process sees.
struct AcceleratorFacts {
  std::vector<GpuFacts> gpus;
  std::string obstacle;         ///< why there is none: "no NVIDIA driver: ..."; empty if there is one
  std::string driver, runtime;  ///< versions: "12.8"; empty where unknown
  std::string cudnn, nccl;      ///< versions, or why they cannot be used
  bool has_cudnn = false;
  bool is_emulated = false;
};

struct CudaDeviceOptions {
  int index = 0;  ///< among the visible devices
  Precision precision = Precision::fp32;
  Engine engine = Engine::native;
  /// Ranks that share the GPU: its memory is divided by this.
  int ranks_per_gpu = 1;
  /// Choices of an earlier run for Engine::automatic, as Device::engine_choices gave them.
  std::string engine_choices = {};
};

}  // namespace trireme
