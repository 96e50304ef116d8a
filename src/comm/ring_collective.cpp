// SPDX-License-Identifier: Apache-2.0
// The ring (Patarasuk and Yuan, "Bandwidth optimal all-reduce algorithms for clusters of workstations",
// 2009). Every rank sends to its right neighbour only and receives from its left one. The row is cut into one
// chunk per rank. In P - 1 steps of reduce-scatter each chunk travels once round, and every rank on its way
// adds its own numbers, until it is complete on its owner. In P - 1 steps of allgather the complete chunks
// travel round again and are stored. Each rank sends 2 (P - 1) / P of the row, which is the least that there
// is.
//
//        step:   0      1            2                  3           4           5
//                reduce-scatter                         allgather
//   rank 0    ..3    ..23         .123 =: own 0     0 ->        3 ->        2 ->
//   rank 1    0..    30..         230. =: own 1     1 ->        0 ->        3 ->       (P = 4)
//   rank 2    .1.    01..         301. =: own 2     2 ->        1 ->        0 ->
//   rank 3    ..2    .12.         012. =: own 3     3 ->        2 ->        1 ->
//
// In step s rank r sends chunk r - s - 1 and receives chunk r - s - 2 (mod P). Chunks depend on the count
// only, and so does the order of every sum: chunk c is ((x[c+1] + x[c+2]) + ...) + x[c].
//
// Long chunks go in segments. Some of them, the lanes, circle side by side: while one is added, others are on
// the wire. When the lanes have gone all the way round, the next wave of segments starts; so a segment stays
// in the cache from its first to its last step, whatever the length of the row.
//
//   items:  step 0: a b c d | step 1: a b c d | ... | step 2P-3: a b c d || step 0: e f g h | ...
//           <---- lanes --->                                            ||  <- the next wave
//
// All messages of a rank are one list of items, which it sends in order and receives in order. Item k of a
// step after the first may be sent when item k - lanes has been received and added; nothing else orders them.
// Sums are received into scratch memory, everything else into its place.
#include "src/comm/ring_collective.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "src/core/error.h"

