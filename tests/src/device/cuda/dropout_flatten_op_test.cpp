// SPDX-License-Identifier: Apache-2.0
#include "src/core/philox.h"
#include "tests/src/device/cuda/cuda_op_fixture.h"
#include "tests/src/device/cuda/device_bytes.h"

namespace trireme::testing {
namespace {

class DropoutFlattenOpTest : public CudaOpTest {
 protected:
  CudaCase case_of(const OpAttributes& op, const Shape& x, const Shape& y) const {
    CudaCase c;
    c.precision = GetParam();
    c.op = op;
    c.inputs = {{x, numbers(x.count(), 1)}};
    c.output_shape = y;
    c.output_grad = numbers(y.count(), 2);
    return c;
  }

  /// Ids of the samples in device memory while it lives; the last row is padding.
  struct Samples {
    explicit Samples(CudaDevice& device) : memory(device, ids.size() * sizeof(std::int64_t)) {
      memory.write(ids);
    }
    std::vector<std::int64_t> ids{5, (std::int64_t{1} << 40) + 3, -1};
    DeviceBytes memory;
  };
  CudaCase dropout_case(const Shape& shape, const Samples& samples) const {
    CudaCase c = case_of(DropoutOp{0.3, 2}, shape, shape);
    c.context.sample_ids = static_cast<const std::int64_t*>(samples.memory.data());
    c.context.valid_samples = 2;
    c.context.seed = 11;
    c.context.epoch = 7;
    return c;
  }

  /// What is kept of dense NHWC values, divided by its probability.
  static std::vector<double> dropped(const CudaCase& c, const Samples& samples,
                                     const std::vector<float>& values) {
    const Shape& shape = c.output_shape;
    const std::int64_t channels = shape[shape.rank() - 1], pixels = shape.count() / shape[0] / channels;
    std::vector<double> result(values.size());
    for (std::int64_t n = 0; n < shape[0]; ++n) {
      Philox random(c.context.seed, static_cast<std::uint16_t>(static_cast<int>(RandomStream::dropout) + 2),
                    c.context.epoch, static_cast<std::uint64_t>(samples.ids[static_cast<std::size_t>(n)]));
      for (std::int64_t channel = 0; channel < channels; ++channel)
        for (std::int64_t p = 0; p < pixels; ++p) {
          const auto i = static_cast<std::size_t>((n * pixels + p) * channels + channel);
          const bool keep = static_cast<double>(random.next_uniform()) >= 0.3;
          result[i] = keep ? static_cast<double>(values[i]) / 0.7 : 0;
        }
    }
    return result;
  }

  void expect_dropped(const std::vector<float>& actual, const std::vector<double>& expected) const {
    expect_close(actual, expected, unit() + 1e-6, "dropout");
    for (std::size_t i = 0; i < actual.size(); ++i)
      ASSERT_EQ(actual[i] == 0, expected[i] == 0) << "element " << i;
  }
};

TEST_P(DropoutFlattenOpTest, DropsTheSameElementsInBothPasses) {
  const Samples samples(device());
  for (const Shape& shape : {Shape{3, 13}, {3, 64}, {3, 4, 5, 7}})
    for (const bool in_place : {false, true}) {
      CudaCase c = dropout_case(shape, samples);
      c.in_place = in_place;
      const CudaResult result = run_op(device(), c);
      expect_dropped(result.output, dropped(c, samples, c.inputs[0].values));
      expect_dropped(result.input_grads[0], dropped(c, samples, c.output_grad));
      EXPECT_EQ(result.facts.saved_bytes, 0U);
    }
}

TEST_P(DropoutFlattenOpTest, DropoutPassesAReluOn) {
  const Samples samples(device());
  CudaCase c = dropout_case({3, 41}, samples);
  c.inputs[0].after_relu = true;
  c.inputs[0].values = numbers_after_relu(3 * 41, 1);
  CudaResult result = run_op(device(), c);
  EXPECT_TRUE(layout_of(result.facts.output).after_relu);
  c.output_grad = cut_by(result.output, c.output_grad);  // as whoever is behind makes it
  result = run_op(device(), c);
  expect_dropped(result.input_grads[0], dropped(c, samples, cut_by(c.inputs[0].values, c.output_grad)));
}

TEST_P(DropoutFlattenOpTest, DropoutIsTheIdentityInInference) {
  const Samples samples(device());
  for (const bool in_place : {false, true}) {
    CudaCase c = dropout_case({3, 13}, samples);
    c.training = false;
    c.in_place = in_place;
    EXPECT_EQ(run_op(device(), c).output, c.inputs[0].values);
  }
}

/// Dense [N,H,W,C] to [N,C*H*W], or back.
std::vector<float> flattened(const Shape& picture, const std::vector<float>& values, bool back) {
  const std::int64_t pixels = picture[1] * picture[2], channels = picture[3];
  std::vector<float> result(values.size());
  for (std::int64_t n = 0; n < picture[0]; ++n)
    for (std::int64_t p = 0; p < pixels; ++p)
      for (std::int64_t c = 0; c < channels; ++c) {
        const auto in_picture = static_cast<std::size_t>((n * pixels + p) * channels + c),
                   in_features = static_cast<std::size_t>((n * channels + c) * pixels + p);
        result[back ? in_picture : in_features] = values[back ? in_features : in_picture];
      }
  return result;
}

TEST_P(DropoutFlattenOpTest, FlattenOrdersFeaturesByChannel) {
  for (const Shape& x : {Shape{2, 3, 5, 7}, {3, 7, 7, 16}, {2, 1, 1, 24}, {3, 1, 1, 5}, {1, 6, 1, 1}})
    for (const bool over_relu : {false, true})
      for (const bool in_place : {false, true}) {
        SCOPED_TRACE(x.text());
        CudaCase c = case_of(FlattenOp{}, x, {x[0], x[1] * x[2] * x[3]});
        c.inputs[0].after_relu = over_relu;
        c.in_place = in_place;
        const CudaResult result = run_op(device(), c);
        EXPECT_EQ(result.output, flattened(x, c.inputs[0].values, false));
        EXPECT_EQ(result.input_grads[0], flattened(x, c.output_grad, true));
        EXPECT_EQ(layout_of(result.facts.output).after_relu, over_relu);
        EXPECT_EQ(result.facts.output_may_overwrite_input, x[1] * x[2] == 1);
        c.training = false;
        EXPECT_EQ(run_op(device(), c).output, result.output);
      }
}

INSTANTIATE_TEST_SUITE_P(All, DropoutFlattenOpTest, all_elements(), precision_name);

}  // namespace
}  // namespace trireme::testing
