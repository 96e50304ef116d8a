// SPDX-License-Identifier: Apache-2.0
// The convolution op by cuDNN: which passes it gets, and that they give what ours give.
#include <gtest/gtest.h>

#include "src/core/error.h"
#include "tests/src/device/cuda/cuda_op_harness.h"
#include "tests/src/device/cuda/cudnn_fake.h"
#include "tests/support/numbers.h"

namespace trireme::testing {
namespace {

class CudnnConv2dOpTest : public ::testing::TestWithParam<Precision> {
 protected:
  CudnnConv2dOpTest() { options_.precision = GetParam(); }

  std::unique_ptr<CudaDevice> device_with(Engine engine, const CudnnApi* cudnn) {
    options_.engine = engine;
    return make_cuda_device(options_, cudnn, "no cuDNN here");
  }
  CudaCase conv_case(const Conv2dOp& op, std::int64_t in_channels) const {
    const auto numbers = [&](std::int64_t count, std::uint32_t seed) {
      return rounded(random_values<float>(count, seed), element_of(GetParam()));
    };
    CudaCase c;
    c.precision = GetParam();
    c.op = op;
    c.inputs = {{{2, 6, 6, in_channels}, numbers(72 * in_channels, 1)}};
    c.output_shape = {2, 6, 6, op.out_channels};
    c.parameters = {numbers(op.out_channels * 9 * in_channels, 2), random_values<float>(op.out_channels, 3)};
    c.output_grad = numbers(c.output_shape.count(), 4);
    return c;
  }
  void expect_equal(const CudaCase& c, const CudaResult& a, const CudaResult& b) const {
    const double tolerance = 2 * unit_of(GetParam()) + 1e-5;
    expect_close(a.output, b.output, tolerance, "output");
    expect_close(a.input_grads[0], b.input_grads[0], tolerance, "input gradient");
    for (std::size_t p = 0; p < c.parameters.size(); ++p)
      expect_close(a.parameter_grads[p], b.parameter_grads[p], tolerance, "parameter " + std::to_string(p));
  }

  CudaDeviceOptions options_;
};

Conv2dOp convolution(std::int64_t out_channels) {
  return {.out_channels = out_channels,
          .kernel_h = 3,
          .kernel_w = 3,
          .pad_h = 1,
          .pad_w = 1,
          .bias = true,
          .relu = true};
}

TEST_P(CudnnConv2dOpTest, GivesWhatOurKernelsGive) {
  CudaCase c = conv_case(convolution(16), 8);
  c.inputs[0].after_relu = true;
  for (float& x : c.inputs[0].values) x = std::max(x, 0.0F);
  c.addend = Addend::apart;
  c.input_grad_addend = rounded(random_values<float>(576, 5), element_of(GetParam()));
  const auto native = device_with(Engine::native, nullptr);
  const auto cudnn = device_with(Engine::cudnn, &test::fake_cudnn());
  const test::FakeCudnnCalls before = test::fake_cudnn_calls();
  const CudaResult by_cudnn = run_op(*cudnn, c);
  EXPECT_EQ(test::fake_cudnn_calls().forward, before.forward + 1);
  EXPECT_EQ(test::fake_cudnn_calls().backward_data, before.backward_data + 1);
  EXPECT_EQ(test::fake_cudnn_calls().backward_filter, before.backward_filter + 1);
  expect_equal(c, by_cudnn, run_op(*native, c));
}

TEST_P(CudnnConv2dOpTest, PaddedChannelsStayWithOurKernels) {
  const CudaCase c = conv_case(convolution(13), 5);
  const auto native = device_with(Engine::native, nullptr);
  const auto cudnn = device_with(Engine::cudnn, &test::fake_cudnn());
  const int before = test::fake_cudnn_calls().forward;
  expect_same_bits(run_op(*cudnn, c), run_op(*native, c), "padded channels");
  EXPECT_EQ(test::fake_cudnn_calls().forward, before);
}

TEST_P(CudnnConv2dOpTest, LeavesNoStatisticsBesideTheOutput) {
  CudaCase c = conv_case({.out_channels = 16, .kernel_h = 3, .kernel_w = 3, .pad_h = 1, .pad_w = 1}, 8);
  c.parameters.resize(1);
  c.feeds_batch_norm = true;
  const auto cudnn = device_with(Engine::cudnn, &test::fake_cudnn());
  EXPECT_EQ(run_op(*cudnn, c).facts.output.side_bytes, 0U);
}

TEST_P(CudnnConv2dOpTest, AutomaticKeepsItsChoices) {
  const CudaCase c = conv_case(convolution(16), 8);
  std::string choices;
  {
    const auto device = device_with(Engine::automatic, &test::fake_cudnn());
    expect_equal(c, run_op(*device, c), run_op(*device_with(Engine::native, nullptr), c));
    choices = device->engine_choices();
    EXPECT_NE(choices.find('='), std::string::npos) << choices;
  }
  options_.engine_choices = choices;
  const auto again = device_with(Engine::automatic, &test::fake_cudnn());
  run_op(*again, c);
  EXPECT_EQ(again->engine_choices(), choices);
}

TEST_P(CudnnConv2dOpTest, WhereItIsNotThereTheReasonIsSaid) {
  try {
    device_with(Engine::cudnn, nullptr);
    FAIL() << "there is no cuDNN";
  } catch (const Error& error) {
    EXPECT_EQ(error.status(), Status::configuration);
    EXPECT_NE(std::string(error.what()).find("no cuDNN here"), std::string::npos) << error.what();
  }
  EXPECT_NE(device_with(Engine::automatic, nullptr), nullptr);
}

INSTANTIATE_TEST_SUITE_P(All, CudnnConv2dOpTest,
                         ::testing::Values(Precision::fp32, Precision::tf32, Precision::bf16,
                                           Precision::fp16),
                         [](const auto& tested) { return text_of(tested.param); });

}  // namespace
}  // namespace trireme::testing
