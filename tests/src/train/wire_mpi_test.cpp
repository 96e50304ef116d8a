// SPDX-License-Identifier: Apache-2.0
// Runs on a narrow wire: what it owes is part of the run's state.
#include <numeric>

#include "tests/src/train/run_fixture.h"

namespace trireme {
namespace {

class WireRun : public RunTest {
 protected:
  TrainConfig narrow_run(const std::string& output, const std::string& wire = "bf16") const {
    TrainConfig config = small_run(output);
    config.comm = "ring";
    config.wire = wire;
    return config;
  }
  std::string newest_file(const TrainConfig& config) const {
    world().all().barrier(std::chrono::seconds(60), "rank 0 to have saved");
    return resolve_checkpoint(config.output, false);
  }
  std::vector<std::vector<float>> residual_of(const std::string& file, std::int64_t rank) const {
    std::vector<std::vector<float>> values;
    for (const NamedTensor& tensor : read_residual(file, rank)) values.push_back(tensor.values);
    return values;
  }
  static double sum_of_squares(const std::vector<std::vector<float>>& tensors) {
    double sum = 0;
    for (const std::vector<float>& values : tensors)
      sum = std::inner_product(values.begin(), values.end(), values.begin(), sum);
    return sum;
  }
};

TEST_F(WireRun, ResumedEqualsUninterruptedResidualsIncluded) {
  for (const char* const wire : {"bf16", "fp16"}) {
    const TrainConfig whole = narrow_run(std::string("whole-") + wire, wire);
    TrainConfig parts = narrow_run(std::string("parts-") + wire, wire);
    EXPECT_EQ(train(whole), Status::ok);
    parts.steps = 7;
    EXPECT_EQ(train(parts), Status::ok);
    parts.steps = 0;
    parts.resume = "auto";
    EXPECT_EQ(train(parts), Status::ok);
    EXPECT_EQ(digest_of(newest(whole).parameters), digest_of(newest(parts).parameters));
    EXPECT_EQ(newest(parts).residual_ranks, world().size());
    for (std::int64_t rank = 0; rank < world().size(); ++rank) {
      const auto owed = residual_of(newest_file(whole), rank);
      EXPECT_EQ(owed, residual_of(newest_file(parts), rank));
      EXPECT_GT(sum_of_squares(owed), 0);
      if (rank > 0) {
        EXPECT_NE(owed, residual_of(newest_file(whole), 0));
      }
    }
  }
}

TEST_F(WireRun, RoundsGradients) {
  EXPECT_EQ(train(narrow_run("narrow")), Status::ok);
  EXPECT_EQ(train(narrow_run("plain", "fp32")), Status::ok);
  EXPECT_NE(digest_of(newest(narrow_run("narrow")).parameters),
            digest_of(newest(narrow_run("plain")).parameters));
  EXPECT_FALSE(newest(narrow_run("plain")).residual_ranks.has_value());
}

TEST_F(WireRun, AtAnotherNumberOfRanksTheSumGoesToRankZero) {
  TrainConfig config = narrow_run("run");
  EXPECT_EQ(train(config), Status::ok);
  // A checkpoint of more ranks than these, who owe multiples of what rank 0 owed: the sum is exact.
  const std::string file = newest_file(config), crafted = path("crafted.h5");
  Checkpoint state = read_checkpoint(file);
  const std::vector<NamedTensor> owed = read_residual(file, 0);
  const int more = world().size() + 1;
  state.residual_ranks = more;
  const auto multiple = [&](std::int64_t factor) {
    std::vector<NamedTensor> tensors = owed;
    for (NamedTensor& tensor : tensors)
      for (float& value : tensor.values) value *= static_cast<float>(factor);
    return tensors;
  };
  if (world().rank() == 0)
    write_checkpoint(crafted, state, [&](std::int64_t rank) { return multiple(std::int64_t{1} << rank); });
  world().all().barrier(std::chrono::seconds(60), "the crafted checkpoint");

  config.output = path("other");
  config.resume = crafted;  // it is at its last step: saved again, unchanged
  EXPECT_EQ(train(config), Status::ok);
  const std::string saved = newest_file(config);
  EXPECT_EQ(newest(config).residual_ranks, world().size());
  std::vector<std::vector<float>> expected;
  for (const NamedTensor& tensor : multiple((std::int64_t{1} << more) - 1)) expected.push_back(tensor.values);
  EXPECT_EQ(residual_of(saved, 0), expected);
  for (std::int64_t rank = 1; rank < world().size(); ++rank)
    EXPECT_EQ(sum_of_squares(residual_of(saved, rank)), 0);
}

TEST_F(WireRun, TheWireMayChangeOnResuming) {
  TrainConfig config = narrow_run("run", "fp32");
  config.resume = "auto";
  for (const auto& [wire, steps] : {std::pair("fp32", 4), {"fp16", 7}, {"bf16", 9}, {"fp32", 12}}) {
    config.wire = wire;
    config.steps = steps;
    EXPECT_EQ(train(config), Status::ok);
    EXPECT_EQ(newest(config).position.step, steps);
    EXPECT_EQ(newest(config).residual_ranks.has_value(), config.wire != "fp32");
  }
}

TEST_F(WireRun, WorksWithBatchNormAccumulationClippingAndWithoutTheGuard) {
  TrainConfig config = narrow_run("run");
  config.model = "resnet20";
  config.data = "synthetic:8x8x3:4:48";
  config.val = "synthetic:8x8x3:4:9";
  config.accumulate = 2;
  config.clip_norm = 0.5;
  config.epochs = 2;
  config.nan_guard = false;
  config.bucket_mb = 0.1;
  EXPECT_EQ(train(config), Status::ok);  // equality over ranks is checked at every evaluation and checkpoint
  for (const NamedTensor& tensor : newest(config).parameters)
    for (const float value : tensor.values) ASSERT_TRUE(std::isfinite(value)) << tensor.name;
}

TEST_F(WireRun, ACommunicatorThatDoesNotSumItIsRefusedBeforeAnythingIsMade) {
  TrainConfig config = narrow_run("run");
  config.comm = "mpi";
  try {
    train(config);
    ADD_FAILURE() << "trained";
  } catch (const Error& error) {
    EXPECT_EQ(error.status(), Status::configuration);
    EXPECT_NE(std::string(error.what()).find("--wire fp32"), std::string::npos) << error.what();
  }
  EXPECT_FALSE(std::filesystem::exists(config.output));
}

TEST_F(WireRun, AutoChoosesACommunicatorThatSumsIt) {
  TrainConfig config = narrow_run("run");
  config.comm = "auto";
  config.steps = 2;
  EXPECT_EQ(train(config), Status::ok);
  EXPECT_TRUE(newest(config).residual_ranks.has_value());
}

}  // namespace
}  // namespace trireme
