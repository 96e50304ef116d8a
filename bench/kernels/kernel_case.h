// SPDX-License-Identifier: Apache-2.0
// A kernel to be measured: it is checked first, and what fails its check gets no number.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace trireme::bench {

/// How large the shapes are: `card` fills one; `emulated` is for looking at the checks without one.
enum class Scale { card, emulated };

struct KernelCase {
  std::string name;  ///< "conv2d/forward/bf16/256x56x56x64-64k3s1"
  /// Runs once and compares with the reference; what is wrong, or an empty text.
  std::function<std::string()> check;
  /// Makes the operands, which live as long as the launch that it gives.
  std::function<std::function<void(cudaStream_t)>()> prepare;
  double bytes = 0;  ///< least that memory must move
  double flops = 0;  ///< of matrix products, without padding; 0: bound by memory
};

// One function a family, in <family>_cases.cpp.
std::vector<KernelCase> augment_cases(Scale scale);
std::vector<KernelCase> batch_norm_cases(Scale scale);
std::vector<KernelCase> cast_cases(Scale scale);
std::vector<KernelCase> conv2d_cases(Scale scale);
std::vector<KernelCase> dropout_cases(Scale scale);
std::vector<KernelCase> elementwise_cases(Scale scale);
std::vector<KernelCase> linear_cases(Scale scale);
std::vector<KernelCase> optimizer_cases(Scale scale);
std::vector<KernelCase> pool2d_cases(Scale scale);
std::vector<KernelCase> softmax_cross_entropy_cases(Scale scale);
std::vector<KernelCase> step_cases(Scale scale);

}  // namespace trireme::bench
