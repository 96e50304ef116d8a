// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>

namespace trireme {

class Group;

/// Choices of the message-passing algorithms. They come from measuring, and some of them change the order of
/// sums: all ranks must hold the same, and a resumed run takes those of the run that it resumes.
struct CommTuning {
  std::int64_t segment_bytes = std::int64_t{1} << 20;  ///< pipelined piece of a ring step
  std::int64_t small_bytes = std::int64_t{64} << 10;   ///< up to here: recursive halving and doubling
  double latency_seconds = 0, bytes_per_second = 0;    ///< of one message between neighbours; 0: not measured

  bool is_measured() const { return bytes_per_second > 0; }
  friend bool operator==(const CommTuning&, const CommTuning&) = default;
};

/// One line of JSON, read back exactly. Error (65) on anything else.
std::string tuning_text(const CommTuning& tuning);
CommTuning parse_tuning(std::string_view text);

/// Measures messages between all ring neighbours at the same time and decides; the slowest link counts. Rank
/// 0 decides, all ranks return its choice. Collective and blocking, for the thread that may call MPI; takes
/// well under a second on a fast link and a few seconds on a slow one. Every wait inside ends at `timeout`
/// (69).
CommTuning measure_tuning(const Group& group, std::chrono::duration<double> timeout);

}  // namespace trireme
