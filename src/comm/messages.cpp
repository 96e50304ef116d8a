// SPDX-License-Identifier: Apache-2.0
#include "src/comm/messages.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <bit>
#include <utility>

#include "src/comm/world.h"
#include "src/core/error.h"

namespace trireme {

std::byte* ScratchPool::take(std::size_t bytes) {
  if (bytes == 0) return nullptr;
  const std::lock_guard lock(mutex_);
  Block* best = nullptr;
  for (Block& block : blocks_)
    if (!block.taken && block.memory->bytes() >= bytes &&
        (best == nullptr || block.memory->bytes() < best->memory->bytes()))
      best = &block;
  if (best == nullptr) {
    const std::size_t rounded = std::bit_ceil(bytes);
    blocks_.push_back(
        {source_ != nullptr ? source_->allocate(rounded) : HostMemory().allocate(rounded), false});
    best = &blocks_.back();
  }
  best->taken = true;
  return static_cast<std::byte*>(best->memory->data());
}

void ScratchPool::give_back(const std::byte* block) {
  const std::lock_guard lock(mutex_);
  for (Block& candidate : blocks_)
    if (candidate.memory->data() == block) candidate.taken = false;
}

MessageCollective::MessageCollective(std::shared_ptr<MessageContext> context, std::size_t scratch_bytes,
                                     std::string description)
    : context_(std::move(context)),
      number_(context_->next_number()),
      description_(std::move(description)),
      scratch_(context_->scratch().take(scratch_bytes)) {}

void MessageCollective::start() {
  begun_ = context_->may_begin(number_);
  if (begun_) advance();
}

bool MessageCollective::step() {
  if (ended_) return true;
  if (!begun_) {
    start();
    return false;
  }
  if (!advance()) return false;
  ended_ = true;
  context_->ended(number_);
  if (scratch_ != nullptr) context_->scratch().give_back(scratch_);
  return true;
}

void MessageCollective::send(const void* data, std::size_t bytes, int peer, MPI_Request& request,
                             int stream) const {
  mpi_check(MPI_Isend(data, static_cast<int>(bytes), MPI_BYTE, peer, context_->tag(number_, stream),
                      context_->comm(), &request),
            "MPI_Isend");
}

void MessageCollective::receive(void* data, std::size_t bytes, int peer, MPI_Request& request,
                                int stream) const {
  mpi_check(MPI_Irecv(data, static_cast<int>(bytes), MPI_BYTE, peer, context_->tag(number_, stream),
                      context_->comm(), &request),
            "MPI_Irecv");
}

bool MessageCollective::complete(MPI_Request& request) {
  if (request == MPI_REQUEST_NULL) return true;
  int flag = 0;
  mpi_check(MPI_Test(&request, &flag, MPI_STATUS_IGNORE), "MPI_Test");
  return flag != 0;
}

std::string name_ranks(const std::vector<int>& ranks) {
  if (ranks.empty()) return {};
  return fmt::format("{} {}", ranks.size() == 1 ? "rank" : "ranks", fmt::join(ranks, ", "));
}

}  // namespace trireme
