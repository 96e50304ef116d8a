// SPDX-License-Identifier: Apache-2.0
#include "src/comm/nccl_emulated/peer_messages.h"

#include <algorithm>
#include <mutex>
#include <stdexcept>
#include <utility>

namespace trireme::emulated {
namespace {

constexpr std::size_t kLargestMessage = std::size_t{1} << 30;  // MPI counts in int

void check(int status) {
  if (status != MPI_SUCCESS) throw std::runtime_error("MPI fails between emulated GPUs");
}

/// Memory that MPI may still read or write, until the process ends.
void keep_for_good(std::vector<std::byte> bytes) {
  static auto& mutex = *new std::mutex;
  static auto& kept = *new std::vector<std::vector<std::byte>>;
  const std::lock_guard lock(mutex);
  kept.push_back(std::move(bytes));
}

bool has_mpi_ended() {
  int ended = 0;
  MPI_Finalized(&ended);
  return ended != 0;
}

}  // namespace

PeerMessages::~PeerMessages() {
  if (messages_.empty() || has_mpi_ended()) return;
  for (const auto& message : messages_) {
    bool is_done = true;
    for (MPI_Request& request : message->requests)
      if (request != MPI_REQUEST_NULL) {
        is_done = false;
        MPI_Cancel(&request);
        MPI_Request_free(&request);
      }
    if (!is_done) keep_for_good(std::move(message->bytes));
  }
}

template <typename Start>
const PeerMessages::Message& PeerMessages::add(std::vector<std::byte> bytes, const Start& start) {
  messages_.push_back(std::make_unique<Message>(Message{std::move(bytes), {}}));
  Message& message = *messages_.back();
  for (std::size_t at = 0; at < message.bytes.size(); at += kLargestMessage) {
    const std::size_t size = std::min(kLargestMessage, message.bytes.size() - at);
    message.requests.push_back(MPI_REQUEST_NULL);
    check(start(message.bytes.data() + at, static_cast<int>(size), &message.requests.back()));
  }
  return message;
}

void PeerMessages::send(int rank, int tag, std::vector<std::byte> bytes) {
  add(std::move(bytes), [&](std::byte* from, int size, MPI_Request* request) {
    return MPI_Isend(from, size, MPI_BYTE, rank, tag, MPI_COMM_WORLD, request);
  });
}

const std::vector<std::byte>& PeerMessages::receive(int rank, int tag, std::size_t bytes) {
  return add(std::vector<std::byte>(bytes),
             [&](std::byte* to, int size, MPI_Request* request) {
               return MPI_Irecv(to, size, MPI_BYTE, rank, tag, MPI_COMM_WORLD, request);
             })
      .bytes;
}

bool PeerMessages::all_done() {
  bool all = true;
  for (const auto& message : messages_) {
    int done = 0;
    check(MPI_Testall(static_cast<int>(message->requests.size()), message->requests.data(), &done,
                      MPI_STATUSES_IGNORE));
    all = all && done != 0;
  }
  return all;
}

}  // namespace trireme::emulated
