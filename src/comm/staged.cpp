// SPDX-License-Identifier: Apache-2.0
#include "src/comm/staged.h"

#include <utility>

#include "src/core/error.h"

namespace trireme {

StagedCommunicator::StagedCommunicator(std::unique_ptr<Communicator> host, Device& device)
    : host_(std::move(host)),
      device_(device),
      blocks_(&device.host_memory()),
      copies_(device.make_stream()),
      made_(device.make_event()),
      copied_(device.make_event()) {}

StagedCommunicator::~StagedCommunicator() {
  try {
    copies_->synchronize();  // the blocks are still copied to and from
  } catch (const std::exception&) {
    // The device is gone, and whoever uses it next says so.
  }
}

std::string StagedCommunicator::description() const {
  return fmt::format("{}, by way of the host's memory", host_->description());
}

std::unique_ptr<Buffer> StagedCommunicator::allocate(std::size_t bytes) {
  return size() == 1 ? device_.allocate(bytes) : StagedMemory::allocate(memory_, bytes, device_, *host_);
}

void StagedCommunicator::let_wait(Stream& waiting, Stream& awaited, Event& event) {
  awaited.record(event);
  waiting.wait(event);
}

StagedCommunicator::Staged StagedCommunicator::stage(const Tensor& tensor) {
  Staged staged{tensor, tensor, nullptr};
  staged.host.data = memory_->image_of(tensor.data, tensor.bytes());
  if (staged.host.data != nullptr || tensor.bytes() == 0) return staged;
  std::byte* const block = blocks_.take(tensor.bytes());
  staged.host.data = block;
  staged.block = block;
  return staged;
}

void StagedCommunicator::copy_to_host(const Staged& staged, Stream& stream) {
  let_wait(*copies_, stream, *made_);
  device_.copy(staged.host, staged.device, *copies_);
}

void StagedCommunicator::copy_alone(const Tensor& from, const Tensor& to, Stream& stream) {
  if (to.data != from.data) device_.copy(to, from, stream);
}

Ticket StagedCommunicator::keep(Ticket ticket, std::vector<Staged> parts) {
  if (ticket.id != 0) in_flight_.emplace(ticket.id, std::move(parts));
  return ticket;
}

Ticket StagedCommunicator::allreduce(const Tensor& tensor, Stream& stream, std::string_view what) {
  if (size() == 1 || tensor.count() == 0) return {};
  const Staged staged = stage(tensor);
  copy_to_host(staged, stream);
  return keep(host_->allreduce(staged.host, *copies_, what), {staged});
}

Ticket StagedCommunicator::reduce_scatter(const Tensor& tensor, const Tensor& result, Stream& stream,
                                          std::string_view what) {
  if (result.count() == 0) return {};
  if (size() == 1) {
    copy_alone(tensor, result, stream);
    return {};
  }
  const Staged whole = stage(tensor);
  Staged part{result, result, nullptr};  // is made in its place of the whole: in place for the host
  part.host.data =
      static_cast<std::byte*>(whole.host.data) + result.bytes() * static_cast<std::size_t>(rank());
  copy_to_host(whole, stream);
  return keep(host_->reduce_scatter(whole.host, part.host, *copies_, what), {whole, part});
}

Ticket StagedCommunicator::allgather(const Tensor& tensor, const Tensor& result, Stream& stream,
                                     std::string_view what) {
  if (tensor.count() == 0) return {};
  if (size() == 1) {
    copy_alone(tensor, result, stream);
    return {};
  }
  const Staged whole = stage(result);
  Staged part{tensor, tensor, nullptr};
  part.host.data =
      static_cast<std::byte*>(whole.host.data) + tensor.bytes() * static_cast<std::size_t>(rank());
  copy_to_host(part, stream);
  return keep(host_->allgather(part.host, whole.host, *copies_, what), {whole});
}

Ticket StagedCommunicator::broadcast(const Tensor& tensor, int root, Stream& stream, std::string_view what) {
  if (size() == 1 || tensor.count() == 0) return {};
  const Staged staged = stage(tensor);
  if (root == rank()) copy_to_host(staged, stream);
  return keep(host_->broadcast(staged.host, root, *copies_, what), {staged});
}

void StagedCommunicator::wait(Ticket ticket, Stream& stream) {
  host_->wait(ticket, stream);
  const auto found = in_flight_.find(ticket.id);
  if (found == in_flight_.end()) return;  // nothing was done, or it was waited for already
  const std::vector<Staged> parts = std::move(found->second);
  in_flight_.erase(found);
  let_wait(*copies_, stream, *made_);  // the stream may still use what was there
  device_.copy(parts.back().device, parts.back().host, *copies_);
  let_wait(stream, *copies_, *copied_);
  // The next user of a block copies into it on the same stream, behind this copy.
  for (const Staged& part : parts)
    if (part.block != nullptr) blocks_.give_back(part.block);
}

}  // namespace trireme
