// SPDX-License-Identifier: Apache-2.0
// A graph on a device with its own memory and one fixed batch, as tests of Program use it.
#pragma once

#include <cstring>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "src/core/philox.h"
#include "src/graph/initialize.h"
#include "src/graph/program.h"

namespace trireme::testing {

constexpr std::uint64_t kSeed = 7;

/// Random pictures and labels.
struct TestBatch {
  TestBatch(const Graph& graph, std::int64_t rows, std::int64_t valid_rows, std::uint64_t seed = 1)
      : images(static_cast<std::size_t>(graph.image_shape().count() * rows)), valid(valid_rows) {
    shape = graph.image_shape().with_outer(rows);
    fill_normal(Philox(seed, RandomStream::synthetic, 0, 0), 1.0F, images.data(), shape.count());
    for (std::int64_t row = 0; row < rows; ++row) {
      labels.push_back(static_cast<std::int32_t>((row * 5 + 3) % graph.num_classes()));
      sample_ids.push_back(100 + row);
    }
  }
  HostBatch host() { return {{images.data(), shape, DType::f32}, labels.data(), sample_ids.data(), valid}; }

  Shape shape;
  std::vector<float> images;
  std::vector<std::int32_t> labels;
  std::vector<std::int64_t> sample_ids;
  std::int64_t valid;
};

class Net {
 public:
  Net(const Graph& net, Device& on, std::int64_t batch, Mode mode = Mode::train, GroupSum* group = nullptr)
      : graph(net), device(on), layout(net), stream(on.make_stream()), copied(on.make_event()) {
    ProgramPlan plan(graph, device, batch, mode);
    parameters = device.allocate(layout.bytes());
    gradients = device.allocate(layout.bytes());
    arena = device.allocate(plan.arena_bytes());
    initialize_parameters(graph, layout, kSeed, weights());
    program = std::make_unique<Program>(
        std::move(plan), layout, ModelMemory{parameters.get(), gradients.get(), arena.get()}, kSeed, group);
  }

  float* weights() { return static_cast<float*>(parameters->data()); }
  float* grads() { return static_cast<float*>(gradients->data()); }
  std::vector<float> gradient_copy() { return {grads(), grads() + layout.elements}; }

  void load(TestBatch& batch) { program->load(batch.host(), *stream, *copied); }
  /// Makes reads of what nobody has written visible: the arena and the gradients are not-a-number from here
  /// on.
  void poison() {
    const float nan = std::numeric_limits<float>::quiet_NaN();
    std::fill_n(static_cast<float*>(arena->data()), arena->bytes() / sizeof(float), nan);
    for (const auto& entry : layout.entries) std::fill_n(grads() + entry.offset, entry.count, nan);
  }
  /// Mean loss of the batch.
  double loss(TestBatch& batch) {
    program->zero_record();
    load(batch);
    program->forward(scales(batch), {});
    const StepRecord record = program->read_record();
    return record.loss_sum / static_cast<double>(record.samples);
  }
  std::vector<float> step(TestBatch& batch) {
    poison();
    load(batch);
    program->forward(scales(batch), {});
    program->backward(scales(batch), {});
    return gradient_copy();
  }
  static StepScales scales(const TestBatch& batch) {
    return {.global_samples = std::max<std::int64_t>(1, batch.valid)};
  }

  Graph graph;
  Device& device;
  FlatLayout layout;
  std::unique_ptr<Stream> stream;
  std::unique_ptr<Event> copied;
  std::unique_ptr<Buffer> parameters, gradients, arena;
  std::unique_ptr<Program> program;
};

}  // namespace trireme::testing
