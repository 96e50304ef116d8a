// SPDX-License-Identifier: Apache-2.0
// Every rank sends each other one what that one needs, after a header that says what it believes to do.
#include "src/comm/nccl_emulated/collective_call.h"

#include <fmt/format.h>

#include <array>
#include <cstring>

#include "kernels/simt/emulator/device_memory.h"
#include "kernels/simt/emulator/launch.h"
#include "kernels/simt/emulator/settings.h"
#include "src/comm/nccl_emulated/emulated_comm.h"
#include "src/comm/nccl_emulated/peer_messages.h"
#include "src/comm/nccl_emulated/reduction.h"

namespace trireme::emulated {
namespace {

using simt::emulator::settings;

struct Header {
  UniqueId id;
  std::uint64_t sequence, count;
  std::int32_t verb, type, operation, root;
  friend bool operator==(const Header&, const Header&) = default;
};

std::string text_of(const Header& header) {
  constexpr std::array kNames = {"AllReduce", "ReduceScatter", "AllGather", "Broadcast"};
  const auto verb = static_cast<std::size_t>(header.verb);
  return fmt::format("its collective {} is {} of {} elements of type {}, operation {}, root {}",
                     header.sequence, verb < kNames.size() ? kNames[verb] : "none", header.count, header.type,
                     header.operation, header.root);
}

class RunningCollective {
 public:
  explicit RunningCollective(const CollectiveCall& call)
      : call_(call), comm_(*call_.comm), header_{comm_.id(),  comm_.next_sequence(),
                                                 call_.count, static_cast<std::int32_t>(call_.verb),
                                                 call_.type,  call_.operation,
                                                 call_.root} {
    comm_.begin_operation();
  }
  ~RunningCollective() { comm_.end_operation(); }
  RunningCollective(const RunningCollective&) = delete;
  RunningCollective& operator=(const RunningCollective&) = delete;

  /// Whether it is done.
  bool attempt() {
    if (comm_.is_broken()) return give_up();
    if (!has_begun_) begin();
    if (!has_data_requests_) {
      if (!messages_.all_done()) return late();
      if (!headers_agree()) return give_up();
      ask_for_data();
    }
    if (!messages_.all_done()) return late();
    finish();
    return true;
  }

 private:
  std::size_t piece() const { return call_.count * size_of(call_.type); }

  /// What `rank` needs of this rank's operand.
  std::vector<std::byte> part_for(int rank) const {
    if (call_.verb == Verb::broadcast && comm_.rank() != call_.root) return {};
    const std::size_t at = call_.verb == Verb::reduce_scatter ? static_cast<std::size_t>(rank) * piece() : 0;
    return {call_.send + at, call_.send + at + piece()};
  }

  void begin() {
    has_begun_ = true;
    begun_ = std::chrono::steady_clock::now();
    if (const std::string fault = call_.fault(); !fault.empty())
      throw simt::emulator::EmulationError("a collective's " + fault);
    own_ = part_for(comm_.rank());
    headers_.resize(static_cast<std::size_t>(comm_.size()));
    for (int rank = 0; rank < comm_.size(); ++rank) {
      if (rank == comm_.rank()) continue;
      std::vector<std::byte> header(sizeof header_);
      std::memcpy(header.data(), &header_, sizeof header_);
      messages_.send(comm_.world_rank(rank), tag(MessageKind::header), std::move(header));
      headers_[static_cast<std::size_t>(rank)] =
          &messages_.receive(comm_.world_rank(rank), tag(MessageKind::header), sizeof header_);
    }
  }

  bool headers_agree() {
    for (int rank = 0; rank < comm_.size(); ++rank) {
      if (rank == comm_.rank()) continue;
      Header theirs;
      std::memcpy(&theirs, headers_[static_cast<std::size_t>(rank)]->data(), sizeof theirs);
      if (theirs == header_) continue;
      comm_.fail(ncclInvalidUsage, fmt::format("ranks differ: of rank {} {}; of rank {} {}", comm_.rank(),
                                               text_of(header_), rank, text_of(theirs)));
      return false;
    }
    return true;
  }