namespace trireme {
namespace {

constexpr std::int64_t kMaxMessage = std::int64_t{1} << 30;  // a count must fit an int
constexpr std::int64_t kWorkOfStep = std::int64_t{4} << 20;  // bytes to add or copy per advance()
constexpr std::int64_t kAlignment = 64;                      // of segments, in bytes

std::int64_t ceil_div(std::int64_t a, std::int64_t b) {
  return (a + b - 1) / b;
}

int wrap(int rank, int size) {
  return ((rank % size) + size) % size;
}

std::size_t scratch_bytes(const RingRow& row, const RingPlan& plan, int slots) {
  const bool sums = plan.first_step < static_cast<int>(row.chunks.size()) - 1;
  return sums ? static_cast<std::size_t>(plan.segment) * size_of(row.type) * static_cast<std::size_t>(slots)
              : 0;
}

}  // namespace

RingPlan RingPlan::make(Half half, const RingRow& row, std::int64_t segment_bytes) {
  const int ranks = static_cast<int>(row.chunks.size());
  const auto element = static_cast<std::int64_t>(size_of(row.type));
  std::int64_t longest = 0;
  for (const PartRange& chunk : row.chunks) longest = std::max(longest, chunk.size());

  RingPlan plan;
  plan.first_step = half == Half::allgather ? ranks - 1 : 0;
  plan.end_step = half == Half::reduce_scatter ? ranks - 1 : 2 * (ranks - 1);
  const std::int64_t bytes = longest * element;
  const std::int64_t segments = ceil_div(bytes, std::clamp(segment_bytes, kAlignment, kMaxMessage));
  plan.lanes = static_cast<int>(std::clamp<std::int64_t>(segments, 1, std::int64_t{kMaxLanes}));
  // Segments of one length, and full waves.
  plan.waves = ceil_div(segments, plan.lanes);
  plan.segment = ceil_div(ceil_div(bytes, plan.waves * plan.lanes), kAlignment) * kAlignment / element;
  return plan;
}

std::int64_t RingPlan::items() const {
  return waves * lanes * (end_step - first_step);
}

int RingPlan::step_of(std::int64_t item) const {
  return first_step + static_cast<int>(item / lanes % (end_step - first_step));
}

PartRange RingPlan::range_of(std::int64_t item, PartRange chunk) const {
  const std::int64_t number = item / (lanes * (end_step - first_step)) * lanes + item % lanes;
  return {std::min(chunk.begin + number * segment, chunk.end),
          std::min(chunk.begin + (number + 1) * segment, chunk.end)};
}

RingCollective::RingCollective(std::shared_ptr<MessageContext> context, RingRow row, const RingPlan& plan,
                               std::string description)
    : MessageCollective(std::move(context), scratch_bytes(row, plan, kWindow), std::move(description)),
      row_(std::move(row)),
      plan_(plan),
      right_(wrap(rank() + 1, size())),
      left_(wrap(rank() - 1, size())) {
  sends_.fill(MPI_REQUEST_NULL);
  receives_.fill(MPI_REQUEST_NULL);
}

bool RingCollective::advance() {
  // Sends are posted before anything is tested, because a test may copy a long message, for which the right
  // neighbour would have to wait.
  std::int64_t work_left = kWorkOfStep;
  bool moved = true;
  while (moved && work_left > 0) {
    moved = post_receives();
    moved |= post_sends();
    moved |= complete_sends();
    moved |= take_receive(work_left);
  }
  const bool own_in_place = copy_own(work_left);
  return own_in_place && received_ == plan_.items() && sends_complete_ == plan_.items();
}

bool RingCollective::complete_sends() {
  bool moved = false;
  while (sends_complete_ < sends_posted_ && complete(sends_[slot_of(sends_complete_)])) {
    ++sends_complete_;
    moved = true;
  }
  return moved;
}

bool RingCollective::post_receives() {
  bool moved = false;
  while (receives_posted_ < plan_.items() && receives_posted_ - received_ < kWindow) {
    const std::int64_t item = receives_posted_;
    // The allgather stores into memory that the reduce-scatter sent from P - 1 steps before.
    const bool reuses = plan_.first_step == 0 && !sums(item);
    if (reuses && sends_complete_ <= item - std::int64_t{size() - 1} * plan_.lanes) break;
    const PartRange range = received_range(item);
    if (range.size() > 0)
      receive(sums(item) ? slot(item) : row_.at(range.begin), bytes_of(range), left_,
              receives_[slot_of(item)]);
    ++receives_posted_;
    moved = true;
  }
  return moved;
}

bool RingCollective::take_receive(std::int64_t& work_left) {
  if (received_ == receives_posted_ || work_left <= 0 || !complete(receives_[slot_of(received_)]))
    return false;
  if (store(received_, work_left)) {
    ++received_;
    stored_ = 0;
  }
  return true;
}

bool RingCollective::store(std::int64_t item, std::int64_t& work_left) {
  if (!sums(item)) return true;
  const PartRange range = received_range(item);
  const auto element = static_cast<std::int64_t>(size_of(row_.type));
  const std::int64_t count = std::min(range.size() - stored_, std::max<std::int64_t>(1, work_left / element));
  const std::int64_t begin = range.begin + stored_;
  const bool is_last = plan_.step_of(item) == size() - 2;
  add(row_.type, is_last ? own_at(begin) : row_.at(begin), row_.at(begin),
      element_at(slot(item), row_.type, stored_), count);
  stored_ += count;
  work_left -= count * element;
  return stored_ == range.size();
}

bool RingCollective::post_sends() {
  bool moved = false;
  while (sends_posted_ < plan_.items() && sends_posted_ - sends_complete_ < kWindow) {
    const std::int64_t item = sends_posted_;
    const int step = plan_.step_of(item);
    if (step > plan_.first_step && received_ <= item - plan_.lanes) break;
    const PartRange range = sent_range(item);
    const std::byte* from = step == size() - 1 ? own_at(range.begin) : row_.at(range.begin);
    if (range.size() > 0) send(from, bytes_of(range), right_, sends_[slot_of(item)]);
    ++sends_posted_;
    moved = true;
  }
  return moved;
}

/// An allgather from memory apart also stores this rank's part. True when there is nothing left of it.
bool RingCollective::copy_own(std::int64_t& work_left) {
  const PartRange chunk = row_.chunk(rank());
  if (plan_.first_step == 0 || row_.own == row_.at(chunk.begin)) return true;
  const auto element = static_cast<std::int64_t>(size_of(row_.type));
  const std::int64_t count = std::clamp<std::int64_t>(work_left / element, 0, chunk.size() - own_copied_);
  const std::int64_t begin = chunk.begin + own_copied_;
  if (count > 0)
    std::memcpy(row_.at(begin), own_at(begin), static_cast<std::size_t>(count) * size_of(row_.type));
  own_copied_ += count;
  return own_copied_ == chunk.size();
}

PartRange RingCollective::sent_range(std::int64_t item) const {
  return plan_.range_of(item, row_.chunk(wrap(rank() - plan_.step_of(item) - 1, size())));
}

PartRange RingCollective::received_range(std::int64_t item) const {
  return plan_.range_of(item, row_.chunk(wrap(rank() - plan_.step_of(item) - 2, size())));
}

/// An element of this rank's chunk, counted in the row.
std::byte* RingCollective::own_at(std::int64_t element) const {
  return element_at(row_.own, row_.type, element - row_.chunk(rank()).begin);
}

std::byte* RingCollective::slot(std::int64_t item) const {
  return element_at(scratch(), row_.type, static_cast<std::int64_t>(slot_of(item)) * plan_.segment);
}

std::size_t RingCollective::bytes_of(PartRange range) const {
  return static_cast<std::size_t>(range.size()) * size_of(row_.type);
}

std::string RingCollective::awaited() const {
  if (received_ < receives_posted_) return name_ranks({left_});
  if (sends_complete_ < sends_posted_) return name_ranks({right_});
  return {};
}

}  // namespace trireme
