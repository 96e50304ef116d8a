// SPDX-License-Identifier: Apache-2.0
// The whole way from weights to updated weights against PyTorch: make_golden.py ran the same nets from the
// same numbers in float64 and kept losses, gradients and batch-norm statistics. How near they must be:
// - losses: 1e-3 relative for ten steps, 1e-2 to step twenty (rounding grows through ReLU and batch norm);
// - gradients of step 1, relative to the tensor's norm: norms 3e-3, entries 1e-2. PyTorch's own float32 is as
//   far from its float64: a ReLU input near zero that rounds to the other side moves a gradient at once;
// - batch-norm statistics, relative to the tensor's norm: 1e-3 after steps 1 and 10, 1e-2 after step 20.
#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>

#include "models/models.h"
#include "src/core/philox.h"
#include "src/device/cpu/cpu_device.h"
#include "src/exchange/allreduce_exchange.h"
#include "src/graph/initialize.h"
#include "src/graph/program.h"
#include "src/optim/optimizer.h"
#include "tests/golden/lone_communicator.h"

namespace trireme {
namespace {

using nlohmann::json;

json read_golden(const std::string& net) {
  std::ifstream file(std::string(TRIREME_GOLDEN_DIR) + "/" + net + ".json");
  return json::parse(file);
}

// The pictures of make_golden.py: pattern of the label plus noise, both uniform in [-1, 1).
class Pictures {
 public:
  Pictures(std::uint64_t seed, const Shape& image, std::int64_t classes, std::int64_t batch)
      : seed_(seed),
        classes_(classes),
        pixels_(image.count()),
        images_(static_cast<std::size_t>(batch * pixels_)),
        labels_(static_cast<std::size_t>(batch)),
        ids_(static_cast<std::size_t>(batch)),
        shape_(image.with_outer(batch)) {}

  HostBatch batch_of(std::int64_t step) {
    const std::int64_t rows = shape_[0];
    for (std::int64_t row = 0; row < rows; ++row) {
      const std::int64_t sample = step * rows + row;
      ids_[static_cast<std::size_t>(row)] = sample;
      labels_[static_cast<std::size_t>(row)] = static_cast<std::int32_t>(sample % classes_);
      fill(sample, images_.data() + row * pixels_);
    }
    return {{images_.data(), shape_, DType::f32}, labels_.data(), ids_.data(), rows};
  }

 private:
  static constexpr std::int64_t kPatterns = std::int64_t{1} << 40;

  void fill(std::int64_t sample, float* out) const {
    std::vector<float> noise(static_cast<std::size_t>(pixels_));
    draw(kPatterns + sample % classes_, out);
    draw(sample, noise.data());
    for (std::int64_t i = 0; i < pixels_; ++i) out[i] += noise[static_cast<std::size_t>(i)];
  }
  void draw(std::int64_t sample, float* out) const {
    const Philox random(seed_, RandomStream::synthetic, 0, static_cast<std::uint64_t>(sample));
    fill_uniform(random, 1, out, pixels_);
  }

  std::uint64_t seed_;
  std::int64_t classes_, pixels_;
  std::vector<float> images_;
  std::vector<std::int32_t> labels_;
  std::vector<std::int64_t> ids_;
  Shape shape_;
};

// The training loop of src/train without its surroundings: one rank, no loader.
class Training {
 public:
  explicit Training(const json& golden)
      : image_{golden["image"][0], golden["image"][1], golden["image"][2]},
        learning_rate_(golden["learning_rate"]),
        batch_(golden["batch"]),
        graph_(build_model(golden["net"].get<std::string>(),
                           {.image = image_, .num_classes = golden["classes"], .dropout = 0})),
        layout_(graph_),
        pictures_(golden["seed"], image_, golden["classes"], batch_),
        parameters_(device_->allocate(layout_.bytes())),
        gradients_(device_->allocate(layout_.bytes())) {
    const std::uint64_t seed = golden["seed"];
    initialize_parameters(graph_, layout_, seed, parameters());
    ProgramPlan plan(graph_, *device_, batch_, Mode::train);
    arena_ = device_->allocate(plan.arena_bytes());
    program_ = std::make_unique<Program>(
        std::move(plan), layout_, ModelMemory{parameters_.get(), gradients_.get(), arena_.get()}, seed);
    optimizer_ = make_sgd(graph_, layout_,
                          {.momentum = golden["momentum"], .weight_decay = golden["weight_decay"]}, *device_);
    exchange_ = std::make_unique<AllReduceExchange>(
        graph_, layout_, BucketPlan(graph_, layout_, std::size_t{1} << 20), communicator_, *optimizer_,
        parameters(), gradients(), *stream_, AllReduceExchangeOptions{});
  }

  const Graph& graph() const { return graph_; }

  /// Mean loss of the batch.
  double step() {
    const StepScales scales{.global_samples = batch_};
    program_->load(pictures_.batch_of(steps_++), *stream_, *loaded_);
    loaded_->synchronize();
    program_->zero_record();
    program_->forward(scales, [&](ParamId p) { exchange_->parameter_needed(p); });
    program_->backward(scales, [&](ParamId p) { exchange_->gradient_ready(p); });
    exchange_->finish_step(learning_rate_);
    exchange_->settle();
    return program_->read_record().loss_sum / static_cast<double>(batch_);
  }

