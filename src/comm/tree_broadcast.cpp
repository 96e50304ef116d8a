// SPDX-License-Identifier: Apache-2.0
// A broadcast down a tree: a rank passes every segment on as soon as it has it, so that all edges of the tree
// are busy at once.
//
//   long rows: a chain, each byte crosses each link once       short rows: a binomial tree, few hops
//
//     root -> 1 -> 2 -> 3        segment d on the first link,          root --> 4 --> 6 --> 7
//          d    c    b           c on the second, ...                   | \      \--> 5
//                                                                       |  --> 2 --> 3
//                                                                        --> 1
#include "src/comm/tree_broadcast.h"

#include <algorithm>
#include <utility>

namespace trireme {
namespace {

constexpr std::int64_t kMaxMessage = std::int64_t{1} << 30;  // a count must fit an int

}  // namespace

TreePlace TreePlace::chain(int ranks, int rank, int root) {
  const int position = (rank - root + ranks) % ranks;
  TreePlace place;
  if (position > 0) place.parent = (rank - 1 + ranks) % ranks;
  if (position < ranks - 1) place.children.push_back((rank + 1) % ranks);
  return place;
}

TreePlace TreePlace::binomial(int ranks, int rank, int root) {
  const int position = (rank - root + ranks) % ranks;
  TreePlace place;
  // The parent lacks the lowest set bit; the children add one below it, the farthest first.
  int bit = 1;
  while (bit < ranks && (position & bit) == 0) bit *= 2;
  if (position > 0) place.parent = (position - bit + root) % ranks;
  for (int lower = bit / 2; lower > 0; lower /= 2)
    if (position + lower < ranks) place.children.push_back((position + lower + root) % ranks);
  return place;
}

TreeBroadcast::TreeBroadcast(std::shared_ptr<MessageContext> context, const Tensor& tensor, TreePlace place,
                             std::int64_t segment_bytes, std::string description)
    : MessageCollective(std::move(context), 0, std::move(description)),
      tensor_(tensor),
      place_(std::move(place)),
      segment_bytes_(static_cast<std::size_t>(std::clamp<std::int64_t>(segment_bytes, 1, kMaxMessage))),
      segments_(static_cast<std::int64_t>((tensor.bytes() + segment_bytes_ - 1) / segment_bytes_)),
      receives_(static_cast<std::size_t>(kWindow), MPI_REQUEST_NULL),
      sends_(static_cast<std::size_t>(kWindow) * place_.children.size(), MPI_REQUEST_NULL) {
  if (place_.parent < 0) receives_posted_ = received_ = segments_;
}

bool TreeBroadcast::advance() {
  // Sends are posted before anything is tested, because a test may copy a long message.
  bool moved = true;
  while (moved) {
    moved = post_receives();
    moved |= post_sends();
    moved |= complete_sends();
    moved |= complete_receive();
  }
  return sent_ == segments_;
}

bool TreeBroadcast::post_receives() {
  bool moved = false;
  for (; receives_posted_ < segments_ && receives_posted_ - received_ < kWindow; ++receives_posted_) {
    receive(data_of(receives_posted_), bytes_of(receives_posted_), place_.parent,
            receives_[static_cast<std::size_t>(receives_posted_ % kWindow)]);
    moved = true;
  }
  return moved;
}

bool TreeBroadcast::complete_receive() {
  if (received_ == receives_posted_ || !complete(receives_[static_cast<std::size_t>(received_ % kWindow)]))
    return false;
  ++received_;
  return true;
}

bool TreeBroadcast::post_sends() {
  bool moved = false;
  for (; sends_posted_ < received_ && sends_posted_ - sent_ < kWindow; ++sends_posted_) {
    for (std::size_t c = 0; c < place_.children.size(); ++c)
      send(data_of(sends_posted_), bytes_of(sends_posted_), place_.children[c],
           send_request(sends_posted_, c));
    moved = true;
  }
  return moved;
}

bool TreeBroadcast::complete_sends() {
  bool moved = false;
  for (; sent_ < sends_posted_; ++sent_) {
    for (std::size_t c = 0; c < place_.children.size(); ++c)
      if (!complete(send_request(sent_, c))) return moved;
    moved = true;
  }
  return moved;
}

std::byte* TreeBroadcast::data_of(std::int64_t segment) const {
  return static_cast<std::byte*>(tensor_.data) + static_cast<std::size_t>(segment) * segment_bytes_;
}

std::size_t TreeBroadcast::bytes_of(std::int64_t segment) const {
  return std::min(segment_bytes_, tensor_.bytes() - static_cast<std::size_t>(segment) * segment_bytes_);
}

MPI_Request& TreeBroadcast::send_request(std::int64_t segment, std::size_t child) {
  return sends_[static_cast<std::size_t>(segment % kWindow) * place_.children.size() + child];
}

std::string TreeBroadcast::awaited() const {
  std::vector<int> late;
  if (received_ < receives_posted_) late.push_back(place_.parent);
  for (std::size_t c = 0; c < place_.children.size(); ++c) {
    const auto waits = [&](std::int64_t slot) {
      return sends_[static_cast<std::size_t>(slot) * place_.children.size() + c] != MPI_REQUEST_NULL;
    };
    bool any = false;
    for (std::int64_t slot = 0; slot < kWindow; ++slot) any |= waits(slot);
    if (any) late.push_back(place_.children[c]);
  }
  return name_ranks(late);
}

}  // namespace trireme
