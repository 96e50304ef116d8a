// SPDX-License-Identifier: Apache-2.0
// Batch norms with random numbers, and what the reference makes of them.
#pragma once

#include "tests/src/device/cuda/cuda_op_harness.h"

namespace trireme::testing {

/// Numbers that activations of the precision hold exactly; with op.residual there is a second input.
CudaCase batch_norm_case(Precision precision, const Shape& shape, const BatchNormOp& op);

struct BatchNormExpected {
  std::vector<double> output, input_grad, residual_grad;
  std::vector<std::vector<double>> parameter_grads;
};
/// A ReLU is taken to let through what `output` has above zero: what the device itself has stored.
BatchNormExpected batch_norm_reference(const CudaCase& op_case, const std::vector<float>& output);
/// To rounding.
void expect_batch_norm(const CudaCase& op_case, const CudaResult& actual);

}  // namespace trireme::testing