  std::vector<float> gradient_in_file_order(ParamId p) const { return in_file_order(p, gradients()); }
  std::vector<float> value_in_file_order(ParamId p) const { return in_file_order(p, parameters()); }

 private:
  float* parameters() const { return static_cast<float*>(parameters_->data()); }
  float* gradients() const { return static_cast<float*>(gradients_->data()); }
  std::vector<float> in_file_order(ParamId p, const float* buffer) const {
    std::vector<float> values(layout_.entry(p).count);
    to_file_order(graph_.parameter(p), buffer + layout_.entry(p).offset, values.data());
    return values;
  }

  Shape image_;
  double learning_rate_;
  std::int64_t batch_, steps_ = 0;
  std::unique_ptr<Device> device_ = make_cpu_device({.threads = 1});
  std::unique_ptr<Stream> stream_ = device_->make_stream();
  std::unique_ptr<Event> loaded_ = device_->make_event();
  Graph graph_;
  FlatLayout layout_;
  Pictures pictures_;
  std::unique_ptr<Buffer> parameters_, gradients_, arena_;
  std::unique_ptr<Program> program_;
  LoneCommunicator communicator_;
  std::unique_ptr<Optimizer> optimizer_;
  std::unique_ptr<AllReduceExchange> exchange_;
};

double norm_of(const std::vector<float>& values) {
  double sum = 0;
  for (const float v : values) sum += static_cast<double>(v) * v;
  return std::sqrt(sum);
}

// Absolute, of a tensor's norm and of each kept entry.
struct Tolerance {
  double norm, entry;
};

void expect_tensor_near(const std::vector<float>& found, const json& expected, Tolerance tolerance,
                        const std::string& what) {
  EXPECT_NEAR(norm_of(found), expected["norm"].get<double>(), tolerance.norm) << what << ", norm";
  const json &index = expected["index"], &value = expected["value"];
  ASSERT_GT(index.size(), 0U) << what;
  for (std::size_t i = 0; i < index.size(); ++i)
    ASSERT_NEAR(found.at(index[i]), value[i].get<double>(), tolerance.entry)
        << what << "[" << index[i] << "]";
}

void expect_gradients(const Training& training, const json& expected) {
  double largest = 0;
  for (const json& tensor : expected) largest = std::max(largest, tensor["norm"].get<double>());
  std::size_t compared = 0;
  for (std::size_t p = 0; p < training.graph().parameters().size(); ++p) {
    const Parameter& parameter = training.graph().parameters()[p];
    if (parameter.is_statistic()) continue;
    ASSERT_TRUE(expected.contains(parameter.name)) << parameter.name;
    const json& tensor = expected[parameter.name];
    // Biases before a batch norm have gradients that are rounding alone: hence the largest tensor's share.
    const double norm = tensor["norm"], rounding = 1e-5 * largest;
    expect_tensor_near(training.gradient_in_file_order(static_cast<ParamId>(p)), tensor,
                       {3e-3 * norm + rounding, 1e-2 * norm + rounding}, "gradient of " + parameter.name);
    ++compared;
  }
  EXPECT_EQ(compared, expected.size());
}

void expect_statistics(const Training& training, const json& expected, double tolerance) {
  std::size_t compared = 0;
  for (std::size_t p = 0; p < training.graph().parameters().size(); ++p) {
    const Parameter& parameter = training.graph().parameters()[p];
    if (!parameter.is_statistic()) continue;
    ASSERT_TRUE(expected.contains(parameter.name)) << parameter.name;
    const json& tensor = expected[parameter.name];
    const double norm = tensor["norm"];
    expect_tensor_near(training.value_in_file_order(static_cast<ParamId>(p)), tensor,
                       {tolerance * norm, tolerance * norm}, parameter.name);
    ++compared;
  }
  EXPECT_EQ(compared, expected.size());
}

class Golden : public testing::TestWithParam<const char*> {};

TEST_P(Golden, TwentyStepsFollowPyTorch) {
  const json golden = read_golden(GetParam());
  Training training(golden);
  EXPECT_EQ(training.graph().num_trainable(), golden["parameters"].get<std::int64_t>());
  const json& losses = golden["losses"];
  ASSERT_EQ(losses.size(), 20U);
  for (std::size_t step = 1; step <= losses.size(); ++step) {
    const double loss = training.step();
    const double expected = losses[step - 1];
    const double tolerance = step <= 10 ? 1e-3 : 1e-2;
    EXPECT_NEAR(loss, expected, tolerance * expected) << "loss of step " << step;
    const std::string key = std::to_string(step);
    if (!golden["steps"].contains(key)) continue;
    if (step == 1) expect_gradients(training, golden["steps"][key]["gradients"]);
    expect_statistics(training, golden["steps"][key]["statistics"], tolerance);
  }
}

INSTANTIATE_TEST_SUITE_P(Nets, Golden, testing::Values("lenet", "resnet20", "vgg16_bn"),
                         [](const auto& param_info) { return std::string(param_info.param); });

}  // namespace
}  // namespace trireme
