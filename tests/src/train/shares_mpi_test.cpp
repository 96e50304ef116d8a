// SPDX-License-Identifier: Apache-2.0
// What must not depend on the number of ranks: checked against a world of one made of MPI_COMM_SELF.
#include <mpi.h>

#include <cmath>

#include "models/models.h"
#include "src/device/cpu/cpu_device.h"
#include "src/graph/initialize.h"
#include "src/train/communication.h"
#include "src/train/evaluator.h"
#include "src/train/model_state.h"
#include "src/train/programs.h"
#include "src/train/run_setup.h"
#include "tests/src/train/run_fixture.h"

namespace trireme {
namespace {

constexpr std::chrono::seconds kTimeout(60);

Group alone() {
  MPI_Comm self = MPI_COMM_NULL;
  MPI_Comm_dup(MPI_COMM_SELF, &self);
  return Group(self);
}

class Shares : public RunTest {
 protected:
  Shares() : cores_(world(), read_launch_facts(), 1, kTimeout), device_(make_cpu_device({1})) {}

  CoreBinding cores_;
  std::unique_ptr<Device> device_;
};

/// Plain gradient descent on whole batches: no ranks, no buckets, no resume.
std::vector<NamedTensor> train_alone(const TrainConfig& config, const World& world, const CoreBinding& cores,
                                     Device& device) {
  RunSetup setup = set_up_run(config, world);
  setup.batches.rank = 0;
  setup.batches.ranks = 1;
  const FlatLayout layout(setup.graph);
  Communication communication({"mpi"}, alone(), {kTimeout}, cores);
  Programs programs(setup.graph, layout, device, device, {{config.global_batch}, 0, config.seed});
  initialize_parameters(setup.graph, layout, config.seed, programs.parameters());
  OptimizerOptions options;
  options.momentum = config.momentum;
  options.weight_decay = config.weight_decay;
  const auto optimizer = make_sgd(setup.graph, layout, options, device);
  const auto stream = device.make_stream();
  const auto copied = device.make_event();
  const Sampler sampler(setup.train->info().num_samples, config.seed, setup.order);
  HostMemory memory;
  Loader loader(*setup.train, sampler, Transform(setup.transform), {.rows = config.global_batch, .limit = {}},
                memory);
  Program& program = programs.train(config.global_batch);
  std::int64_t step = 0;
  for (std::uint32_t epoch = 0; step < setup.last_step; ++epoch) {
    loader.start(epoch, 0, setup.batches.steps_per_epoch(), [&](std::int64_t index) {
      return Loader::Request{setup.batches.step(index), config.global_batch};
    });
    while (const Loader::BatchPtr batch = loader.next()) {
      StepScales scales;
      scales.global_samples = config.global_batch;
      scales.epoch = epoch;
      program.load(host_batch(*batch), *stream, *copied);
      program.forward(scales, [](ParamId) {});
      program.backward(scales, [](ParamId) {});
      optimizer->step({0, layout.elements}, programs.parameters(), programs.gradients(),
                      setup.schedule.learning_rate(step++), 1);
    }
  }
  return named_tensors(setup.graph, layout, programs.parameters(), true);
}

void expect_near(const std::vector<NamedTensor>& a, const std::vector<NamedTensor>& b, double tolerance) {
  ASSERT_EQ(a.size(), b.size());
  for (std::size_t t = 0; t < a.size(); ++t) {
    ASSERT_EQ(a[t].name, b[t].name);
    double difference = 0, norm = 0;
    for (std::size_t i = 0; i < a[t].values.size(); ++i) {
      difference += std::pow(static_cast<double>(a[t].values[i]) - static_cast<double>(b[t].values[i]), 2);
      norm += std::pow(static_cast<double>(b[t].values[i]), 2);
    }
    EXPECT_LE(std::sqrt(difference), tolerance * std::sqrt(norm)) << a[t].name;
  }
}

// A net without BatchNorm: shares of a batch on R ranks give what the whole batch gives on one. fp32 sums in
// another order differ by some 1e-6 after 15 steps; a wrong weight of an uneven share differs by 1e-2.
TEST_F(Shares, RanksWithSharesEqualOneRankWithTheBatch) {
  for (const std::int64_t accumulate : {1, 3}) {
    TrainConfig config = small_run(fmt::format("accumulate-{}", accumulate));
    config.global_batch = 22;  // uneven over 3 and 4 ranks
    config.accumulate = accumulate;
    EXPECT_EQ(train(config), Status::ok);
    const Checkpoint together = newest(config);
    config.resume.clear();
    expect_near(together.parameters, train_alone(config, world(), cores_, *device_), 1e-4);
  }
}

// With statistics over all ranks a net with BatchNorm does so, too. Such nets amplify rounding, so there are
// few steps with a small rate, and one of the batches leaves shares empty. Statistics of each rank's own
// share differ by 1e-2 and more.
TEST_F(Shares, SynchronisedBatchNormEqualsOneRankWithTheBatch) {
  for (const std::int64_t batch : {22, 3}) {
    TrainConfig config = small_run(fmt::format("batch-{}", batch));
    config.data = fmt::format("synthetic:16x16x3:4:{}", 4 * batch);
    config.val.clear();
    config.model = "resnet20";
    config.sync_bn = true;
    config.global_batch = batch;
    config.epochs = 1;
    config.lr = 0.01;
    EXPECT_EQ(train(config), Status::ok);  // which compares the ranks' parameters before it saves
    expect_near(newest(config).parameters, train_alone(config, world(), cores_, *device_), 1e-4);
  }
}

EvalResult evaluate(const Dataset& data, int rank, int ranks, const Group& group, const CoreBinding& cores,
                    Device& device) {
  constexpr std::int64_t kBatch = 8;
  const Graph graph = build_model("lenet", {Shape{16, 16, 1}, 4, 0, 0});
  const FlatLayout layout(graph);
  Communication communication({"mpi"}, group, {kTimeout}, cores);
  Programs programs(graph, layout, device, device, {{}, kBatch, 0});
  initialize_parameters(graph, layout, 7, programs.parameters());
  TransformOptions transform;
  transform.image_size = 16;
  transform.channels = 1;
  transform.mean = data.info().channel_mean;
  transform.std = data.info().channel_std;
  Evaluator evaluator(data, transform, {kBatch, rank, ranks, 1, kTimeout}, device);
  const auto stream = device.make_stream();
  const bool more_than_a_batch = share_of({0, data.info().num_samples}, ranks - 1, ranks).size() > kBatch;
  const EvalResult broken_off =
      evaluator.run(programs.eval(), *stream, *communication.scalars, [&] { return rank == ranks - 1; });
  EXPECT_EQ(broken_off.incomplete, more_than_a_batch ? 1 : 0);
  const EvalResult first = evaluator.run(programs.eval(), *stream, *communication.scalars);
  EXPECT_EQ(first.incomplete, 0);
  const EvalResult second = evaluator.run(programs.eval(), *stream, *communication.scalars);
  EXPECT_EQ(first.text(), second.text());
  return first;
}

TEST_F(Shares, EvaluationGivesTheSameIntegersAtAnyRankCount) {
  for (const std::string samples : {"100", "37", "3", "1"}) {  // also fewer samples than ranks
    const auto data = open_shared_dataset("synthetic:16x16x1:4:" + samples, world(), 0, "none", kTimeout);
    const EvalResult together =
        evaluate(*data, world().rank(), world().size(), world().all(), cores_, *device_);
    const EvalResult single = evaluate(*data, 0, 1, alone(), cores_, *device_);
    EXPECT_EQ(together.total, std::stoll(samples));
    EXPECT_EQ(together.correct, single.correct);
    EXPECT_EQ(together.top5_correct, single.top5_correct);
    EXPECT_EQ(together.loss_fixed, single.loss_fixed);
    EXPECT_EQ(together.total, single.total);
  }
}

TEST_F(Shares, ARankWithOtherParametersIsNamed) {
  const auto stream = device_->make_stream();
  Communication communication({"mpi"}, world().all(), {kTimeout}, cores_);
  check_equal_over_ranks(*communication.scalars, *stream, 42, "parameters");
  const int last = world().size() - 1;
  const std::uint64_t hash = world().rank() == last ? 43 : 42;
  try {
    check_equal_over_ranks(*communication.scalars, *stream, hash, "parameters");
    EXPECT_EQ(world().size(), 1);
  } catch (const Error& error) {
    EXPECT_EQ(error.status(), Status::internal);
    EXPECT_NE(std::string(error.what()).find(fmt::format("ranks {} differ", last)), std::string::npos)
        << error.what();
  }
}

TEST_F(Shares, ShortTextsReachEveryRank) {
  const auto stream = device_->make_stream();
  Communication communication({"mpi"}, world().all(), {kTimeout}, cores_);
  const int last = world().size() - 1;
  const std::string mine = world().rank() == last ? "layer1.0.conv1" : "something else";
  EXPECT_EQ(broadcast_short_text(*communication.scalars, *stream, mine, last, "a name"), "layer1.0.conv1");
}

}  // namespace
}  // namespace trireme
