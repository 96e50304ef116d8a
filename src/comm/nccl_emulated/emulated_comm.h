// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nccl.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "src/comm/nccl_emulated/peer_messages.h"

namespace trireme::emulated {

/// What an ncclUniqueId holds: who made it, and which of its.
struct UniqueId {
  std::int64_t maker;  ///< rank of MPI_COMM_WORLD
  std::int64_t number;
  friend bool operator==(const UniqueId&, const UniqueId&) = default;
};

enum class MessageKind { meeting, header, data };

}  // namespace trireme::emulated

/// A communicator: how its ranks meet, what has gone wrong, which memory it knows. Any thread.
struct ncclComm : std::enable_shared_from_this<ncclComm> {
 public:
  ncclComm(const trireme::emulated::UniqueId& id, int size, int rank);

  int size() const { return size_; }
  int rank() const { return rank_; }
  const trireme::emulated::UniqueId& id() const { return id_; }
  /// Of MPI_COMM_WORLD; once the ranks have met.
  int world_rank(int rank) const { return world_ranks_[static_cast<std::size_t>(rank)]; }
  /// Of the messages of the collective with this number.
  int tag(trireme::emulated::MessageKind kind, std::uint64_t sequence) const;

  /// ncclInProgress until the ranks have met, or while an end waits for collectives; then ncclSuccess, or
  /// what went wrong.
  ncclResult_t state();
  void fail(ncclResult_t result, const std::string& what);
  /// Of the last failure.
  const std::string& last_error() const { return last_error_; }
  void abort() { is_aborted_ = true; }
  /// What runs has to end.
  bool is_broken() const { return is_aborted_ || has_failed_; }
  void finalize() { is_finalized_ = true; }

  std::uint64_t next_sequence() { return sequence_++; }
  void begin_operation() { ++pending_; }
  void end_operation() { --pending_; }

  void add_registration(const void* begin, std::size_t bytes);
  bool remove_registration(const void* begin);
  bool is_registered(const void* begin, std::size_t bytes);

 private:
  void meet();
  bool has_met();
  void take_places(const std::vector<const std::vector<std::byte>*>& places);

  const trireme::emulated::UniqueId id_;
  const int size_, rank_;
  const std::chrono::steady_clock::time_point begun_ = std::chrono::steady_clock::now();
  std::recursive_mutex mutex_;  // a failure is told while state() looks
  std::vector<int> world_ranks_;
  trireme::emulated::PeerMessages meeting_;
  std::vector<const std::vector<std::byte>*> received_;
  bool is_connected_ = false, was_asked_ = false, has_answered_ = false;
  ncclResult_t result_ = ncclSuccess;
  std::string last_error_;
  std::atomic<bool> is_aborted_{false}, has_failed_{false}, is_finalized_{false};
  std::atomic<int> pending_{0};
  std::atomic<std::uint64_t> sequence_{0};
  std::map<std::uintptr_t, std::size_t> registered_;
};
