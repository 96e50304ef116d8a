// SPDX-License-Identifier: Apache-2.0
// Times allreduce of one communicator, after it has shown that it sums right.
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>

#include "src/cli/bench_sizes.h"
#include "src/comm/communicator.h"

namespace trireme {

/// What was measured for one message size.
struct AllReduceRow {
  std::string communicator;
  SweepSize size;
  int ranks = 0, rounds = 0;  ///< rounds that were timed
  double seconds = 0;         ///< of one round: the slowest rank's mean
  std::int64_t wrong = 0;     ///< elements that differ from the exact sum, over all ranks

  /// Bytes per second of one rank's tensor.
  double algorithm_bandwidth() const;
  /// That times 2(n-1)/n: what every rank must at least send and receive, so that it compares with a link,
  /// whatever the number of ranks.
  double bus_bandwidth() const;
};

/// How often a message is summed.
struct BenchRounds {
  int timed = 20, warm_up = 5;
  double most_seconds = 2;  ///< for slow messages fewer rounds are timed, so that they take about this
};

/// `wanted`, or what fits into the time, but at least one of them.
int affordable_rounds(int wanted, double seconds_each, double most_seconds);

/// In-place sums of fp32 in a buffer of the communicator's own. All ranks call it alike. `control` carries
/// times and counts between the ranks; it is another communicator than the tested one.
class AllReduceBench {
 public:
  AllReduceBench(Communicator& tested, Communicator& control, Stream& stream, const BenchRounds& rounds,
                 std::size_t most_bytes);
  ~AllReduceBench();
  AllReduceBench(const AllReduceBench&) = delete;
  AllReduceBench& operator=(const AllReduceBench&) = delete;

  /// Sums exact inputs and compares every element, warms up, times, and compares once more.
  AllReduceRow measure(const SweepSize& size);

 private:
  /// Elements of this rank that are wrong after one round of exact inputs.
  std::int64_t check(const Tensor& tensor);
  /// Seconds of one of `count` rounds, as the slowest rank saw them. Equal on all ranks.
  double time_rounds(const Tensor& tensor, int count);
  void round(const Tensor& tensor);

  Communicator& tested_;
  Communicator& control_;
  Stream& stream_;
  BenchRounds rounds_;
  std::unique_ptr<Buffer> buffer_;
  Ticket ticket_;
};

}  // namespace trireme
