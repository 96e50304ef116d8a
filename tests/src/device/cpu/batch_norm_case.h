// SPDX-License-Identifier: Apache-2.0
// Batch norms with random numbers, and what the reference makes of them.
#pragma once

#include "tests/src/device/cpu/op_harness.h"
#include "tests/support/numbers.h"

namespace trireme::testing {

OpCase batch_norm_case(const Shape& shape, const BatchNormOp& op, Arrangement arrangement);
OpResult batch_norm_reference(const OpCase& op_case);
/// To rounding.
void expect_batch_norm(const OpResult& actual, const OpResult& expected);
/// Backward that overwrites the output's gradient gives the same bits as one with memory apart.
void expect_works_in_place(Device& device, OpCase op_case);
/// Where the step has gradients of parameters already, backward adds to them what it would have written.
void expect_accumulates(Device& device, OpCase op_case);
/// Channels below, at and above the usual block lengths, pictures from 1x2 pixels on.
std::vector<Shape> batch_norm_shapes();

}  // namespace trireme::testing
