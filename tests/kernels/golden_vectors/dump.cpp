// SPDX-License-Identifier: Apache-2.0
// golden_vectors: prints the vectors. Built with nvcc (README.md) it asks a GPU, else the emulator.
#include <cstdio>
#include <exception>

#include "tests/kernels/golden_vectors/vectors.h"

int main() {
  try {
    std::fputs(trireme::golden::to_text(trireme::golden::run_all()).c_str(), stdout);
    return 0;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "golden_vectors: %s\n", error.what());
    return 1;
  }
}
