// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <mpi.h>

#include <cstddef>
#include <memory>
#include <vector>

namespace trireme::emulated {

/// Messages between processes that nobody waits for: they are asked whether all have come. Those of one pair
/// of ranks and one tag arrive in the order in which they were sent.
class PeerMessages {
 public:
  PeerMessages() = default;
  /// What is under way is left to MPI, with its memory.
  ~PeerMessages();
  PeerMessages(const PeerMessages&) = delete;
  PeerMessages& operator=(const PeerMessages&) = delete;

  /// `rank` is of MPI_COMM_WORLD.
  void send(int rank, int tag, std::vector<std::byte> bytes);
  /// Where the bytes will be once all have come. `rank` may be MPI_ANY_SOURCE.
  const std::vector<std::byte>& receive(int rank, int tag, std::size_t bytes);
  /// Whether nothing is under way. Throws std::runtime_error where MPI fails.
  bool all_done();

 private:
  struct Message {
    std::vector<std::byte> bytes;
    std::vector<MPI_Request> requests;
  };
  template <typename Start>
  const Message& add(std::vector<std::byte> bytes, const Start& start);

  std::vector<std::unique_ptr<Message>> messages_;
};

}  // namespace trireme::emulated
