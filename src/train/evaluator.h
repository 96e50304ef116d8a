// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <memory>

#include "data/dataset.h"
#include "data/loader.h"
#include "data/sampler.h"
#include "data/transform.h"
#include "src/comm/communicator.h"
#include "src/core/buffer.h"
#include "src/device/inline_stream.h"
#include "src/graph/program.h"
#include "src/train/eval_result.h"

namespace trireme {

/// A loaded batch as a program takes it.
HostBatch host_batch(const Batch& batch);

/// The same without randomness.
TransformOptions for_evaluation(TransformOptions options);

/// Evaluates a dataset over all ranks: each rank takes a contiguous share, in padded batches of one size, so
/// that every sample is counted exactly once and is computed in the same way at any number of ranks.
class Evaluator {
 public:
  struct Options {
    std::int64_t batch = 1;
    int rank = 0, ranks = 1;
    int loader_threads = 1;
    DataLimit limit = {};
    PixelFormat pixels = PixelFormat::normalised;
  };
  /// All references must outlive it.
  Evaluator(const Dataset& dataset, const TransformOptions& transform, const Options& options,
            Device& device);

  /// Collective. Batches are copied on `stream`. `program` is an evaluation program of `batch` rows. A rank
  /// whose `stop_is_pending` says so between two batches leaves out the rest of its share: the result, on
  /// every rank, is then incomplete.
  EvalResult run(
      Program& program, Stream& stream, Communicator& communicator,
      const std::function<bool()>& stop_is_pending = [] { return false; });

 private:
  Options options_;
  SampleRange share_;
  Sampler sampler_;
  Loader loader_;
  std::unique_ptr<Event> loaded_;
  InlineStream host_stream_;  ///< of the counts
};

}  // namespace trireme
