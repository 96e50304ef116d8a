// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>

#include "src/comm/messages.h"
#include "src/comm/reduce.h"

namespace trireme {

/// A reduce-scatter or allreduce in which every number is rounded once: for 16-bit types. See the .cpp.
class PairwiseSum final : public MessageCollective {
 public:
  /// `parts`: one range of the row `data` per rank, which that rank sums. `own`: where the sum of this rank's
  /// part is stored. `answers`: whether the owners send their sums to all, into the row.
  struct Row {
    std::byte* data = nullptr;
    DType type = DType::f32;
    std::vector<PartRange> parts;
    std::byte* own = nullptr;
    bool answers = false;
  };

  /// `piece_bytes`: about how much of the row, over all parts, is in flight at once.
  PairwiseSum(std::shared_ptr<MessageContext> context, Row row, std::int64_t piece_bytes,
              std::string description);

  std::string awaited() const override;

 private:
  enum class Phase { idle, contributions, summing, answers };
  /// A piece of every part, on its way. Requests are by rank.
  struct Piece {
    Phase phase = Phase::idle;
    std::int64_t number = 0, summed = 0;
    std::vector<MPI_Request> sends, receives;
  };
  static constexpr int kPieces = 3;
  static constexpr int kContributions = 0, kAnswers = 1;  // streams

  bool advance() override;
  /// True if the piece got any further.
  bool advance(Piece& piece, std::int64_t& work_left);
  void post_contributions(Piece& piece);
  void post_answers(Piece& piece);
  void sum(Piece& piece, std::int64_t& work_left);
  static bool all_complete(Piece& piece);

  PartRange range_of(std::int64_t number, int part) const;
  std::size_t bytes_of(PartRange range) const;
  std::byte* at(std::int64_t element) const { return element_at(row_.data, row_.type, element); }
  std::byte* own_at(std::int64_t element) const;
  std::byte* slot(const Piece& piece, int from) const;

  Row row_;
  std::int64_t piece_elements_, pieces_;
  std::array<Piece, kPieces> in_flight_;
  std::vector<const void*> sources_;  // of sum(), by rank
  // Pieces go through each phase in their order, so that the messages of a stream do.
  std::int64_t contributed_ = 0, answered_ = 0, done_ = 0;
};

}  // namespace trireme
