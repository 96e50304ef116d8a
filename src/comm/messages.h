// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <mpi.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "src/comm/comm_thread.h"
#include "src/core/buffer.h"

namespace trireme {

/// Memory for what has been received and not yet used. Blocks are kept for the next collective, because fresh
/// pages cost more than the sums. Any thread.
class ScratchPool {
 public:
  /// Blocks of ordinary memory, or of `source`, which must outlive the pool.
  explicit ScratchPool(BufferSource* source = nullptr) : source_(source) {}

  /// A block of at least `bytes`, which nobody else holds.
  std::byte* take(std::size_t bytes);
  void give_back(const std::byte* block);

 private:
  struct Block {
    std::unique_ptr<Buffer> memory;
    bool taken = false;
  };
  BufferSource* const source_;
  std::mutex mutex_;
  std::vector<Block> blocks_;
};

/// What the collectives of one MPI communicator share: who takes part, memory, and who may use which tags.
///
/// Each collective has two tags, by its number. MPI matches messages of one sender, receiver and tag in the
/// order in which they are posted, so two collectives with the same tags may not mix: the later one begins
/// when the earlier one has ended on this rank, on every rank. The earlier ones wait for no later one, hence
/// there is no cycle.
class MessageContext {
 public:
  static constexpr int kStreams = 2;                          ///< tags of one collective
  static constexpr std::uint64_t kTurns = 32768U / kStreams;  ///< MPI promises tags up to 32767

  /// Fewer `turns` are for tests: at most that many collectives run side by side.
  MessageContext(MPI_Comm comm, int rank, int size, std::uint64_t turns = kTurns)
      : comm_(comm), rank_(rank), size_(size), ended_(turns) {}

  MPI_Comm comm() const { return comm_; }
  int rank() const { return rank_; }
  int size() const { return size_; }
  ScratchPool& scratch() { return scratch_; }

  /// For the thread that makes collectives, in the same order on all ranks.
  std::uint64_t next_number() { return made_++; }

  // For the thread that steps them.
  int tag(std::uint64_t number, int stream) const {
    return static_cast<int>(number % ended_.size()) * kStreams + stream;
  }
  bool may_begin(std::uint64_t number) const {
    return ended_[number % ended_.size()] == number / ended_.size();
  }
  void ended(std::uint64_t number) { ended_[number % ended_.size()] = number / ended_.size() + 1; }

 private:
  MPI_Comm comm_;
  int rank_, size_;
  ScratchPool scratch_;
  std::uint64_t made_ = 0;
  std::vector<std::uint64_t> ended_;  ///< by turn: how many collectives have ended
};

/// A Collective made of point-to-point messages. A subclass moves what it can in advance() and keeps its
/// requests; this class holds tags and scratch memory.
class MessageCollective : public Collective {
 public:
  void start() final;
  bool step() final;
  std::string describe() const final { return description_; }

 protected:
  /// Made in the same order on all ranks.
  MessageCollective(std::shared_ptr<MessageContext> context, std::size_t scratch_bytes,
                    std::string description);

  /// Moves what can be moved without blocking, about a millisecond of work at most. True when nothing is
  /// left, and then at every further call.
  virtual bool advance() = 0;

  void send(const void* data, std::size_t bytes, int peer, MPI_Request& request, int stream = 0) const;
  void receive(void* data, std::size_t bytes, int peer, MPI_Request& request, int stream = 0) const;
  /// Whether the message has left or come; null requests are complete.
  static bool complete(MPI_Request& request);

  int rank() const { return context_->rank(); }
  int size() const { return context_->size(); }
  std::byte* scratch() const { return scratch_; }

 private:
  std::shared_ptr<MessageContext> context_;
  std::uint64_t number_;
  std::string description_;
  // Given back when the collective has ended. One that dies before leaves its block to the pool, taken for
  // ever: a late message may still be written into it.
  std::byte* scratch_ = nullptr;
  bool begun_ = false, ended_ = false;
};

/// "rank 2", "ranks 0, 3", or nothing.
std::string name_ranks(const std::vector<int>& ranks);

}  // namespace trireme
