// SPDX-License-Identifier: Apache-2.0
// Whole programs on the CUDA device against the device of plain loops: marks of ReLUs, fusions, gradients
// that are aliased, added or overwritten, all at once.
#include <gtest/gtest.h>

#include <cmath>

#include "kernels/simt/emulator/stream.h"
#include "models/models.h"
#include "src/device/cuda/cuda_check.h"
#include "tests/src/device/cuda/cuda_op_fixture.h"
#include "tests/src/graph/naive_device.h"
#include "tests/src/graph/net.h"
#include "tests/src/graph/small_nets.h"

namespace trireme::testing {
namespace {

constexpr std::int64_t kBatch = 4;

/// A graph on the CUDA device with the weights of `Net`.
class CudaNet {
 public:
  CudaNet(const Graph& graph, CudaDevice& device, Mode mode) : device_(device), layout_(graph) {
    ProgramPlan plan(graph, device, kBatch, mode);
    parameters_ = device.allocate(layout_.bytes());
    gradients_ = device.allocate(layout_.bytes());
    arena_ = device.allocate(plan.arena_bytes());
    std::vector<float> weights(layout_.elements);
    initialize_parameters(graph, layout_, kSeed, weights.data());
    copy(*parameters_, weights.data(), cudaMemcpyHostToDevice);
    program_ = std::make_unique<Program>(
        std::move(plan), layout_, ModelMemory{parameters_.get(), gradients_.get(), arena_.get()}, kSeed);
  }

