// SPDX-License-Identifier: Apache-2.0
// What compression still owes the sum of gradients is state of the run, different on every rank. Rank 0
// writes it and reads it: the residuals pass through it one after the other, so that no rank ever holds more
// than two. Between steps the gradient buffer is free; it holds the one that is on its way.
#include <algorithm>

#include "src/train/model_state.h"
#include "src/train/trainer.h"

namespace trireme {

/// Collective. On rank 0, where the residual of `rank` lies until the next call.
float* Trainer::gather_residual(int rank) {
  const std::span<float> own = exchange_->residual();
  float* const values = rank == world_.rank() ? own.data() : programs_.gradients();
  if (rank == 0) return values;
  Communicator& communicator = *communication_.gradients;
  const std::string what = fmt::format("rank {}'s residual", rank);
  communicator.wait(communicator.broadcast(row_of(values, std::ssize(own)), rank, stream_, what), stream_);
  return values;
}

/// Writes a residual of the file to `values`.
void Trainer::fill_residual(const std::string& path, std::int64_t saved_rank, float* values) {
  std::vector<float> flat(layout_.elements);
  fill_flat(setup_.graph, layout_, read_residual(path, saved_rank), false, path, flat.data());
  const Tensor host = row_of(flat.data(), std::ssize(flat));
  device_->copy(row_of(values, host.count()), host, stream_);
  stream_.synchronize();
}

/// values += more, both flat and in the device's memory.
void Trainer::add_to(float* values, float* more) {
  std::vector<float> sum(layout_.elements), term(layout_.elements);
  const Tensor host_sum = row_of(sum.data(), std::ssize(sum)),
               host_term = row_of(term.data(), std::ssize(term));
  device_->copy(host_sum, row_of(values, host_sum.count()), stream_);
  device_->copy(host_term, row_of(more, host_term.count()), stream_);
  stream_.synchronize();
  std::transform(sum.begin(), sum.end(), term.begin(), sum.begin(), std::plus<>());
  device_->copy(row_of(values, host_sum.count()), host_sum, stream_);
  stream_.synchronize();
}

/// At the number of ranks that saved them each rank gets its own; at another one rank 0 gets the sum, since
/// only the sum over ranks matters to the parameters.
void Trainer::restore_residuals() {
  const std::int64_t saved_ranks = setup_.resumed->state.residual_ranks.value_or(0);
  const std::span<float> own = exchange_->residual();
  if (own.empty() || saved_ranks == 0) return;
  const std::string& path = setup_.resumed->path;
  float* const on_its_way = programs_.gradients();
  Communicator& communicator = *communication_.gradients;
  const bool sums = saved_ranks != world_.size();
  for (std::int64_t rank = 0; rank < saved_ranks; ++rank) {
    float* const values = !sums && rank == world_.rank() ? own.data() : on_its_way;
    if (world_.rank() == 0) fill_residual(path, rank, values);
    if (world_.rank() == 0 && sums) add_to(own.data(), on_its_way);
    if (rank == 0 || sums) continue;
    const std::string what = fmt::format("rank {}'s saved residual", rank);
    communicator.wait(communicator.broadcast(row_of(values, std::ssize(own)), 0, stream_, what), stream_);
  }
}

}  // namespace trireme
