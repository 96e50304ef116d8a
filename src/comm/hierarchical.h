// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "src/comm/comm_tuning.h"
#include "src/comm/host_communicator.h"
#include "src/comm/mpi_ring.h"
#include "src/comm/node_map.h"
#include "src/comm/shm_lane.h"
#include "src/comm/shm_memory.h"

namespace trireme {

struct HierarchicalJob;

/// Several nodes: shared memory inside each, messages between them, where each rank of a node carries a slice
/// of its own. Nodes may have different numbers of ranks. Sums are those of the nodes, which are made in the
/// order of the ranks, added as MpiRing adds; bits are equal on all ranks.
class Hierarchical final : public HostCommunicator {
 public:
  /// Collective. `window_bytes` as in SharedMemory, of every rank of its node.
  Hierarchical(const Group& group, CommThread& thread, std::size_t window_bytes, const CommTuning& tuning);
  /// Takes other nodes than those that there are: the ranks of a node of `map` must be on one real node.
  Hierarchical(const Group& group, CommThread& thread, std::size_t window_bytes, const CommTuning& tuning,
               NodeMap map);

  std::string_view name() const override { return "hierarchical"; }
  std::string description() const override;
  /// As SharedMemory::allocate.
  std::unique_ptr<Buffer> allocate(std::size_t bytes) override;

 private:
  std::unique_ptr<Collective> make_allreduce(const Tensor& tensor, std::string description) override;
  /// An allreduce of which each rank keeps its part.
  std::unique_ptr<Collective> make_reduce_scatter(const Tensor& tensor, const Tensor& result,
                                                  std::string description) override;
  /// A broadcast of every part, all at once.
  std::unique_ptr<Collective> make_allgather(const Tensor& tensor, const Tensor& result,
                                             std::string description) override;
  std::unique_ptr<Collective> make_broadcast(const Tensor& tensor, int root,
                                             std::string description) override;
  HierarchicalJob job_of(const Tensor& tensor) const;
  int here() const { return map_.place(rank()).node; }

  const NodeMap map_;
  Group node_;
  std::shared_ptr<ShmMemory> memory_;
  ShmLane lane_;
  std::unique_ptr<MpiRing> wire_;  // null on ranks beyond the wires, and on one node
};

}  // namespace trireme
