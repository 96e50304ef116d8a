// SPDX-License-Identifier: Apache-2.0
// The pairwise exchange. A ring rounds a partial sum at every hop, which 16-bit types cannot afford. Here
// rank j owns part j of the row. Every rank sends its numbers of part j straight to rank j; the owner adds
// all of them in fp32 in the order of the ranks, rounds once, and sends the sum to all.
//
//   contributions:  rank 0  [own][ 1 ][ 2 ]      part j of every rank -> rank j
//                   rank 1  [ 0 ][own][ 2 ]
//                   rank 2  [ 0 ][ 1 ][own]
//                             |    |    |
//   sums in fp32:           x0+x1+x2, rounded once, on the part's owner
//                             |    |    |
//   answers:        all     [sum][sum][sum]      the sum of part j: rank j -> every rank
//
// Each rank sends 2 (P - 1) / P of the row as in the ring, in 2 (P - 1) messages to P - 1 different ranks.
// Long rows go in pieces of every part; a few pieces are in flight, each in its own phase.
#include "src/comm/pairwise_sum.h"

#include <algorithm>
#include <utility>

namespace trireme {
namespace {

constexpr std::int64_t kMaxMessage = std::int64_t{1} << 30;  // a count must fit an int
constexpr std::int64_t kWorkOfStep = std::int64_t{1} << 20;  // bytes to sum per advance()
constexpr std::int64_t kAlignment = 64;                      // of pieces, in bytes

std::int64_t longest_part(const PairwiseSum::Row& row) {
  std::int64_t longest = 0;
  for (const PartRange& part : row.parts) longest = std::max(longest, part.size());
  return longest;
}

/// Of one part.
std::int64_t piece_elements(const PairwiseSum::Row& row, std::int64_t piece_bytes) {
  const auto element = static_cast<std::int64_t>(size_of(row.type));
  const std::int64_t bytes = std::min(piece_bytes / std::ssize(row.parts), longest_part(row) * element);
  return (std::clamp<std::int64_t>(bytes, 1, kMaxMessage) + kAlignment - 1) / kAlignment * kAlignment /
         element;
}

}  // namespace

PairwiseSum::PairwiseSum(std::shared_ptr<MessageContext> context, Row row, std::int64_t piece_bytes,
                         std::string description)
    : MessageCollective(std::move(context),
                        static_cast<std::size_t>(piece_elements(row, piece_bytes)) * size_of(row.type) *
                            row.parts.size() * kPieces,
                        std::move(description)),
      row_(std::move(row)),
      piece_elements_(piece_elements(row_, piece_bytes)),
      pieces_((longest_part(row_) + piece_elements_ - 1) / piece_elements_),
      sources_(row_.parts.size()) {
  for (Piece& piece : in_flight_) {
    piece.sends.assign(row_.parts.size(), MPI_REQUEST_NULL);
    piece.receives.assign(row_.parts.size(), MPI_REQUEST_NULL);
  }
}

bool PairwiseSum::advance() {
  std::int64_t work_left = kWorkOfStep;
  bool moved = true;
  while (moved && work_left > 0) {
    moved = false;
    for (Piece& piece : in_flight_) moved |= advance(piece, work_left);
  }
  return done_ == pieces_;
}

bool PairwiseSum::advance(Piece& piece, std::int64_t& work_left) {
  switch (piece.phase) {
    case Phase::idle:
      if (contributed_ == pieces_) return false;
      piece.number = contributed_++;
      piece.summed = 0;
      post_contributions(piece);
      piece.phase = Phase::contributions;
      return true;
    case Phase::contributions:
      if (!all_complete(piece)) return false;
      piece.phase = Phase::summing;
      return true;
    case Phase::summing:
      if (piece.number != answered_ || work_left <= 0) return false;
      sum(piece, work_left);
      if (piece.summed < range_of(piece.number, rank()).size()) return true;
      ++answered_;
      if (row_.answers) post_answers(piece);
      piece.phase = Phase::answers;
      return true;
    case Phase::answers:
      if (!all_complete(piece)) return false;
      ++done_;
      piece.phase = Phase::idle;
      return true;
  }
  return false;
}

void PairwiseSum::post_contributions(Piece& piece) {
  const PartRange mine = range_of(piece.number, rank());
  // Every rank begins with another peer, so that not all send to the same one.
  for (int distance = 1; distance < size(); ++distance) {
    const int from = (rank() - distance + size()) % size(), to = (rank() + distance) % size();
    const auto f = static_cast<std::size_t>(from), t = static_cast<std::size_t>(to);
    if (mine.size() > 0) receive(slot(piece, from), bytes_of(mine), from, piece.receives[f], kContributions);
    const PartRange theirs = range_of(piece.number, to);
    if (theirs.size() > 0) send(at(theirs.begin), bytes_of(theirs), to, piece.sends[t], kContributions);
  }
}

void PairwiseSum::post_answers(Piece& piece) {
  const PartRange mine = range_of(piece.number, rank());
  for (int distance = 1; distance < size(); ++distance) {
    const int from = (rank() - distance + size()) % size(), to = (rank() + distance) % size();
    const auto f = static_cast<std::size_t>(from), t = static_cast<std::size_t>(to);
    const PartRange theirs = range_of(piece.number, from);
    if (theirs.size() > 0) receive(at(theirs.begin), bytes_of(theirs), from, piece.receives[f], kAnswers);
    if (mine.size() > 0) send(own_at(mine.begin), bytes_of(mine), to, piece.sends[t], kAnswers);
  }
}

void PairwiseSum::sum(Piece& piece, std::int64_t& work_left) {
  const PartRange mine = range_of(piece.number, rank());
  const auto row_bytes = static_cast<std::int64_t>(size_of(row_.type)) * size();
  const std::int64_t count =
      std::min(mine.size() - piece.summed, std::max<std::int64_t>(1, work_left / row_bytes));
  for (int from = 0; from < size(); ++from)
    sources_[static_cast<std::size_t>(from)] = from == rank()
                                                   ? at(mine.begin + piece.summed)
                                                   : element_at(slot(piece, from), row_.type, piece.summed);
  void* const target = own_at(mine.begin + piece.summed);
  sum_to_all(row_.type, sources_, std::span(&target, 1), count);
  piece.summed += count;
  work_left -= count * row_bytes;
}

bool PairwiseSum::all_complete(Piece& piece) {
  const auto is_complete = [](MPI_Request& request) { return complete(request); };
  return std::all_of(piece.receives.begin(), piece.receives.end(), is_complete) &&
         std::all_of(piece.sends.begin(), piece.sends.end(), is_complete);
}

PartRange PairwiseSum::range_of(std::int64_t number, int part) const {
  const PartRange& whole = row_.parts[static_cast<std::size_t>(part)];
  return {std::min(whole.begin + number * piece_elements_, whole.end),
          std::min(whole.begin + (number + 1) * piece_elements_, whole.end)};
}

std::size_t PairwiseSum::bytes_of(PartRange range) const {
  return static_cast<std::size_t>(range.size()) * size_of(row_.type);
}

/// An element of this rank's part, counted in the row.
std::byte* PairwiseSum::own_at(std::int64_t element) const {
  return element_at(row_.own, row_.type, element - row_.parts[static_cast<std::size_t>(rank())].begin);
}

/// Where the contribution of rank `from` is received.
std::byte* PairwiseSum::slot(const Piece& piece, int from) const {
  const std::int64_t row = (piece.number % kPieces) * size() + from;
  return element_at(scratch(), row_.type, row * piece_elements_);
}

std::string PairwiseSum::awaited() const {
  std::vector<int> late;
  for (int other = 0; other < size(); ++other) {
    const auto o = static_cast<std::size_t>(other);
    const auto waits = [o](const Piece& piece) {
      return piece.receives[o] != MPI_REQUEST_NULL || piece.sends[o] != MPI_REQUEST_NULL;
    };
    if (std::any_of(in_flight_.begin(), in_flight_.end(), waits)) late.push_back(other);
  }
  return name_ranks(late);
}

}  // namespace trireme
