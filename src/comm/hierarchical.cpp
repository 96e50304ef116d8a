// SPDX-License-Identifier: Apache-2.0
#include "src/comm/hierarchical.h"

#include <utility>
#include <vector>

#include "src/comm/collective_list.h"
#include "src/comm/hierarchical_collective.h"
#include "src/comm/shm_collective.h"

namespace trireme {
namespace {

Group split(const Group& group, int color) {
  MPI_Comm part = MPI_COMM_NULL;
  mpi_check(MPI_Comm_split(group.get(), color, 0, &part), "MPI_Comm_split");
  return Group(part);
}

/// The ranks of the same place on all nodes: ranks of the wire are numbers of nodes.
std::unique_ptr<MpiRing> make_wire(const Group& group, CommThread& thread, const CommTuning& tuning,
                                   const NodeMap& map) {
  const int local = map.place(group.rank()).local;
  const bool has_one = local < map.smallest() && map.nodes() > 1;
  MPI_Comm part = MPI_COMM_NULL;
  mpi_check(MPI_Comm_split(group.get(), has_one ? local : MPI_UNDEFINED, map.place(group.rank()).node, &part),
            "MPI_Comm_split");
  return has_one ? std::make_unique<MpiRing>(Group(part), thread, tuning) : nullptr;
}

/// `make` makes the collective of a slice.
template <typename Make>
NodeWires make_wires(const HierarchicalJob& job, const Make& make) {
  NodeWires wires;
  for (int piece = 0; piece < job.pieces(); ++piece) {
    const PartRange slice = job.slice(piece, job.local);
    void* const data = element_at(job.tensor.data, job.tensor.dtype, slice.begin);
    wires.add(slice.size() > 0 ? make(Tensor{data, Shape{slice.size()}, job.tensor.dtype}) : nullptr);
  }
  return wires;
}

}  // namespace

Hierarchical::Hierarchical(const Group& group, CommThread& thread, std::size_t window_bytes,
                           const CommTuning& tuning)
    : Hierarchical(group, thread, window_bytes, tuning, read_node_map(group)) {}

Hierarchical::Hierarchical(const Group& group, CommThread& thread, std::size_t window_bytes,
                           const CommTuning& tuning, NodeMap map)
    : HostCommunicator(thread, group.rank(), group.size()),
      map_(std::move(map)),
      node_(split(group, here())),
      memory_(std::make_shared<ShmMemory>(node_, window_bytes)),
      lane_(memory_->make_lane(map_.on_node(here()))),
      wire_(make_wire(group, thread, tuning, map_)) {
  memory_->meet("all ranks of the node to prepare shared memory");
}

std::string Hierarchical::description() const {
  if (map_.nodes() == 1) return "hierarchical: shared memory on the 1 node that there is";
  return fmt::format("hierarchical: shared memory on {} nodes, {} between them", map_.nodes(),
                     map_.smallest() == 1 ? "one wire" : fmt::format("{} wires at once", map_.smallest()));
}

std::unique_ptr<Buffer> Hierarchical::allocate(std::size_t bytes) {
  if (auto buffer = ShmMemory::allocate(memory_, bytes)) return buffer;
  return HostCommunicator::allocate(bytes);
}

HierarchicalJob Hierarchical::job_of(const Tensor& tensor) const {
  return {tensor,          true, map_.place(rank()).local, static_cast<int>(map_.on_node(here()).size()),
          map_.smallest(), -1};
}

std::unique_ptr<Collective> Hierarchical::make_allreduce(const Tensor& tensor, std::string description) {
  const HierarchicalJob job = job_of(tensor);
  if (map_.nodes() == 1) {
    const ShmJob alone{ShmJob::Kind::allreduce, tensor, tensor, 0, job.local, job.local_size};
    return std::make_unique<ShmCollective>(lane_, alone, std::move(description));
  }
  NodeWires wires =
      make_wires(job, [&](const Tensor& slice) { return wire_->make_allreduce(slice, description); });
  return std::make_unique<HierarchicalCollective>(lane_, job, 0, std::move(wires), std::move(description));
}

std::unique_ptr<Collective> Hierarchical::make_broadcast(const Tensor& tensor, int root,
                                                         std::string description) {
  HierarchicalJob job = job_of(tensor);
  const NodeMap::Place& from = map_.place(root);
  if (map_.nodes() == 1) {
    const ShmJob alone{ShmJob::Kind::broadcast, tensor, tensor, from.local, job.local, job.local_size};
    return std::make_unique<ShmCollective>(lane_, alone, std::move(description));
  }
  job.sums = false;
  if (from.node == here()) job.local_root = from.local;
  NodeWires wires = make_wires(
      job, [&](const Tensor& slice) { return wire_->make_broadcast(slice, from.node, description); });
  return std::make_unique<HierarchicalCollective>(lane_, job, root, std::move(wires), std::move(description));
}

std::unique_ptr<Collective> Hierarchical::make_allgather(const Tensor& tensor, const Tensor& result,
                                                         std::string description) {
  const std::int64_t count = tensor.count();
  const auto part = [&](int r) { return element_at(result.data, result.dtype, r * count); };
  std::vector<std::unique_ptr<Collective>> parts;
  parts.reserve(static_cast<std::size_t>(size()));
  for (int r = 0; r < size(); ++r)
    parts.push_back(
        make_broadcast(r == rank() ? tensor : Tensor{part(r), Shape{count}, result.dtype}, r, description));
  return std::make_unique<CollectiveList>(
      std::move(parts), CollectiveList::Copy{tensor.as<std::byte>(), part(rank()), tensor.bytes()},
      std::move(description));
}

std::unique_ptr<Collective> Hierarchical::make_reduce_scatter(const Tensor& tensor, const Tensor& result,
                                                              std::string description) {
  const std::byte* const own = element_at(tensor.data, tensor.dtype, rank() * result.count());
  std::vector<std::unique_ptr<Collective>> parts;
  parts.push_back(make_allreduce(tensor, description));
  return std::make_unique<CollectiveList>(std::move(parts),
                                          CollectiveList::Copy{own, result.as<std::byte>(), result.bytes()},
                                          std::move(description));
}

}  // namespace trireme
