// SPDX-License-Identifier: Apache-2.0
#include "src/comm/nccl/hierarchical_nccl.h"

#include <algorithm>
#include <string>
#include <utility>

#include "src/comm/mpi_ring.h"
#include "src/comm/reduce.h"
#include "src/core/error.h"

namespace trireme {
namespace {

Group split(const Group& group, int color) {
  MPI_Comm part = MPI_COMM_NULL;
  mpi_check(MPI_Comm_split(group.get(), color, 0, &part), "MPI_Comm_split");
  return Group(part);
}

std::unique_ptr<StagedCommunicator> make_wire(const Group& group, CommThread& thread, Device& device,
                                              const CommTuning& tuning, const NodeMap& map) {
  const Group same_place = split(group, map.place(group.rank()).local);
  if (map.nodes() == 1) return nullptr;
  return std::make_unique<StagedCommunicator>(std::make_unique<MpiRing>(same_place, thread, tuning), device);
}

Tensor part_of_tensor(const Tensor& tensor, std::int64_t begin, std::int64_t count) {
  return {element_at(tensor.data, tensor.dtype, begin), Shape{count}, tensor.dtype};
}

}  // namespace

HierarchicalNccl::HierarchicalNccl(const Group& group, CommThread& thread, const GpuCommunication& gpu,
                                   const CommTuning& tuning, NodeMap map)
    : map_(std::move(map)),
      rank_(group.rank()),
      device_(*gpu.device),
      node_(split(group, place().node), thread, gpu, NcclAlgorithm::chosen_by_nccl),
      wire_(make_wire(group, thread, device_, tuning, map_)),
      between_(device_.make_stream()),
      joint_(device_.make_event()) {
  TRIREME_ASSERT(
      std::ranges::all_of(
          map_.members, [&](const auto& ranks) { return static_cast<int>(ranks.size()) == map_.smallest(); }),
      "all nodes have as many ranks");
}

HierarchicalNccl::~HierarchicalNccl() = default;

std::string HierarchicalNccl::description() const {
  return fmt::format("hierarchical: NCCL on {} node{} of {} GPU{}{}", map_.nodes(),
                     map_.nodes() == 1 ? "" : "s", map_.smallest(), map_.smallest() == 1 ? "" : "s",
                     wire_ ? ", rings of messages between them by way of the host's memory" : "");
}

void HierarchicalNccl::join(Stream& awaited, Stream& waiting) {
  awaited.record(*joint_);
  waiting.wait(*joint_);
}

Ticket HierarchicalNccl::keep(InFlight work) {
  in_flight_.emplace(++last_ticket_, std::move(work));
  return {last_ticket_};
}

void HierarchicalNccl::add_allreduce(InFlight& work, const Tensor& tensor, std::string_view what) {
  const std::int64_t slice = tensor.count() / node_.size();
  const Tensor whole = part_of_tensor(tensor, 0, slice * node_.size());
  const Tensor own = part_of_tensor(tensor, slice * place().local, slice);
  const Tensor rest = part_of_tensor(tensor, whole.count(), tensor.count() - whole.count());
  node_.wait(node_.reduce_scatter(whole, own, *between_, what), *between_);
  node_.wait(node_.allreduce(rest, *between_, what), *between_);
  if (wire_) {
    work.wires.push_back(wire_->allreduce(own, *between_, what));
    work.wires.push_back(wire_->allreduce(rest, *between_, what));
  }
  work.spread.emplace_back(
      [this, own, whole, text = std::string(what)] { return node_.allgather(own, whole, *between_, text); });
}

void HierarchicalNccl::add_broadcast(InFlight& work, const Tensor& tensor, int root, std::string_view what) {
  const NodeMap::Place from = map_.place(root);
  if (wire_ && place().local == from.local)
    work.wires.push_back(wire_->broadcast(tensor, from.node, *between_, what));
  work.spread.emplace_back([this, tensor, from, text = std::string(what)] {
    return node_.broadcast(tensor, from.local, *between_, text);
  });
}

Ticket HierarchicalNccl::allreduce(const Tensor& tensor, Stream& stream, std::string_view what) {
  TRIREME_ASSERT(can_sum(tensor.dtype), "allreduce takes the types that this communicator sums");
  if (size() == 1 || tensor.count() == 0) return {};
  join(stream, *between_);
  InFlight work;
  add_allreduce(work, tensor, what);
  return keep(std::move(work));
}

/// An allreduce of which each rank keeps its part.
Ticket HierarchicalNccl::reduce_scatter(const Tensor& tensor, const Tensor& result, Stream& stream,
                                        std::string_view what) {
  TRIREME_ASSERT(can_sum(tensor.dtype) && result.dtype == tensor.dtype,
                 "reduce_scatter takes the types that this communicator sums");
  TRIREME_ASSERT(tensor.count() == result.count() * size(), "reduce_scatter takes one part per rank");
  if (result.count() == 0) return {};
  join(stream, *between_);
  InFlight work;
  if (size() > 1) add_allreduce(work, tensor, what);
  const Tensor own = part_of_tensor(tensor, result.count() * rank_, result.count());
  work.spread.emplace_back([this, own, result] {
    if (own.data != result.data) device_.copy(result, own, *between_);
    return Ticket{};
  });
  return keep(std::move(work));
}

/// A broadcast of every part.
Ticket HierarchicalNccl::allgather(const Tensor& tensor, const Tensor& result, Stream& stream,
                                   std::string_view what) {
  TRIREME_ASSERT(result.dtype == tensor.dtype, "allgather does not convert");
  TRIREME_ASSERT(result.count() == tensor.count() * size(), "allgather gives one part per rank");
  if (tensor.count() == 0) return {};
  join(stream, *between_);
  const auto part = [&](int r) { return part_of_tensor(result, tensor.count() * r, tensor.count()); };
  if (part(rank_).data != tensor.data) device_.copy(part(rank_), tensor, *between_);
  InFlight work;
  for (int root = 0; root < size() && size() > 1; ++root) add_broadcast(work, part(root), root, what);
  return keep(std::move(work));
}

Ticket HierarchicalNccl::broadcast(const Tensor& tensor, int root, Stream& stream, std::string_view what) {
  TRIREME_ASSERT(root >= 0 && root < size(), "the root of a broadcast is a rank");
  if (size() == 1 || tensor.count() == 0) return {};
  join(stream, *between_);
  InFlight work;
  add_broadcast(work, tensor, root, what);
  return keep(std::move(work));
}

void HierarchicalNccl::wait(Ticket ticket, Stream& stream) {
  const auto found = in_flight_.find(ticket.id);
  if (found == in_flight_.end()) return;  // nothing was done, or it was waited for already
  for (const Ticket wire : found->second.wires) wire_->wait(wire, *between_);
  for (const auto& spread : found->second.spread) node_.wait(spread(), *between_);
  join(*between_, stream);
  in_flight_.erase(found);
}

bool HierarchicalNccl::done(Ticket ticket) {
  const auto found = in_flight_.find(ticket.id);
  return found == in_flight_.end() ||
         std::ranges::all_of(found->second.wires, [this](Ticket wire) { return wire_->done(wire); });
}

}  // namespace trireme
