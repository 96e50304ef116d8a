// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>

#include "src/comm/messages.h"
#include "src/comm/reduce.h"

namespace trireme {

/// What goes round the ring: a row of `type`, cut into one chunk per rank.
struct RingRow {
  std::byte* data = nullptr;
  DType type = DType::f32;
  std::vector<PartRange> chunks;
  /// Where the sum of this rank's chunk is stored and sent from: its place in the row, or memory apart.
  std::byte* own = nullptr;

  std::byte* at(std::int64_t element) const { return element_at(data, type, element); }
  PartRange chunk(int c) const { return chunks[static_cast<std::size_t>(c)]; }
};

/// How a ring is walked: which of the 2 (P - 1) steps, and in which pieces.
struct RingPlan {
  int first_step = 0, end_step = 0;
  int lanes = 1;               ///< segments that circle side by side
  std::int64_t segment = 0;    ///< elements
  std::int64_t waves = 0;      ///< groups of `lanes` segments
  std::int64_t items() const;  ///< messages that each rank sends and receives

  static constexpr int kMaxLanes = 4;
  enum class Half { reduce_scatter, allgather, both };
  static RingPlan make(Half half, const RingRow& row, std::int64_t segment_bytes);

  int step_of(std::int64_t item) const;
  /// The part of `chunk` that the item moves; may be empty.
  PartRange range_of(std::int64_t item, PartRange chunk) const;
};

/// Reduce-scatter, allgather, or one after the other: an allreduce. See the .cpp.
class RingCollective final : public MessageCollective {
 public:
  RingCollective(std::shared_ptr<MessageContext> context, RingRow row, const RingPlan& plan,
                 std::string description);

  std::string awaited() const override;

 private:
  bool advance() override;
  bool complete_sends();
  bool post_receives();
  bool take_receive(std::int64_t& work_left);
  bool post_sends();
  /// True when the received item is where it belongs.
  bool store(std::int64_t item, std::int64_t& work_left);
  bool copy_own(std::int64_t& work_left);

  bool sums(std::int64_t item) const { return plan_.step_of(item) < size() - 1; }
  PartRange sent_range(std::int64_t item) const;
  PartRange received_range(std::int64_t item) const;
  std::byte* own_at(std::int64_t element) const;
  std::byte* slot(std::int64_t item) const;
  std::size_t bytes_of(PartRange range) const;
  static std::size_t slot_of(std::int64_t item) { return static_cast<std::size_t>(item % kWindow); }

  static constexpr int kWindow = 2 * RingPlan::kMaxLanes;  // messages in flight each way

  RingRow row_;
  RingPlan plan_;
  int right_, left_;
  std::array<MPI_Request, kWindow> sends_, receives_;
  // Numbers of items; all are walked in order.
  std::int64_t sends_posted_ = 0, sends_complete_ = 0, receives_posted_ = 0, received_ = 0;
  std::int64_t stored_ = 0;      // elements of item `received_` that are summed already
  std::int64_t own_copied_ = 0;  // elements
};

}  // namespace trireme
