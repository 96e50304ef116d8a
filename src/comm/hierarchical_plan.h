// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "src/comm/comm_thread.h"
#include "src/comm/reduce.h"
#include "src/core/tensor.h"

namespace trireme {

/// An allreduce or a broadcast over nodes, as one rank sees it. The tensor is cut into pieces, and each piece
/// into a slice per wire; the cuts depend on the tensor only, so that they are the same on all nodes.
struct HierarchicalJob {
  Tensor tensor;
  bool sums = true;     ///< else it is a broadcast
  int local = 0;        ///< this rank among those of its node
  int local_size = 1;   ///< ranks of this node
  int wires = 1;        ///< slices of a piece; local ranks below it own one each
  int local_root = -1;  ///< broadcast: the root's place on this node, or -1 if it is on another one

  int pieces() const;
  /// Elements of the slice that local rank `owner` owns.
  PartRange slice(int piece, int owner) const;
  /// Whether the node's ranks make their slices from each other's tensors before the wire.
  bool gathers() const { return local_size > 1 && (sums || local_root >= 0); }
  /// Whether the ranks of this node get the slices from their owners.
  bool spreads() const { return local_size > 1; }
};

/// The collectives of one rank with the ranks of the same place on other nodes: one per piece, on the slice
/// that it owns, all in flight together.
class NodeWires {
 public:
  /// Null where there is nothing to do.
  void add(std::unique_ptr<Collective> collective) { wires_.push_back({std::move(collective)}); }
  void start(int piece);
  /// Moves those that are started.
  void step();
  bool done(int piece) const { return wires_[static_cast<std::size_t>(piece)].done; }
  std::string awaited() const;

 private:
  struct Wire {
    std::unique_ptr<Collective> collective;
    bool started = false, done = false;
  };
  std::vector<Wire> wires_;
};

}  // namespace trireme
