// SPDX-License-Identifier: Apache-2.0
// Recursive halving and doubling (Rabenseifner, "Optimization of collective reduction operations", 2004;
// Thakur, Rabenseifner and Gropp, "Optimization of collective communication operations in MPICH", 2005): few
// messages, for short rows. On the way down each pair of ranks splits its range; each keeps the half that it
// receives and adds. On the way up the pairs give each other the finished halves.
//
//   rank        0         1         2         3
//   holds       abcd      abcd      abcd      abcd
//   distance 1  ab.. <--> ..cd      ab.. <--> ..cd        each sends the half that it gives up
//   distance 2  a...      ..c.      .b..      ...d        (0 with 2, 1 with 3)
//   distance 2  ab..      ..cd      ab..      ..cd        and back
//   distance 1  abcd <--> abcd      abcd <--> abcd
//
// A range that is short anyway is not halved: both send all of it, both add, and the way up has nothing to do
// there. Every element is summed over the same tree of ranks with or without halving, and a + b is b + a, so
// all ranks hold the same bits.
//
// With P not a power of two, P' the next lower one: the first P - P' ranks with an even number give all they
// have to their odd neighbour, sit out, and get the sum at the end.
#include "src/comm/halving_doubling.h"

#include <bit>
#include <utility>

#include "src/core/error.h"

namespace trireme {
namespace {

constexpr std::int64_t kWholeBytes = 2048;  // one message of this length costs hardly more than an empty one

}  // namespace

std::vector<PairExchange> plan_halving_doubling(std::int64_t count, DType type, int ranks, int rank) {
  const int power = static_cast<int>(std::bit_floor(static_cast<unsigned>(ranks)));
  const int extra = ranks - power;
  const PartRange whole{0, count}, nothing{};
  std::vector<PairExchange> plan;

  if (rank < 2 * extra && rank % 2 == 0)
    return {{rank + 1, whole, nothing, false}, {rank + 1, nothing, whole, false}};
  if (rank < 2 * extra) plan.push_back({rank - 1, nothing, whole, true});

  const int self = rank < 2 * extra ? rank / 2 : rank - extra;
  PartRange mine = whole;
  std::vector<PairExchange> way_up;
  for (int distance = 1; distance < power; distance *= 2) {
    const int partner = self ^ distance;
    const int peer = partner < extra ? 2 * partner + 1 : partner + extra;
    if (mine.size() * static_cast<std::int64_t>(size_of(type)) <= kWholeBytes) {
      plan.push_back({peer, mine, mine, true});
      continue;
    }
    const std::int64_t middle = mine.begin + mine.size() / 2;
    const PartRange lower{mine.begin, middle}, upper{middle, mine.end};
    const bool keeps_lower = (self & distance) == 0;
    mine = keeps_lower ? lower : upper;
    const PartRange given = keeps_lower ? upper : lower;
    plan.push_back({peer, given, mine, true});
    way_up.push_back({peer, mine, given, false});
  }
  plan.insert(plan.end(), way_up.rbegin(), way_up.rend());

  if (rank < 2 * extra) plan.push_back({rank - 1, whole, nothing, false});
  return plan;
}

HalvingDoubling::HalvingDoubling(std::shared_ptr<MessageContext> context, const Tensor& tensor,
                                 std::string description)
    : MessageCollective(std::move(context), tensor.bytes(), std::move(description)),
      tensor_(tensor),
      plan_(plan_halving_doubling(tensor.count(), tensor.dtype, size(), rank())) {
  TRIREME_ASSERT(static_cast<std::int64_t>(tensor.bytes()) <= kMaxBytes,
                 "halving-doubling is for short rows");
}

bool HalvingDoubling::advance() {
  while (done_ < plan_.size()) {
    const PairExchange& exchange = plan_[done_];
    if (posted_ == done_) {
      post(exchange);
      ++posted_;
    }
    if (!complete(receive_) || !complete(send_)) return false;
    if (exchange.adds)
      add_into(tensor_.dtype, element_at(tensor_.data, tensor_.dtype, exchange.received.begin), scratch(),
               exchange.received.size());
    ++done_;
  }
  return true;
}

void HalvingDoubling::post(const PairExchange& exchange) {
  const auto place = [&](const PartRange& range) {
    return element_at(tensor_.data, tensor_.dtype, range.begin);
  };
  const auto bytes = [&](const PartRange& range) {
    return static_cast<std::size_t>(range.size()) * size_of(tensor_.dtype);
  };
  if (exchange.received.size() > 0)
    receive(exchange.adds ? scratch() : place(exchange.received), bytes(exchange.received), exchange.peer,
            receive_);
  if (exchange.sent.size() > 0) send(place(exchange.sent), bytes(exchange.sent), exchange.peer, send_);
}

std::string HalvingDoubling::awaited() const {
  return posted_ > done_ ? name_ranks({plan_[done_].peer}) : std::string{};
}

}  // namespace trireme
