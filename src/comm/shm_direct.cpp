// SPDX-License-Identifier: Apache-2.0
// The allreduce of buffers that all ranks see, here of three ranks. Each owns a slice. It reads that slice of
// every buffer, adds in the order of the ranks, and writes the sum back to every buffer: one pass, and since
// nobody else touches the slice, no order between the ranks.
//
//      buffer of rank 0   | slice 0 | slice 1 | slice 2 |
//                            ^ |       ^ |       ^ |
//                            | v       | v       | v
//      buffer of rank 1   | slice 0 | slice 1 | slice 2 |
//                            ^ |       ^ |       ^ |
//                            | v       | v       | v
//      buffer of rank 2   | slice 0 | slice 1 | slice 2 |
//
//      works on it          rank 0    rank 1    rank 2
//
// In the other collectives a rank reads what it needs from the others and writes only to its own result.
#include "src/comm/shm_direct.h"

#include <algorithm>

namespace trireme {
namespace {

// Read and written by all ranks together for one piece: some tenths of a millisecond.
constexpr std::size_t kPieceTraffic = std::size_t{2} << 20;
constexpr std::size_t kSmallestPiece = std::size_t{16} << 10;

std::int64_t piece_of(const ShmJob& job) {
  const std::size_t bytes = std::max(kPieceTraffic / 2 / static_cast<std::size_t>(job.size), kSmallestPiece);
  return static_cast<std::int64_t>(bytes / size_of(job.tensor.dtype));
}

}  // namespace

ShmDirect::ShmDirect(const ShmJob& job)
    : job_(job),
      sources_(static_cast<std::size_t>(job.size)),
      from_(sources_.size()),
      to_(sources_.size()),
      piece_(piece_of(job)) {}

void ShmDirect::begin_own() {
  to_all_ = false;
  range_ = {0, job_.row()};
}

void ShmDirect::begin_slice() {
  to_all_ = true;
  range_ = part_of(job_.row(), job_.size, job_.rank, job_.tensor.dtype);
}

bool ShmDirect::advance(const WorkBudget& budget) {
  const DType type = job_.tensor.dtype;
  while (range_.begin < range_.end) {
    const std::int64_t end = std::min(range_.begin + piece_, range_.end);
    for (std::size_t r = 0; r < sources_.size(); ++r) {
      to_[r] = element_at(sources_[r], type, job_.own_row() * job_.row() + range_.begin);
      from_[r] = to_[r];
    }
    if (to_all_)
      sum_to_all(type, from_, to_, end - range_.begin);
    else
      job_.take(from_, range_.begin, end);
    range_.begin = end;
    if (budget.spent()) break;
  }
  return range_.begin >= range_.end;
}

}  // namespace trireme
