// SPDX-License-Identifier: Apache-2.0
#include "src/cli/bench_rounds.h"

#include <algorithm>
#include <array>

#include "src/cli/bench_exact.h"
#include "src/comm/scalar_record.h"
#include "src/core/deadline.h"
#include "src/core/error.h"

namespace trireme {

double AllReduceRow::algorithm_bandwidth() const {
  return seconds > 0 ? static_cast<double>(size.bytes) / seconds : 0;
}

double AllReduceRow::bus_bandwidth() const {
  return algorithm_bandwidth() * 2 * (ranks - 1) / ranks;
}

int affordable_rounds(int wanted, double seconds_each, double most_seconds) {
  const double rounds = seconds_each > 0 ? most_seconds / seconds_each : wanted;
  return std::clamp(static_cast<int>(std::min<double>(rounds, wanted)), std::min(wanted, 1), wanted);
}

AllReduceBench::AllReduceBench(Communicator& tested, Communicator& control, Stream& stream,
                               const BenchRounds& rounds, std::size_t most_bytes)
    : tested_(tested),
      control_(control),
      stream_(stream),
      rounds_(rounds),
      buffer_(tested.allocate(most_bytes)) {}

AllReduceBench::~AllReduceBench() {
  drain(tested_, std::array{ticket_});
}

AllReduceRow AllReduceBench::measure(const SweepSize& size) {
  TRIREME_ASSERT(size.bytes <= static_cast<std::int64_t>(buffer_->bytes()),
                 "a size beyond the largest that was announced");
  const Tensor tensor =
      row_of(static_cast<float*>(buffer_->data()), size.bytes / static_cast<std::int64_t>(sizeof(float)));
  std::int64_t wrong = check(tensor);

  const double first = time_rounds(tensor, 1);
  const double warm =
      time_rounds(tensor, affordable_rounds(rounds_.warm_up, first, rounds_.most_seconds / 2));
  const int count = affordable_rounds(rounds_.timed, warm > 0 ? warm : first, rounds_.most_seconds);
  const double seconds = time_rounds(tensor, count);

  wrong += check(tensor);
  sum_record(control_, stream_, {}, std::span(&wrong, 1), "the number of wrong elements");
  return {std::string(tested_.name()), size, tested_.size(), count, seconds, wrong};
}

std::int64_t AllReduceBench::check(const Tensor& tensor) {
  const std::span values(tensor.as<float>(), static_cast<std::size_t>(tensor.count()));
  fill_exact(values, tested_.rank());
  round(tensor);
  return count_wrong(values, tested_.size());
}

double AllReduceBench::time_rounds(const Tensor& tensor, int count) {
  if (count == 0) return 0;
  // Zeros stay zeros, however often they are summed.
  std::fill_n(tensor.as<float>(), tensor.count(), 0.0F);
  allgather_u64(control_, stream_, 0, "all ranks to begin a measurement");
  const Stopwatch stopwatch;
  for (int i = 0; i < count; ++i) round(tensor);
  const double nanoseconds = stopwatch.seconds() * 1e9;
  const std::vector<std::uint64_t> of_ranks =
      allgather_u64(control_, stream_, static_cast<std::uint64_t>(nanoseconds), "the times of all ranks");
  return static_cast<double>(*std::max_element(of_ranks.begin(), of_ranks.end())) * 1e-9 / count;
}

void AllReduceBench::round(const Tensor& tensor) {
  ticket_ = tested_.allreduce(tensor, stream_, "the bench's tensor");
  tested_.wait(ticket_, stream_);
}

}  // namespace trireme
