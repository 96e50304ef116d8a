// SPDX-License-Identifier: Apache-2.0
// The program over emulated GPUs: the same device and kernels, the emulator's runtime, NCCL over MPI.
#include "src/cli/cli.h"
#ifdef TRIREME_HAVE_EMULATED_NCCL
#include "src/comm/nccl_emulated/emulated_nccl.h"
#endif
#include "src/train/cuda/cuda_accelerator.h"

namespace {

const trireme::NcclApi* nccl([[maybe_unused]] std::string& obstacle) {
#ifdef TRIREME_HAVE_EMULATED_NCCL
  return &trireme::emulated_nccl();
#else
  obstacle = "this program was built without NCCL";
  return nullptr;
#endif
}

std::shared_ptr<const trireme::CudnnApi> no_cudnn(std::string& obstacle) {
  obstacle = "emulated GPUs have no cuDNN";
  return nullptr;
}

}  // namespace

int main(int argc, char** argv) {
  const auto accelerator = trireme::make_cuda_accelerator({nccl, no_cudnn, true});
  return trireme::run_command_line(argc, argv, accelerator.get());
}
