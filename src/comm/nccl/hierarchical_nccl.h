// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <vector>

#include "src/comm/nccl/nccl_communicator.h"
#include "src/comm/node_map.h"
#include "src/comm/staged.h"

namespace trireme {

/// Several nodes of equally many GPUs: NCCL inside each, rings of messages between them by way of the host's
/// memory, where each rank carries a slice of its own.
///
///     reduce-scatter (NCCL)      wires (MpiRing)              allgather (NCCL)
///     rank 0: sums slice 0  ──►  slice 0 <--> rank 2's  ──►   slices 0, 1
///     rank 1: sums slice 1  ──►  slice 1 <--> rank 3's  ──►   slices 0, 1
///
/// What does not divide by the ranks of a node, each of them sums, over its own wire: in the same order, so
/// to the same bits. The second part on the node begins in wait(): all ranks must wait in the same order.
class HierarchicalNccl final : public Communicator {
 public:
  /// Collective over `group`; see Nccl. All nodes of `map` have as many ranks.
  HierarchicalNccl(const Group& group, CommThread& thread, const GpuCommunication& gpu,
                   const CommTuning& tuning, NodeMap map);
  ~HierarchicalNccl() override;

  int rank() const override { return rank_; }
  int size() const override { return static_cast<int>(map_.places.size()); }
  std::string_view name() const override { return "hierarchical"; }
  std::string description() const override;
  bool can_sum(DType type) const override { return node_.can_sum(type); }

  Ticket allreduce(const Tensor& tensor, Stream& stream, std::string_view what) override;
  Ticket reduce_scatter(const Tensor& tensor, const Tensor& result, Stream& stream,
                        std::string_view what) override;
  Ticket allgather(const Tensor& tensor, const Tensor& result, Stream& stream,
                   std::string_view what) override;
  Ticket broadcast(const Tensor& tensor, int root, Stream& stream, std::string_view what) override;
  void wait(Ticket ticket, Stream& stream) override;
  bool done(Ticket ticket) override;
  /// Device memory.
  std::unique_ptr<Buffer> allocate(std::size_t bytes) override { return device_.allocate(bytes); }

 private:
  /// What is on the wires, and the node's part behind them.
  struct InFlight {
    std::vector<Ticket> wires;
    std::vector<std::function<Ticket()>> spread;
  };

  const NodeMap::Place& place() const { return map_.place(rank_); }
  void add_allreduce(InFlight& work, const Tensor& tensor, std::string_view what);
  void add_broadcast(InFlight& work, const Tensor& tensor, int root, std::string_view what);
  Ticket keep(InFlight work);
  /// `waiting` goes on after what is in `awaited` so far.
  void join(Stream& awaited, Stream& waiting);

  const NodeMap map_;
  const int rank_;
  Device& device_;
  Nccl node_;
  std::unique_ptr<StagedCommunicator> wire_;  // ranks are numbers of nodes; null on one node
  const std::unique_ptr<Stream> between_;     // from the node to the wires and back
  const std::unique_ptr<Event> joint_;
  std::map<std::uint64_t, InFlight> in_flight_;  // by ticket
  std::uint64_t last_ticket_ = 0;
};

}  // namespace trireme