  double loss(TestBatch& batch) {
    program_->zero_record();
    forward(batch);
    const StepRecord record = program_->read_record();
    return record.loss_sum / static_cast<double>(record.samples);
  }
  /// Gradients of a step in an arena of NaN, without the loss scale.
  std::vector<float> step(TestBatch& batch) {
    for (Buffer* memory : {arena_.get(), gradients_.get()})
      check_cuda(cudaMemset(memory->data(), 0xFF, memory->bytes()), "cudaMemset");
    check_cuda(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
    forward(batch);
    program_->backward(Net::scales(batch), {});
    device_.compute_stream().synchronize();
    std::vector<float> all(layout_.elements), gradients(layout_.elements);
    copy(*gradients_, all.data(), cudaMemcpyDeviceToHost);
    for (const FlatLayout::Entry& entry : layout_.entries)  // nobody writes the gaps between them
      std::copy_n(all.data() + entry.offset, entry.count, gradients.data() + entry.offset);
    return gradients;
  }
  std::vector<float> logits() { return program_->read_logits(); }
  /// The sum of the gradients of all batches; the host waits only at the end.
  std::vector<float> accumulate(std::vector<TestBatch>& batches) {
    for (std::size_t i = 0; i < batches.size(); ++i) {
      StepScales scales = Net::scales(batches[i]);
      scales.accumulate = i > 0;
      program_->load(batches[i].host(), *stream_, *copied_);
      program_->forward(scales, {});
      program_->backward(scales, {});
    }
    device_.compute_stream().synchronize();
    std::vector<float> gradients(layout_.elements);
    copy(*gradients_, gradients.data(), cudaMemcpyDeviceToHost);
    return gradients;
  }

 private:
  static void copy(const Buffer& device, float* host, cudaMemcpyKind kind) {
    const bool to_host = kind == cudaMemcpyDeviceToHost;
    const std::size_t bytes = device.bytes();
    check_cuda(cudaMemcpy(to_host ? host : device.data(), to_host ? device.data() : host, bytes, kind),
               "cudaMemcpy");
    check_cuda(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
  }
  void forward(TestBatch& batch) {
    program_->load(batch.host(), *stream_, *copied_);
    program_->forward(Net::scales(batch), {});
  }

  CudaDevice& device_;
  FlatLayout layout_;
  std::unique_ptr<Stream> stream_ = device_.make_stream();
  std::unique_ptr<Event> copied_ = device_.make_event();
  std::unique_ptr<Buffer> parameters_, gradients_, arena_;
  std::unique_ptr<Program> program_;
};

double norm(const std::vector<float>& values, const FlatLayout::Entry& entry) {
  double sum = 0;
  for (std::size_t i = entry.offset; i < entry.offset + entry.count; ++i)
    sum += static_cast<double>(values[i]) * values[i];
  return std::sqrt(sum);
}

/// Gradients relative to the tensor's norm, small ones against `floor`.
void expect_agreement(const Graph& graph, Precision precision, double tolerance, double floor) {
  NaiveDevice naive;
  const auto device = make_test_device(precision);
  TestBatch batch(graph, kBatch, kBatch);
  Net reference(graph, naive, kBatch);
  CudaNet net(graph, *device, Mode::train);
  const std::vector<float> expected = reference.step(batch), first = net.step(batch),
                           second = net.step(batch);
  EXPECT_EQ(first, second) << "a step repeats to the bit";
  std::vector<float> difference(expected.size());
  for (std::size_t i = 0; i < expected.size(); ++i) difference[i] = first[i] - expected[i];
  for (const FlatLayout::Entry& entry : reference.layout.entries)
    EXPECT_LE(norm(difference, entry), tolerance * std::max(floor, norm(expected, entry)))
        << graph.parameter(entry.parameter).name;
  EXPECT_NEAR(net.loss(batch), reference.loss(batch), tolerance);

  Net reference_eval(graph, naive, kBatch, Mode::eval);
  CudaNet eval(graph, *device, Mode::eval);
  EXPECT_NEAR(eval.loss(batch), reference_eval.loss(batch), tolerance);
  expect_close(eval.logits(), reference_eval.program->read_logits(), tolerance, "logits");
}

class SmallNetOnCuda : public ::testing::TestWithParam<SmallNet> {};

TEST_P(SmallNetOnCuda, AgreesWithPlainLoops) {
  expect_agreement(GetParam().build(), Precision::fp32, 2e-4, 1e-2);
}

TEST_P(SmallNetOnCuda, AgreesWithPlainLoopsInBf16) {
  expect_agreement(GetParam().build(), Precision::bf16, 6e-2, 1);
}

INSTANTIATE_TEST_SUITE_P(Graphs, SmallNetOnCuda, ::testing::ValuesIn(small_nets()),
                         [](const auto& net) { return net.param.name; });

// The copy of a batch waits until its slot has been worked off, and the work until the copy is there.
TEST(ProgramOnCuda, BatchesThatFollowEachOtherKeepOutOfEachOthersWay) {
  const Graph graph = small_nets().front().build();
  const auto device = make_test_device(Precision::fp32);
  CudaNet net(graph, *device, Mode::train);
  std::vector<TestBatch> batches;
  for (std::uint64_t seed = 1; seed <= 6; ++seed) batches.emplace_back(graph, kBatch, kBatch, seed);
  using simt::emulator::StreamMode;
  auto& streams = simt::emulator::Streams::instance();
  streams.set_mode(StreamMode::eager);
  const std::vector<float> expected = net.accumulate(batches);
  for (unsigned seed = 1; seed <= 5; ++seed) {
    streams.set_mode(StreamMode::lazy, seed);
    EXPECT_EQ(net.accumulate(batches), expected) << "seed " << seed;
  }
  streams.set_mode(StreamMode::eager);
}

TEST(ProgramOnCuda, LenetAgreesWithPlainLoops) {
  expect_agreement(build_model("lenet", {.image = {28, 28, 1}, .num_classes = 10}), Precision::fp32, 2e-4,
                   1e-2);
}

TEST(ProgramOnCuda, Resnet20AgreesWithPlainLoops) {
  expect_agreement(build_model("resnet20", {.image = {8, 8, 3}, .num_classes = 10, .label_smoothing = 0.1}),
                   Precision::fp32, 4e-3, 1e-2);
}

}  // namespace
}  // namespace trireme::testing
