// SPDX-License-Identifier: Apache-2.0
#include "src/comm/host_communicator.h"

#include <cstring>
#include <utility>

#include "src/comm/reduce.h"
#include "src/core/error.h"

namespace trireme {

std::string HostCommunicator::describe(std::string_view verb, std::string_view what,
                                       const Tensor& tensor) const {
  return fmt::format("{} of {}, {:.1f} KiB, on rank {} of {}", verb, what,
                     static_cast<double>(tensor.bytes()) / 1024, rank_, size_);
}

Ticket HostCommunicator::submit(std::unique_ptr<Collective> collective, const Tensor& tensor,
                                Stream& stream) {
  // What makes the tensors must be done before others read them.
  std::unique_ptr<Event> made = stream.make_event();
  if (made != nullptr) {
    stream.record(*made);
    if (order_ == nullptr) order_ = std::make_shared<StartOrder>();
  }
  if (order_ != nullptr)
    collective = std::make_unique<GatedCollective>(std::move(collective), std::move(made), order_);
  return thread_.submit(std::move(collective), tensor.bytes());
}

Ticket HostCommunicator::copy_alone(const Tensor& from, const Tensor& to, Stream& stream) {
  stream.synchronize();
  if (to.data != from.data) std::memcpy(to.data, from.data, from.bytes());
  return {};
}

Ticket HostCommunicator::allreduce(const Tensor& tensor, Stream& stream, std::string_view what) {
  TRIREME_ASSERT(can_sum(tensor.dtype), "allreduce takes the types that this communicator sums");
  if (size_ == 1 || tensor.count() == 0) return {};
  return submit(make_allreduce(tensor, describe("allreduce", what, tensor)), tensor, stream);
}

Ticket HostCommunicator::reduce_scatter(const Tensor& tensor, const Tensor& result, Stream& stream,
                                        std::string_view what) {
  TRIREME_ASSERT(can_sum(tensor.dtype) && result.dtype == tensor.dtype,
                 "reduce_scatter takes the types that this communicator sums");
  TRIREME_ASSERT(tensor.count() == result.count() * size_, "reduce_scatter takes one part per rank");
  if (result.count() == 0) return {};
  if (size_ == 1) return copy_alone(tensor, result, stream);
  return submit(make_reduce_scatter(tensor, result, describe("reduce-scatter", what, tensor)), tensor,
                stream);
}

Ticket HostCommunicator::allgather(const Tensor& tensor, const Tensor& result, Stream& stream,
                                   std::string_view what) {
  TRIREME_ASSERT(result.dtype == tensor.dtype, "allgather does not convert");
  TRIREME_ASSERT(result.count() == tensor.count() * size_, "allgather gives one part per rank");
  if (tensor.count() == 0) return {};
  if (size_ == 1) return copy_alone(tensor, result, stream);
  return submit(make_allgather(tensor, result, describe("allgather", what, result)), result, stream);
}

Ticket HostCommunicator::broadcast(const Tensor& tensor, int root, Stream& stream, std::string_view what) {
  TRIREME_ASSERT(root >= 0 && root < size_, "the root of a broadcast is a rank");
  if (size_ == 1 || tensor.count() == 0) return {};
  return submit(make_broadcast(tensor, root, describe("broadcast", what, tensor)), tensor, stream);
}

bool HostCommunicator::can_sum(DType type) const {
  return can_be_summed(type);
}

void HostCommunicator::wait(Ticket ticket, Stream& /*stream*/) {
  // The result is in host memory when this returns: whatever the stream gets next comes after it.
  if (ticket.id != 0) thread_.wait(ticket);
}

bool HostCommunicator::done(Ticket ticket) {
  return ticket.id == 0 || thread_.done(ticket);
}

std::unique_ptr<Buffer> HostCommunicator::allocate(std::size_t bytes) {
  return HostMemory().allocate(bytes);
}

}  // namespace trireme
