// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>

#include "src/train/accelerator.h"

namespace trireme {

struct CudnnApi;

/// Where the functions come from of libraries that a program opens at run time. Each is null, and says why,
/// where its library cannot be used.
struct GpuLibraries {
  const NcclApi* (*nccl)(std::string& obstacle) = nullptr;
  std::shared_ptr<const CudnnApi> (*cudnn)(std::string& obstacle) = nullptr;
  bool is_emulated = false;  ///< the CUDA runtime that the program is linked with is the emulator's
};

/// NVIDIA's own libraries, where they are installed.
GpuLibraries installed_libraries();

/// GPUs by the CUDA runtime that the program is linked with.
std::unique_ptr<Accelerator> make_cuda_accelerator(const GpuLibraries& libraries);

}  // namespace trireme
