// SPDX-License-Identifier: Apache-2.0
// Measuring with the algorithms themselves. Groups send no messages of their own, only collectives, which
// MPI keeps apart; so this needs no duplicate, whose making could not be given a deadline. Every time is that
// of the slowest rank, which all ranks learn, so that all do the same number of rounds and come to the same
// choice.
//
// 1. Latency: a ring allgather of one number per rank. Its P - 1 steps wait for each other, and in each all
//    links are used at the same time.
// 2. Bandwidth: ring allgathers of growing parts, until one takes long enough to be timed.
// 3. The segment, from both. Four segments circle side by side; the link stays busy if the other three take
//    longer than the pause after each. A long message costs several latencies (request, grant, data), and
//    so: 8 x latency x bandwidth, but at least what a shared memory likes best.
// 4. The crossover between halving-doubling and ring: both sum rows of growing length, until the ring wins.
#include <sched.h>

#include <algorithm>
#include <bit>
#include <memory>
#include <vector>

#include "src/comm/comm_tuning.h"
#include "src/comm/halving_doubling.h"
#include "src/comm/ring_collective.h"
#include "src/comm/world.h"
#include "src/core/deadline.h"
#include "src/core/error.h"

namespace trireme {
namespace {

constexpr std::int64_t kKiB = 1024, kMiB = kKiB * kKiB;
constexpr std::int64_t kLeastSegment = kMiB, kLongestSegment = 32 * kMiB;
constexpr std::int64_t kLeastSmall = 4 * kKiB;  // so short a row is never worth a ring
constexpr double kWorthTiming = 4e-3;    // seconds; bandwidth is taken from allgathers that last this long
constexpr double kTimePerPoint = 10e-3;  // seconds of repetitions of one algorithm at one length
constexpr int kLeastRounds = 2, kMostRounds = 50;

class Bench {
 public:
  Bench(const Group& group, std::chrono::duration<double> timeout)
      : ranks_(group.size()),
        rank_(group.rank()),
        deadline_(timeout),
        context_(std::make_shared<MessageContext>(group.get(), rank_, ranks_)) {}

  int ranks() const { return ranks_; }

  /// Seconds that a ring allgather of `part` bytes per rank takes.
  double allgather_seconds(std::int64_t part, std::int64_t segment) {
    row_.resize(static_cast<std::size_t>(part * ranks_));
    return seconds([&] { return allgather(row_.data(), part, segment); });
  }

  double ring_seconds(std::int64_t bytes, std::int64_t segment) {
    const Tensor tensor = floats(bytes);
    return seconds([&]() -> std::unique_ptr<Collective> {
      RingRow row{tensor.as<std::byte>(), DType::f32, {}, nullptr};
      for (int r = 0; r < ranks_; ++r) row.chunks.push_back(part_of(tensor.count(), ranks_, r, DType::f32));
      row.own = row.at(row.chunk(rank_).begin);
      const RingPlan plan = RingPlan::make(RingPlan::Half::both, row, segment);
      return std::make_unique<RingCollective>(context_, std::move(row), plan, kWhat);
    });
  }

  double halving_doubling_seconds(std::int64_t bytes) {
    const Tensor tensor = floats(bytes);
    return seconds([&] { return std::make_unique<HalvingDoubling>(context_, tensor, kWhat); });
  }

 private:
  static constexpr const char* kWhat = "measuring messages between neighbours";

  Tensor floats(std::int64_t bytes) {
    row_.assign(static_cast<std::size_t>(bytes), std::byte{0});
    return {row_.data(), Shape{bytes / 4}, DType::f32};
  }

  std::unique_ptr<Collective> allgather(std::byte* row, std::int64_t part, std::int64_t segment) {
    RingRow ring{row, DType::u8, {}, row + part * rank_};
    for (int r = 0; r < ranks_; ++r) ring.chunks.push_back({part * r, part * (r + 1)});
    const RingPlan plan = RingPlan::make(RingPlan::Half::allgather, ring, segment);
    return std::make_unique<RingCollective>(context_, std::move(ring), plan, kWhat);
  }

  void run(Collective& collective) {
    collective.start();
    while (!collective.step()) {
      sched_yield();
      if (deadline_.passed())
        throw make_error(Status::peer_gone, "waited {:.3g} s for {}", deadline_.seconds_waited(), kWhat)
            .at(collective.awaited())
            .hint("another rank is gone, stopped or late; --startup-timeout allows longer waits");
    }
  }

  double slowest(double seconds) {
    std::vector<double> all(static_cast<std::size_t>(ranks_));
    all[static_cast<std::size_t>(rank_)] = seconds;
    run(*allgather(reinterpret_cast<std::byte*>(all.data()), sizeof(double), kMiB));
    return *std::max_element(all.begin(), all.end());
  }

  /// The mean of as many rounds as fit the time, after a first one that warms up and says how many those are.
  template <typename Make>
  double seconds(const Make& make) {
    const auto time_of = [&](int rounds) {
      const Stopwatch clock;
      for (int round = 0; round < rounds; ++round) run(*make());
      return slowest(clock.seconds() / rounds);
    };
    const double first = time_of(1);
    const double fitting = kTimePerPoint / std::max(first, 1e-9);
    return time_of(static_cast<int>(std::clamp<double>(fitting, kLeastRounds, kMostRounds)));
  }

  int ranks_, rank_;
  Deadline deadline_;
  std::shared_ptr<MessageContext> context_;
  std::vector<std::byte> row_;
};

void measure_link(Bench& bench, CommTuning& tuning) {
  const int steps = bench.ranks() - 1;
  tuning.latency_seconds = bench.allgather_seconds(1, kMiB) / steps;
  for (std::int64_t part = 64 * kKiB; part <= 16 * kMiB; part *= 4) {
    const double seconds = bench.allgather_seconds(part, kLeastSegment) / steps;
    const double moving = std::max(seconds - tuning.latency_seconds, seconds / 2);
    tuning.bytes_per_second = static_cast<double>(part) / moving;
    if (seconds >= kWorthTiming) break;
  }
}

std::int64_t choose_segment(const CommTuning& tuning) {
  const double wanted = 8 * tuning.latency_seconds * tuning.bytes_per_second;
  const double possible = std::clamp<double>(wanted, kLeastSegment, kLongestSegment);
  return static_cast<std::int64_t>(std::bit_ceil(static_cast<std::uint64_t>(possible)));
}

std::int64_t measure_crossover(Bench& bench, std::int64_t segment) {
  std::int64_t small = kLeastSmall;
  int ring_wins = 0;  // in a row; a single one may be an accident
  for (std::int64_t bytes = 2 * kLeastSmall; bytes <= 2 * kMiB && ring_wins < 2; bytes *= 2) {
    const bool ring_is_faster = bench.ring_seconds(bytes, segment) < bench.halving_doubling_seconds(bytes);
    ring_wins = ring_is_faster ? ring_wins + 1 : 0;
    if (!ring_is_faster) small = bytes;
  }
  return small;
}

}  // namespace

CommTuning measure_tuning(const Group& group, std::chrono::duration<double> timeout) {
  CommTuning tuning;
  if (group.size() == 1) return tuning;
  Bench bench(group, timeout);
  measure_link(bench, tuning);
  tuning.segment_bytes = choose_segment(tuning);
  tuning.small_bytes = measure_crossover(bench, tuning.segment_bytes);
  return parse_tuning(group.broadcast_text(tuning_text(tuning), 0, timeout, "the measured tuning"));
}

}  // namespace trireme
