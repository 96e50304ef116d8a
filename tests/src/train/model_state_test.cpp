// SPDX-License-Identifier: Apache-2.0
#include "src/train/model_state.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "models/models.h"
#include "src/core/error.h"

namespace trireme {
namespace {

class ModelState : public testing::Test {
 protected:
  ModelState()
      : graph_(build_model("resnet20", {Shape{32, 32, 3}, 10, 0, 0})),
        layout_(graph_),
        flat_(layout_.elements) {
    for (const FlatLayout::Entry& entry : layout_.entries)
      for (std::size_t i = 0; i < entry.count; ++i) flat_[entry.offset + i] = next_ += 1;
  }
  Status status_of_fill(const std::vector<NamedTensor>& tensors, std::string* message) {
    try {
      fill_flat(graph_, layout_, tensors, true, "a.h5", flat_.data());
    } catch (const Error& error) {
      *message = error.what();
      return error.status();
    }
    return Status::ok;
  }

  Graph graph_;
  FlatLayout layout_;
  std::vector<float> flat_;
  float next_ = 0;
};

TEST_F(ModelState, GoesToNamedTensorsAndBack) {
  std::vector<NamedTensor> tensors = named_tensors(graph_, layout_, flat_.data(), true);
  ASSERT_EQ(tensors.size(), graph_.parameters().size());
  EXPECT_EQ(tensors[0].name, "conv1.weight");
  EXPECT_EQ(tensors[0].shape, (Shape{16, 3, 3, 3}));
  std::reverse(tensors.begin(), tensors.end());  // found by name
  std::vector<float> back(layout_.elements);
  fill_flat(graph_, layout_, tensors, true, "a.h5", back.data());
  EXPECT_EQ(back, flat_);
}

TEST_F(ModelState, ConvolutionsAreOihwInFiles) {
  const NamedTensor conv = named_tensors(graph_, layout_, flat_.data(), true)[0];
  const float* ohwi = flat_.data() + layout_.entry(0).offset;
  for (int o : {0, 5, 15})
    for (int i : {0, 2})
      for (int h : {0, 1, 2})
        for (int w : {0, 2})
          EXPECT_EQ(conv.values[static_cast<std::size_t>(((o * 3 + i) * 3 + h) * 3 + w)],
                    ohwi[((o * 3 + h) * 3 + w) * 3 + i]);
}

TEST_F(ModelState, OptimizerStateHasNoStatistics) {
  for (const NamedTensor& tensor : named_tensors(graph_, layout_, flat_.data(), false))
    EXPECT_EQ(tensor.name.find("running"), std::string::npos) << tensor.name;
}

TEST_F(ModelState, RefusesOtherTensors) {
  std::string message;
  std::vector<NamedTensor> tensors = named_tensors(graph_, layout_, flat_.data(), true);
  std::vector<NamedTensor> missing(tensors.begin(), tensors.end() - 1);
  EXPECT_EQ(status_of_fill(missing, &message), Status::configuration);
  EXPECT_NE(message.find(tensors.back().name), std::string::npos) << message;
  std::vector<NamedTensor> more = tensors;
  more.push_back({"fc2.weight", Shape{1}, {0}});
  EXPECT_EQ(status_of_fill(more, &message), Status::configuration);
  EXPECT_NE(message.find("fc2.weight"), std::string::npos) << message;
  std::vector<NamedTensor> bent = tensors;
  bent[0].shape = Shape{16, 3, 9, 1};
  EXPECT_EQ(status_of_fill(bent, &message), Status::configuration);
  EXPECT_NE(message.find("[16,3,9,1]"), std::string::npos) << message;
}

}  // namespace
}  // namespace trireme
