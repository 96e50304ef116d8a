// SPDX-License-Identifier: Apache-2.0
// Whole programs on the cpu device against the device of plain loops: blocked layouts, fusions, gradients
// that are aliased or overwritten, all at once.
#include <gtest/gtest.h>

#include <cmath>

#include "models/models.h"
#include "src/device/cpu/cpu_device.h"
#include "tests/src/graph/naive_device.h"
#include "tests/src/graph/net.h"
#include "tests/src/graph/small_nets.h"

namespace trireme::testing {
namespace {

constexpr std::int64_t kBatch = 4;

double norm(const float* values, std::size_t count) {
  double sum = 0;
  for (std::size_t i = 0; i < count; ++i) sum += static_cast<double>(values[i]) * values[i];
  return std::sqrt(sum);
}

// Relative to the tensor's norm; tensors whose gradient vanishes (a bias before batch norm) against `floor`.
void expect_close(const Net& net, const std::vector<float>& actual, const std::vector<float>& expected,
                  double tolerance, double floor) {
  for (const FlatLayout::Entry& entry : net.layout.entries) {
    std::vector<float> difference(entry.count);
    for (std::size_t i = 0; i < entry.count; ++i)
      difference[i] = actual[entry.offset + i] - expected[entry.offset + i];
    EXPECT_LE(norm(difference.data(), entry.count),
              tolerance * std::max(floor, norm(expected.data() + entry.offset, entry.count)))
        << net.graph.parameter(entry.parameter).name;
  }
}

void expect_devices_agree(const Graph& graph, double tolerance) {
  NaiveDevice naive;
  const auto cpu = make_cpu_device({.threads = 1});
  Net reference(graph, naive, kBatch), net(graph, *cpu, kBatch);
  TestBatch batch(graph, kBatch, kBatch);
  const std::vector<float> expected = reference.step(batch);
  const std::vector<float> first = net.step(batch), second = net.step(batch);
  EXPECT_EQ(first, second) << "a step repeats to the bit";
  expect_close(net, first, expected, tolerance, 1e-2);
  EXPECT_NEAR(net.loss(batch), reference.loss(batch), 1e-5);

  Net reference_eval(graph, naive, kBatch, Mode::eval), eval(graph, *cpu, kBatch, Mode::eval);
  EXPECT_NEAR(eval.loss(batch), reference_eval.loss(batch), 1e-5);
  const std::vector<float> logits = eval.program->read_logits(),
                           wanted = reference_eval.program->read_logits();
  ASSERT_EQ(logits.size(), wanted.size());
  for (std::size_t i = 0; i < logits.size(); ++i) EXPECT_NEAR(logits[i], wanted[i], 1e-4) << i;
  EXPECT_EQ(net.program->find_non_finite(Net::scales(batch)), std::nullopt);
}

class SmallNetOnCpu : public ::testing::TestWithParam<SmallNet> {};

TEST_P(SmallNetOnCpu, agrees_with_plain_loops) {
  expect_devices_agree(GetParam().build(), 1e-4);
}

INSTANTIATE_TEST_SUITE_P(graphs, SmallNetOnCpu, ::testing::ValuesIn(small_nets()),
                         [](const auto& net) { return net.param.name; });

TEST(program_on_cpu, lenet_agrees_with_plain_loops) {
  expect_devices_agree(build_model("lenet", {.image = {28, 28, 1}, .num_classes = 10}), 1e-4);
}

TEST(program_on_cpu, resnet20_agrees_with_plain_loops) {
  expect_devices_agree(
      build_model("resnet20", {.image = {8, 8, 3}, .num_classes = 10, .label_smoothing = 0.1}), 2e-3);
}

TEST(program_on_cpu, micro_batches_and_empty_shares_accumulate) {
  const Graph graph = build_model("lenet", {.image = {28, 28, 1}, .num_classes = 10});
  const auto cpu = make_cpu_device({.threads = 1});
  Net whole(graph, *cpu, 4), half(graph, *cpu, 2);
  TestBatch all(graph, 4, 4), head(graph, 2, 2), tail(graph, 2, 2), none(graph, 2, 0);
  std::copy_n(all.images.begin(), head.images.size(), head.images.begin());
  std::copy(all.images.begin() + static_cast<std::ptrdiff_t>(head.images.size()), all.images.end(),
            tail.images.begin());
  std::copy(all.labels.begin() + 2, all.labels.end(), tail.labels.begin());
  const std::vector<float> expected = whole.step(all);
  bool accumulate = false;
  for (TestBatch* batch : {&none, &head, &none, &tail}) {
    const StepScales scales{.global_samples = 4, .accumulate = accumulate};
    half.load(*batch);
    half.program->forward(scales, {});
    half.program->backward(scales, {});
    accumulate = true;
  }
  expect_close(half, half.gradient_copy(), expected, 1e-4, 1e-2);
}

TEST(program_on_cpu, padding_rows_count_for_nothing) {
  const Graph graph = build_model("lenet", {.image = {28, 28, 1}, .num_classes = 10});
  const auto cpu = make_cpu_device({.threads = 1});
  Net padded(graph, *cpu, 5), exact(graph, *cpu, 3);
  TestBatch five(graph, 5, 3), three(graph, 3, 3);
  std::copy(three.images.begin(), three.images.end(), five.images.begin());
  const std::vector<float> expected = exact.step(three);
  expect_close(exact, padded.step(five), expected, 1e-4, 1e-2);
  EXPECT_EQ(padded.program->read_record().samples, 3);
}

}  // namespace
}  // namespace trireme::testing
