// SPDX-License-Identifier: Apache-2.0
// Runs one op of a device on dense NHWC numbers, in memory as hostile as an arena's: outputs, saved values
// and scratch hold NaN bytes, what the plan does not ask to keep is overwritten between the passes, and
// writes outside of a buffer or to a read-only one fail the test.
#pragma once

#include <vector>

#include "src/device/device.h"

namespace trireme::testing {

enum class Arrangement {
  dense,     ///< null layout
  preferred  ///< the layout in which the device's convolutions leave such a picture
};

struct OpInput {
  Shape shape;
  std::vector<float> values;  ///< dense NHWC
  Arrangement arrangement = Arrangement::dense;
  bool wants_gradient = true;
};

struct OpCase {
  OpAttributes op;
  std::vector<OpInput> inputs;
  Shape output_shape;
  std::vector<std::vector<float>> parameters = {};
  std::vector<float> output_grad = {};  ///< dense NHWC; ignored in inference
  bool training = true;
  bool in_place =
      false;  ///< share memory between input and output, and their gradients, where the facts allow
  /// Where not empty: what the parameter gradients hold before a backward that accumulates.
  std::vector<std::vector<float>> prior_gradients = {};
  RunContext context = {};  ///< valid_samples 0 means the whole batch
};

struct OpResult {
  OpFacts facts;
  std::vector<float> output;                        ///< dense NHWC
  std::vector<std::vector<float>> input_grads;      ///< dense NHWC; empty where none was wanted
  std::vector<std::vector<float>> parameter_grads;  ///< as the parameters
  StepRecord record;
};

OpResult run_op(Device& device, const OpCase& op_case);
/// The op on several ranks, one case each, whose GroupSums are added up.
std::vector<OpResult> run_op_on_ranks(Device& device, const std::vector<OpCase>& cases);

/// Holds the gradients of run_op against central differences of sum(output * output_grad), for every input
/// that wants a gradient and for the first `parameters` parameters.
void expect_gradients_match_differences(Device& device, OpCase op_case, std::size_t parameters, double step,
                                        double tolerance);

/// Two results hold the same bits.
void expect_same_bits(const OpResult& a, const OpResult& b, const std::string& what);

}  // namespace trireme::testing
