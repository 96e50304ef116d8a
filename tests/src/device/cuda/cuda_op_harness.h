// SPDX-License-Identifier: Apache-2.0
// Runs one op of the CUDA device on dense numbers, in memory as hostile as an arena's: allocations are exact,
// outputs, saved values and scratch hold NaN, and what the plan does not ask to keep is overwritten between
// the passes. Under the emulator, accesses outside of an allocation end the launch.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "src/device/cuda/cuda_device.h"
#include "src/device/cuda/cuda_layout.h"

namespace trireme::testing {

std::unique_ptr<CudaDevice> make_test_device(Precision precision);
/// "bf16", for names of tests.
std::string text_of(Precision precision);
/// Of activations.
DType element_of(Precision precision);
/// What holds a number of activations, or of products, to about: half a unit in the last place.
double unit_of(Precision precision);
/// The nearest numbers that activations can have.
std::vector<float> rounded(std::vector<float> values, DType element);

struct CudaInput {
  Shape shape;
  std::vector<float> values;  ///< dense; rounded by whoever compares
  bool wants_gradient = true;
  bool after_relu = false;
  std::int64_t pitch = 0;  ///< 0: the usual one
  /// Where set: the value as another op has left it, with what is beside it; `values` are not read then.
  std::optional<ValueSpec> spec = {};
  std::vector<std::byte> bytes = {};
};

enum class Addend { none, apart, in_place };

struct CudaCase {
  Precision precision = Precision::fp32;  ///< of the device
  OpAttributes op;
  std::vector<CudaInput> inputs;
  Shape output_shape;
  std::vector<std::vector<float>> parameters = {};
  std::vector<float> output_grad = {};  ///< dense
  bool training = true;
  bool feeds_batch_norm = false, feeds_convolutions = false;
  bool in_place = false;  ///< share memory of gradients (and in inference of values) where the facts allow
  std::vector<std::vector<float>> prior_gradients = {};  ///< where not empty: backward accumulates
  Addend addend = Addend::none;
  std::vector<float> input_grad_addend = {};  ///< dense
  RunContext context = {};                    ///< valid_samples 0 means the whole batch
  /// Passes are recorded with other numbers of the step than they run with.
  bool recorded = false;
  InputFormat input_format = {};
};

struct CudaResult {
  OpFacts facts;
  std::vector<float> output;  ///< dense
  std::vector<std::byte> output_bytes;
  std::vector<std::vector<float>> input_grads;  ///< dense; empty where none was wanted
  std::vector<std::vector<float>> parameter_grads;
  StepRecord record;
};

/// Holds pads of output and gradients against zero besides.
CudaResult run_op(CudaDevice& device, const CudaCase& op_case);
/// The op on several ranks, one case each, whose GroupSums are added up.
std::vector<CudaResult> run_op_on_ranks(CudaDevice& device, const std::vector<CudaCase>& cases);

/// Dense numbers as `spec` lays them out, pads zero; without what lies beside them.
std::vector<std::byte> laid_out(const ValueSpec& spec, const std::vector<float>& values);

void expect_same_bits(const CudaResult& a, const CudaResult& b, const std::string& what);

}  // namespace trireme::testing
