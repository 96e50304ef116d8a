// SPDX-License-Identifier: Apache-2.0
// Small numbers that all ranks must agree on (loss sums, counts, the stop flag, hashes) over a Communicator.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "src/comm/communicator.h"

namespace trireme {

/// A record of float64 and int64 numbers that is summed over all ranks without blocking: fill it, submit it,
/// do other work, wait, read it. The bits of the sums are the same on every rank; integers are exact. May be
/// used again after wait(). Every rank must submit in the same order as its other collectives.
class ScalarRecord {
 public:
  ScalarRecord(Communicator& communicator, std::size_t doubles, std::size_t integers);
  /// Waits a few seconds for a record in flight, whose memory ends here.
  ~ScalarRecord();
  ScalarRecord(const ScalarRecord&) = delete;
  ScalarRecord& operator=(const ScalarRecord&) = delete;

  /// This rank's part before submit(), the sum after wait(); not to be touched between.
  std::span<double> doubles() { return doubles_; }
  std::span<std::int64_t> integers() { return integers_; }

  /// `what` names the record in messages: "the stop record of step 20".
  void submit(Stream& stream, std::string_view what);
  bool in_flight() const { return in_flight_; }
  /// Whether wait() would return at once.
  bool done();
  void wait(Stream& stream);

 private:
  Communicator& communicator_;
  std::vector<double> doubles_;
  std::vector<std::int64_t> integers_;
  Ticket double_ticket_, integer_ticket_;
  bool in_flight_ = false;
};

/// Sums both arrays in place over all ranks and waits for it. Lengths must be equal on every rank.
void sum_record(Communicator& communicator, Stream& stream, std::span<double> doubles,
                std::span<std::int64_t> integers, std::string_view what);

/// Every rank's value, by rank, on every rank.
std::vector<std::uint64_t> allgather_u64(Communicator& communicator, Stream& stream, std::uint64_t value,
                                         std::string_view what);

}  // namespace trireme