  void ask_for_data() {
    has_data_requests_ = true;
    parts_.assign(static_cast<std::size_t>(comm_.size()), nullptr);
    for (int rank = 0; rank < comm_.size(); ++rank) {
      if (rank == comm_.rank()) continue;
      messages_.send(comm_.world_rank(rank), tag(MessageKind::data), part_for(rank));
      if (call_.verb != Verb::broadcast || rank == call_.root)
        parts_[static_cast<std::size_t>(rank)] =
            messages_.receive(comm_.world_rank(rank), tag(MessageKind::data), piece()).data();
    }
    parts_[static_cast<std::size_t>(comm_.rank())] = own_.data();
  }

  void finish() {
    switch (call_.verb) {
      case Verb::all_reduce:
      case Verb::reduce_scatter:
        reduce(call_.type, call_.operation, parts_, call_.receive, call_.count);
        return;
      case Verb::all_gather:
        for (std::size_t rank = 0; rank < parts_.size(); ++rank)
          std::memcpy(call_.receive + rank * piece(), parts_[rank], piece());
        return;
      case Verb::broadcast:
        std::memcpy(call_.receive, parts_[static_cast<std::size_t>(call_.root)], piece());
        return;
    }
  }

  /// Nobody shall take what is there for a result.
  bool give_up() {
    if (simt::emulator::is_live_device_range(call_.receive, call_.receive_bytes()))
      std::memset(call_.receive, 0xFF, call_.receive_bytes());
    return true;
  }

  bool late() {
    const std::chrono::duration<double> waited = std::chrono::steady_clock::now() - begun_;
    if (waited.count() < settings().peer_timeout_seconds) return false;
    comm_.fail(ncclRemoteError, fmt::format("a rank has not come to a collective; of rank {} {}",
                                            comm_.rank(), text_of(header_)));
    return give_up();
  }

  int tag(MessageKind kind) const { return comm_.tag(kind, header_.sequence); }

  const CollectiveCall call_;
  ncclComm& comm_;
  const Header header_;
  bool has_begun_ = false, has_data_requests_ = false;
  std::chrono::steady_clock::time_point begun_;
  std::vector<std::byte> own_;
  std::vector<const std::vector<std::byte>*> headers_;
  std::vector<const std::byte*> parts_;
  PeerMessages messages_;
};

std::string fault_of(const char* role, const CollectiveCall& call, const void* memory, std::size_t bytes) {
  if (bytes == 0) return "";
  if (!simt::emulator::is_live_device_range(memory, bytes))
    return fmt::format("{} of {} bytes is not in device memory: it is {}", role, bytes,
                       simt::emulator::describe_pointer(memory, bytes));
  if (settings().strict_buffers && !call.comm->is_registered(memory, bytes))
    return fmt::format("{} of {} bytes was not registered (SIMT_STRICT_BUFFERS)", role, bytes);
  return "";
}

}  // namespace

std::size_t CollectiveCall::send_bytes() const {
  if (verb == Verb::broadcast && comm->rank() != root) return 0;
  const std::size_t pieces = verb == Verb::reduce_scatter ? static_cast<std::size_t>(comm->size()) : 1;
  return pieces * count * size_of(type);
}

std::size_t CollectiveCall::receive_bytes() const {
  const std::size_t pieces = verb == Verb::all_gather ? static_cast<std::size_t>(comm->size()) : 1;
  return pieces * count * size_of(type);
}

std::string CollectiveCall::fault() const {
  const std::string of_operand = fault_of("operand", *this, send, send_bytes());
  return of_operand.empty() ? fault_of("result", *this, receive, receive_bytes()) : of_operand;
}

simt::emulator::Attempt begin_collective(const CollectiveCall& call) {
  auto running = std::make_shared<RunningCollective>(call);
  return [running] { return running->attempt(); };
}

}  // namespace trireme::emulated
