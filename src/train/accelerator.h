// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>

#include "src/device/accelerator.h"
#include "src/device/device.h"
#include "src/exchange/wire_packer.h"
#include "src/optim/optimizer.h"

namespace trireme {

struct NcclApi;

/// What a program can do with GPUs: CUDA's runtime and kernels, or their emulation. The program's main hands
/// it down; a program without has none.
class Accelerator {
 public:
  virtual ~Accelerator() = default;
  /// What this process sees; never throws for what is missing.
  virtual AcceleratorFacts facts() const = 0;
  /// Error 69 where the device cannot be had, 78 where it cannot do what is asked for. Device and what is
  /// made for it are for the thread that calls this.
  virtual std::unique_ptr<Device> make_device(const CudaDeviceOptions& options) = 0;
  /// `device` is one that make_device gave.
  virtual std::unique_ptr<Optimizer> make_sgd(const Graph& graph, const FlatLayout& layout,
                                              const OptimizerOptions& options, Device& device) = 0;
  /// For gradients in the memory of `device`, which make_device gave.
  virtual std::unique_ptr<WirePacker> make_wire_packer(DType type, Device& device) = 0;
  /// What Engine::automatic has chosen for the convolutions that were planned on `device`: see
  /// CudaDeviceOptions.
  virtual std::string engine_choices(Device& device) = 0;
  /// Whether its NCCL calls MPI from threads of its own (MPI_THREAD_MULTIPLE).
  virtual bool calls_mpi() const { return false; }
  /// Null, and why, where NCCL cannot be used.
  virtual const NcclApi* nccl(std::string& obstacle) = 0;
};

}  // namespace trireme
