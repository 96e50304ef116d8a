// SPDX-License-Identifier: Apache-2.0
#include "src/train/evaluator.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "src/comm/scalar_record.h"
#include "src/core/error.h"

namespace trireme {
namespace {

constexpr std::uint64_t kNoSeed = 0;  // a sequential order and a transform without randomness use none

}  // namespace

TransformOptions for_evaluation(TransformOptions options) {
  options.training = false;
  return options;
}

HostBatch host_batch(const Batch& batch) {
  return {batch.images, batch.labels, batch.sample_ids, batch.valid};
}

Evaluator::Evaluator(const Dataset& dataset, const TransformOptions& transform, const Options& options,
                     Device& device)
    : options_(options),
      share_(share_of({0, dataset.info().num_samples}, options.rank, options.ranks)),
      sampler_(dataset.info().num_samples, kNoSeed, {SampleOrder::Kind::sequential, 0}),
      loader_(dataset, sampler_, Transform(for_evaluation(transform)),
              LoaderOptions{.threads = options.loader_threads,
                            .rows = options.batch,
                            .limit = options.limit,
                            .pixels = options.pixels},
              device.host_memory()),
      loaded_(device.make_event()) {}

EvalResult Evaluator::run(Program& program, Stream& stream, Communicator& communicator,
                          const std::function<bool()>& stop_is_pending) {
  const std::int64_t batches = (share_.size() + options_.batch - 1) / options_.batch;
  loader_.start(0, 0, batches, [share = share_, rows = options_.batch](std::int64_t index) {
    const std::int64_t begin = share.begin + index * rows;
    return Loader::Request{{begin, std::min(begin + rows, share.end)}, rows};
  });
  program.zero_record();
  const StepScales scales;
  bool broken_off = false;
  for (std::int64_t index = 0; index < batches && !broken_off; ++index) {
    const Loader::BatchPtr batch = loader_.next();
    TRIREME_ASSERT(batch != nullptr, "the loader was started for every batch of the share");
    program.load(host_batch(*batch), stream, *loaded_);
    program.forward(scales, [](ParamId) {});
    loaded_->synchronize();
    broken_off = index + 1 < batches && stop_is_pending();
  }
  const StepRecord record = program.read_record();
  const bool finite = std::isfinite(record.loss_sum);
  std::array<std::int64_t, 6> sums{finite ? record.loss_fixed : 0,
                                   record.samples,
                                   record.top1,
                                   record.top5,
                                   finite ? 0 : 1,
                                   broken_off ? 1 : 0};
  sum_record(communicator, host_stream_, {}, sums, "the evaluation's counts");
  const EvalResult result{sums[0], sums[1], sums[2], sums[3], sums[4], sums[5]};
  TRIREME_ASSERT(result.incomplete > 0 || result.total == sampler_.num_samples(),
                 "every sample is counted once");
  return result;
}

}  // namespace trireme
