// SPDX-License-Identifier: Apache-2.0
// The program with CUDA.
#include "src/cli/cli.h"
#include "src/train/cuda/cuda_accelerator.h"

int main(int argc, char** argv) {
  const auto accelerator = trireme::make_cuda_accelerator(trireme::installed_libraries());
  return trireme::run_command_line(argc, argv, accelerator.get());
}
