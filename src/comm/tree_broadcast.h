// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "src/comm/messages.h"
#include "src/core/tensor.h"

namespace trireme {

/// Where a rank gets a broadcast from and whom it passes it to.
struct TreePlace {
  int parent = -1;  ///< the root has none
  std::vector<int> children;

  /// Every rank passes it to the next one.
  static TreePlace chain(int ranks, int rank, int root);
  /// Depth log2(ranks).
  static TreePlace binomial(int ranks, int rank, int root);
};

/// A broadcast over a tree, in segments. See the .cpp.
class TreeBroadcast final : public MessageCollective {
 public:
  TreeBroadcast(std::shared_ptr<MessageContext> context, const Tensor& tensor, TreePlace place,
                std::int64_t segment_bytes, std::string description);

  std::string awaited() const override;

 private:
  static constexpr std::int64_t kWindow = 4;  // segments in flight on each edge of the tree

  bool advance() override;
  bool complete_receive();
  bool complete_sends();
  bool post_receives();
  bool post_sends();
  std::byte* data_of(std::int64_t segment) const;
  std::size_t bytes_of(std::int64_t segment) const;
  MPI_Request& send_request(std::int64_t segment, std::size_t child);

  Tensor tensor_;
  TreePlace place_;
  std::size_t segment_bytes_;
  std::int64_t segments_;
  std::vector<MPI_Request> receives_, sends_;
  std::int64_t receives_posted_ = 0, received_ = 0, sends_posted_ = 0, sent_ = 0;  // segments, in order
};

}  // namespace trireme
