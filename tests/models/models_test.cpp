// SPDX-License-Identifier: Apache-2.0
#include "models/models.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "src/core/error.h"

namespace trireme {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

struct Size {
  const char* model;
  Shape image;
  std::int64_t classes, parameters;
  std::size_t tensors;  ///< with BN statistics, without their counters
};

TEST(models, have_the_published_numbers_of_parameters) {
  const Shape imagenet{224, 224, 3}, cifar{32, 32, 3};
  const Size sizes[] = {
      {"resnet18", imagenet, 1000, 11'689'512, 102},
      {"resnet34", imagenet, 1000, 21'797'672, 182},
      {"resnet50", imagenet, 1000, 25'557'032, 267},
      {"resnet101", imagenet, 1000, 44'549'160, 522},
      {"resnet152", imagenet, 1000, 60'192'808, 777},
      {"vgg16", imagenet, 1000, 138'357'544, 32},
      {"vgg16_bn", imagenet, 1000, 138'365'992, 84},
      {"resnet20", cifar, 10, 272'474, 107},
      {"lenet", cifar, 10, 62'006, 10},
      {"vgg16", cifar, 10, 14'719'818, 28},
      {"resnet110", cifar, 10, 1'730'714, 557},
  };
  for (const Size& size : sizes) {
    const Graph graph = build_model(size.model, {.image = size.image, .num_classes = size.classes});
    EXPECT_EQ(graph.num_trainable(), size.parameters) << size.model;
    EXPECT_EQ(graph.parameters().size(), size.tensors) << size.model;
    EXPECT_EQ(graph.num_classes(), size.classes);
    EXPECT_NO_THROW(graph.check_complete());
  }
}

TEST(models, all_take_grey_and_colour_at_small_and_large_sizes) {
  for (const Model& model : all_models())
    for (std::int64_t side : {28, 32, 63, 64, 96})
      for (std::int64_t channels : {1, 3}) {
        const Graph graph = model.build({.image = {side, side, channels}, .num_classes = 7});
        EXPECT_EQ(graph.num_classes(), 7);
        EXPECT_EQ(graph.image_shape(), (Shape{side, side, channels}));
        EXPECT_NO_THROW(graph.check_complete()) << model.name << side;
      }
}

std::vector<std::string> names_of(const Graph& graph) {
  std::vector<std::string> names;
  for (const Parameter& parameter : graph.parameters()) names.push_back(parameter.name);
  return names;
}

const Node& node_of(const Graph& graph, std::string_view name) {
  const auto found = std::find_if(graph.nodes().begin(), graph.nodes().end(),
                                  [&](const Node& node) { return node.name == name; });
  if (found == graph.nodes().end()) throw std::runtime_error("no node " + std::string(name));
  return *found;
}

bool has_node(const Graph& graph, std::string_view name) {
  return std::any_of(graph.nodes().begin(), graph.nodes().end(),
                     [&](const Node& node) { return node.name == name; });
}

TEST(models, resnet_names_and_order_are_torchvisions) {
  std::vector<std::string> expected = {"conv1.weight"};
  const auto norm = [&](const std::string& at) {
    for (const char* part : {".weight", ".bias", ".running_mean", ".running_var"})
      expected.push_back(at + part);
  };
  norm("bn1");
  for (int layer = 1; layer <= 4; ++layer)
    for (int block = 0; block < 2; ++block) {
      const std::string at = "layer" + std::to_string(layer) + "." + std::to_string(block) + ".";
      for (const char* index : {"1", "2"}) {
        expected.push_back(at + "conv" + index + ".weight");
        norm(at + "bn" + index);
      }
      if (layer > 1 && block == 0) {
        expected.push_back(at + "downsample.0.weight");
        norm(at + "downsample.1");
      }
    }
  expected.insert(expected.end(), {"fc.weight", "fc.bias"});
  EXPECT_EQ(names_of(build_model("resnet18", {.image = {224, 224, 3}, .num_classes = 1000})), expected);
}

TEST(models, bottlenecks_stride_in_their_3x3_convolution) {
  const Graph graph = build_model("resnet50", {.image = {224, 224, 3}, .num_classes = 1000});
  EXPECT_EQ(std::get<Conv2dOp>(node_of(graph, "layer2.0.conv1").op).stride_h, 1);
  EXPECT_EQ(std::get<Conv2dOp>(node_of(graph, "layer2.0.conv2").op).stride_h, 2);
  EXPECT_EQ(std::get<Conv2dOp>(node_of(graph, "layer2.0.downsample.0").op).stride_w, 2);
  EXPECT_TRUE(has_node(graph, "layer1.0.downsample.0")) << "64 to 256 channels";
  EXPECT_EQ(graph.value(node_of(graph, "layer4.2.relu").output).shape, (Shape{7, 7, 2048}));
}

TEST(models, small_pictures_get_a_3x3_stem_without_pool) {
  const Graph small = build_model("resnet50", {.image = {32, 32, 3}, .num_classes = 10});
  EXPECT_EQ(std::get<Conv2dOp>(node_of(small, "conv1").op).kernel_h, 3);
  EXPECT_EQ(std::get<Conv2dOp>(node_of(small, "conv1").op).stride_h, 1);
  EXPECT_FALSE(has_node(small, "maxpool"));
  EXPECT_EQ(small.value(node_of(small, "layer4.2.relu").output).shape, (Shape{4, 4, 2048}));
  const Graph large = build_model("resnet50", {.image = {64, 64, 3}, .num_classes = 10});
  EXPECT_EQ(std::get<Conv2dOp>(node_of(large, "conv1").op).kernel_h, 7);
  EXPECT_TRUE(has_node(large, "maxpool"));
}

TEST(models, vgg_names_are_torchvisions) {
  const auto plain = names_of(build_model("vgg16", {.image = {224, 224, 3}, .num_classes = 10}));
  for (const char* layer : {"0", "2", "5", "7", "10", "12", "14", "17", "19", "21", "24", "26", "28"}) {
    EXPECT_THAT(plain, Contains("features." + std::string(layer) + ".weight"));
    EXPECT_THAT(plain, Contains("features." + std::string(layer) + ".bias"));
  }
  EXPECT_THAT(std::vector<std::string>(plain.end() - 6, plain.end()),
              ElementsAre("classifier.0.weight", "classifier.0.bias", "classifier.3.weight",
                          "classifier.3.bias", "classifier.6.weight", "classifier.6.bias"));
  const auto norm = names_of(build_model("vgg16_bn", {.image = {224, 224, 3}, .num_classes = 10}));
  for (const char* layer : {"0", "3", "7", "10", "14", "17", "20", "24", "27", "30", "34", "37", "40"})
    EXPECT_THAT(norm, Contains("features." + std::string(layer) + ".bias")) << "convolutions keep their bias";
  EXPECT_THAT(norm, Contains("features.41.running_var"));
}

TEST(models, vgg_ends_in_one_linear_layer_for_small_pictures) {
  for (std::int64_t side : {8, 28, 32, 63}) {
    const Graph graph = build_model("vgg16_bn", {.image = {side, side, 1}, .num_classes = 5});
    const auto names = names_of(graph);
    EXPECT_THAT(names, Contains("classifier.weight"));
    EXPECT_THAT(names, Contains("features.40.weight"));
    EXPECT_EQ(graph.parameters().back().name, "classifier.bias");
    EXPECT_EQ(graph.parameter(static_cast<ParamId>(names.size()) - 2).shape, (Shape{5, 512}));
  }
  const Graph wide = build_model("vgg16", {.image = {32, 200, 3}, .num_classes = 5});
  EXPECT_EQ(wide.parameter(static_cast<ParamId>(wide.parameters().size()) - 2).shape, (Shape{5, 512}));
}

TEST(models, vgg_dropout_and_smoothing_are_options) {
  const Graph graph =
      build_model("vgg16", {.image = {64, 64, 3}, .num_classes = 5, .label_smoothing = 0.1, .dropout = 0.25});
  EXPECT_EQ(std::get<DropoutOp>(node_of(graph, "classifier.2").op).probability, 0.25);
  EXPECT_EQ(std::get<DropoutOp>(node_of(graph, "classifier.5").op).ordinal, 1);
  EXPECT_EQ(std::get<SoftmaxCrossEntropyOp>(node_of(graph, "loss").op).label_smoothing, 0.1);
}

TEST(models, lenet_is_sized_by_the_picture) {
  const auto features = [](std::int64_t side) {
    const Graph graph = build_model("lenet", {.image = {side, side, 1}, .num_classes = 10});
    return graph.value(node_of(graph, "flatten").output).shape[0];
  };
  EXPECT_EQ(features(32), 400);
  EXPECT_EQ(features(28), 256);
}

std::string refusal_of(std::string_view name, const ModelOptions& options) {
  try {
    build_model(name, options);
  } catch (const Error& error) {
    EXPECT_EQ(error.status(), Status::configuration);
    return error.what();
  }
  ADD_FAILURE() << "not refused";
  return "";
}

TEST(models, an_unknown_name_gets_the_nearest) {
  EXPECT_THAT(refusal_of("rsnet50", {.image = {32, 32, 3}, .num_classes = 10}),
              HasSubstr("did you mean resnet50?"));
  EXPECT_THAT(refusal_of("alexnet-xl", {.image = {32, 32, 3}, .num_classes = 10}),
              HasSubstr("models: resnet20"));
}

TEST(models, impossible_options_are_refused) {
  EXPECT_THAT(refusal_of("lenet", {.image = {12, 12, 3}, .num_classes = 10}),
              HasSubstr("'conv2' on [4,4,6]"));
  EXPECT_THAT(refusal_of("lenet", {.image = {32, 32, 3}, .num_classes = 0}), HasSubstr("0 classes"));
  EXPECT_THAT(refusal_of("lenet", {.image = {0, 32, 3}, .num_classes = 2}), HasSubstr("[0,32,3]"));
}

}  // namespace
}  // namespace trireme
