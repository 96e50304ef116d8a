// SPDX-License-Identifier: Apache-2.0
#include "src/cli/bench_layers.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "src/cli/bench_layers_case.h"
#include "src/cli/bench_layers_report.h"
#include "src/cli/bench_train.h"
#include "src/cli/bench_train_network.h"
#include "src/device/cpu/cpu_device.h"

namespace trireme {
namespace {

using ::testing::HasSubstr;

TEST(BenchLayers, EachKindOfLayerIsThereOnce) {
  const std::vector<BenchLayer> layers = bench_layers(bench_network("resnet20", 32, 10), "");
  int all = 0;
  for (const BenchLayer& layer : layers) all += layer.count;
  EXPECT_EQ(all, 22);  // 19 convolutions, two of shortcuts, one linear layer
  EXPECT_LT(layers.size(), 12U);
  EXPECT_EQ(layers.front().name, "conv1");
  EXPECT_FALSE(layers.front().has_input_gradient);
  EXPECT_TRUE(layers.front().feeds_batch_norm);
  EXPECT_EQ(layers.front().weights(), 16 * 3 * 3 * 3);
  EXPECT_EQ(layers.front().flops(), 2.0 * 32 * 32 * 16 * 27);
  EXPECT_EQ(layers.back().text(), "64 to 10");
  EXPECT_TRUE(layers.back().has_input_gradient);
}

TEST(BenchLayers, NamesChooseLayers) {
  const Graph graph = bench_network("vgg16", 32, 10);
  EXPECT_EQ(bench_layers(graph, "features.0").size(), 1U);
  EXPECT_THROW(bench_layers(graph, "layer9"), Error);
}

TEST(BenchLayers, NumbersAreExactInEveryPrecision) {
  for (const float number : exact_numbers(1000, 5)) {
    EXPECT_LE(std::abs(number), 1);
    EXPECT_EQ(number * 64, std::round(number * 64));
  }
}

/// A layer in two batches: what a repeated picture gives does not depend on how many there are.
TEST(BenchLayers, ALargeCaseRepeatsTheSmallOne) {
  const auto device = make_cpu_device({});
  const BenchLayer layer = bench_layers(bench_network("lenet", 32, 10), "conv2").front();
  LayerCase small(*device, layer, 1), large(*device, layer, 3);
  small.fill_parameters(exact_numbers(layer.weights(), 1), exact_numbers(16, 2));
  small.fill_values(exact_numbers(layer.input.count(), 3), exact_numbers(layer.output.count(), 4));
  large.fill_values(small);
  for (LayerCase* one : {&small, &large}) {
    one->forward();
    one->backward(true);
  }
  const LayerResults a = small.results(), b = large.results();
  ASSERT_EQ(b.y.size(), 3 * a.y.size());
  for (std::size_t i = 0; i < b.y.size(); ++i) EXPECT_NEAR(b.y[i], a.y[i % a.y.size()], 1e-4);
  for (std::size_t i = 0; i < a.dweights.size(); ++i) EXPECT_NEAR(b.dweights[i], 3 * a.dweights[i], 1e-3);
  EXPECT_EQ(b.dx.size(), 3 * a.dx.size());
}

LayersReport some_report() {
  LayersReport report;
  report.model = "lenet";
  report.ceilings = {100e12, 1e12};
  LayerRow row;
  row.layer = bench_layers(bench_network("lenet", 32, 10), "fc1").front();
  row.layer.count = 2;
  row.pass = "forward";
  row.flops = 1e9;  // 10 us at the ceiling
  row.bytes = 2e7;  // 20 us
  row.native = 40e-6;
  row.cudnn = 30e-6;
  report.rows = {row};
  return report;
}

TEST(BenchLayers, RowsSayTheShareOfTheCeiling) {
  const LayersReport report = some_report();
  EXPECT_DOUBLE_EQ(report.ceilings.seconds(1e9, 2e7), 20e-6);
  const std::string row = layers_row(report.rows[0], report.ceilings);
  EXPECT_THAT(row, HasSubstr("0.040"));
  EXPECT_THAT(row, HasSubstr("25.0"));  // TFLOP/s
  EXPECT_THAT(row, HasSubstr("50 %"));
  const Json json = layers_json(report);
  EXPECT_DOUBLE_EQ(json["native_ms"], 0.08);
  EXPECT_DOUBLE_EQ(json["best_ms"], 0.06);
  EXPECT_DOUBLE_EQ(json["ceiling_ms"], 0.04);
}

TEST(BenchLayers, WithoutCudnnItsSumIsMissing) {
  LayersReport report = some_report();
  report.rows[0].cudnn.reset();
  report.rows[0].wrong = "native: y is off";
  EXPECT_TRUE(layers_json(report)["cudnn_ms"].is_null());
  EXPECT_THAT(layers_footing(report), HasSubstr("cuDNN - ms"));
  EXPECT_THAT(layers_row(report.rows[0], report.ceilings), HasSubstr("WRONG: native"));
}

TEST(BenchLayers, CommandLinesAreRead) {
  const LayersBenchConfig layers =
      read_layers_bench({"--model", "vgg16", "-b", "32", "--peak-tflops", "312"});
  EXPECT_EQ(layers.model, "vgg16");
  EXPECT_EQ(layers.batch, 32);
  EXPECT_EQ(layers.peak_teraflops, 312);
  EXPECT_THROW(read_layers_bench({"vgg16"}), Error);
  const TrainBenchConfig train = read_train_bench({"--cuda-graph", "--steps", "7", "--precision", "fp16"});
  EXPECT_TRUE(train.cuda_graph);
  EXPECT_EQ(train.steps, 7);
  EXPECT_THROW(read_train_bench({"--model", "resnet51"}), Error);
}

}  // namespace
}  // namespace trireme
