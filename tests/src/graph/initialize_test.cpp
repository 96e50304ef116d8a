// SPDX-License-Identifier: Apache-2.0
#include "src/graph/initialize.h"

#include <gtest/gtest.h>

#include <cmath>
#include <numbers>
#include <numeric>

#include "models/models.h"
#include "src/core/philox.h"

namespace trireme {
namespace {

constexpr std::uint64_t kSeed = 42;

struct Drawn {
  explicit Drawn(const Graph& net) : graph(net), layout(net), values(layout.elements, -7.0F) {
    initialize_parameters(graph, layout, kSeed, values.data());
  }
  std::vector<float> of(std::string_view name) const {
    for (std::size_t p = 0; p < graph.parameters().size(); ++p) {
      if (graph.parameters()[p].name != name) continue;
      const auto& entry = layout.entry(static_cast<ParamId>(p));
      const auto begin = values.begin() + static_cast<std::ptrdiff_t>(entry.offset);
      return {begin, begin + static_cast<std::ptrdiff_t>(entry.count)};
    }
    ADD_FAILURE() << "no parameter " << name;
    return {};
  }
  Graph graph;
  FlatLayout layout;
  std::vector<float> values;
};

double mean_of(const std::vector<float>& v) {
  return std::accumulate(v.begin(), v.end(), 0.0) / static_cast<double>(v.size());
}
double deviation_of(const std::vector<float>& v) {
  double sum = 0;
  for (float x : v) sum += x * static_cast<double>(x);
  return std::sqrt(sum / static_cast<double>(v.size()));
}

TEST(initialize, draws_resnets_like_torchvision) {
  const Drawn drawn(build_model("resnet18", {.image = {64, 64, 3}, .num_classes = 100}));
  const auto conv = drawn.of("layer3.0.conv2.weight");  // 256 x 256 x 3 x 3
  EXPECT_NEAR(mean_of(conv), 0, 2e-4);
  EXPECT_NEAR(deviation_of(conv), std::sqrt(2.0 / (256 * 9)), 1e-4);
  EXPECT_EQ(drawn.of("layer1.0.bn1.weight"), std::vector<float>(64, 1.0F));
  EXPECT_EQ(drawn.of("layer1.0.bn1.bias"), std::vector<float>(64, 0.0F));
  EXPECT_EQ(drawn.of("layer1.0.bn1.running_mean"), std::vector<float>(64, 0.0F));
  EXPECT_EQ(drawn.of("layer1.0.bn1.running_var"), std::vector<float>(64, 1.0F));
  for (const char* name : {"fc.weight", "fc.bias"}) {
    const auto values = drawn.of(name);
    const double bound = 1 / std::sqrt(512.0);
    for (float value : values) EXPECT_LE(std::abs(value), bound);
    EXPECT_NEAR(deviation_of(values), bound / std::sqrt(3.0), 0.15 * bound) << name;
  }
}

TEST(initialize, draws_vgg_and_lenet_like_their_sources) {
  const Drawn vgg(build_model("vgg16", {.image = {32, 32, 3}, .num_classes = 100}));
  EXPECT_NEAR(deviation_of(vgg.of("features.28.weight")), std::sqrt(2.0 / (512 * 9)), 1e-4);
  EXPECT_EQ(vgg.of("features.28.bias"), std::vector<float>(512, 0.0F));
  EXPECT_NEAR(deviation_of(vgg.of("classifier.weight")), 0.01, 1e-4);
  EXPECT_EQ(vgg.of("classifier.bias"), std::vector<float>(100, 0.0F));
  const Drawn lenet(build_model("lenet", {.image = {32, 32, 3}, .num_classes = 10}));
  for (float value : lenet.of("conv1.weight")) EXPECT_LE(std::abs(value), 1 / std::sqrt(75.0));
  EXPECT_GT(deviation_of(lenet.of("conv1.bias")), 0.01);
}

// The numbers by the text of philox.h, element by element in file order.
TEST(initialize, draws_each_parameter_from_its_own_counter_in_file_order) {
  const Drawn drawn(build_model("lenet", {.image = {32, 32, 3}, .num_classes = 10}));
  const auto conv2 = drawn.of("conv2.weight");  // parameter 2, [16,5,5,6] here, [16,6,5,5] in files
  const float bound = static_cast<float>(1 / std::sqrt(150.0));
  for (std::int64_t o : {0, 7, 15})
    for (std::int64_t i : {0, 5})
      for (std::int64_t h : {0, 4})
        for (std::int64_t w : {1, 3}) {
          const std::uint32_t index = static_cast<std::uint32_t>(((o * 6 + i) * 5 + h) * 5 + w);
          const auto words = philox4x32({index / 4, 0, 2, 0}, {kSeed, 0});
          const float expected = bound * (2 * (static_cast<float>(words[index % 4] >> 8) * 0x1p-24F) - 1);
          EXPECT_EQ(conv2[static_cast<std::size_t>(((o * 5 + h) * 5 + w) * 6 + i)], expected);
        }
}

TEST(initialize, draws_normals_by_box_muller) {
  const Drawn drawn(build_model("resnet20", {.image = {32, 32, 3}, .num_classes = 10}));
  const auto conv1 = drawn.of("conv1.weight");  // parameter 0, [16,3,3,3]
  const auto words = philox4x32({0, 0, 0, 0}, {kSeed, 0});
  const double deviation = static_cast<float>(std::sqrt(2.0 / (16 * 9)));
  const double radius = std::sqrt(-2 * std::log((words[2] + 1.0) / 4294967296.0));
  const double angle = 2 * std::numbers::pi * (words[3] / 4294967296.0);
  // File elements 2 and 3 are o=0, i=0, h=0, w=2 and h=1, w=0.
  EXPECT_NEAR(conv1[2 * 3], deviation * radius * std::cos(angle), 1e-7);
  EXPECT_NEAR(conv1[3 * 3], deviation * radius * std::sin(angle), 1e-7);
}

TEST(initialize, leaves_the_gaps_alone) {
  const Drawn drawn(build_model("lenet", {.image = {32, 32, 3}, .num_classes = 10}));
  const auto& entry = drawn.layout.entries[1];  // fc3.bias, 10 elements
  EXPECT_EQ(drawn.values[entry.offset + 10], -7.0F);
}

TEST(file_order, turns_ohwi_into_oihw_and_back) {
  const Parameter weight{"w", {2, 3, 4, 5}, ParamRole::conv_weight, {}};
  EXPECT_EQ(file_shape(weight), (Shape{2, 5, 3, 4}));
  std::vector<float> flat(120), file(120), back(120);
  std::iota(flat.begin(), flat.end(), 0.0F);
  to_file_order(weight, flat.data(), file.data());
  EXPECT_EQ(file[((1 * 5 + 2) * 3 + 0) * 4 + 3], flat[((1 * 3 + 0) * 4 + 3) * 5 + 2]);
  from_file_order(weight, file.data(), back.data());
  EXPECT_EQ(back, flat);
}

TEST(file_order, leaves_other_parameters_as_they_are) {
  const Parameter weight{"w", {2, 3}, ParamRole::linear_weight, {}};
  EXPECT_EQ(file_shape(weight), weight.shape);
  const std::vector<float> flat = {1, 2, 3, 4, 5, 6};
  std::vector<float> file(6);
  to_file_order(weight, flat.data(), file.data());
  EXPECT_EQ(file, flat);
}

}  // namespace
}  // namespace trireme
