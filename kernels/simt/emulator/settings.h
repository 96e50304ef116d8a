// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

namespace trireme::simt::emulator {

/// In which order blocks, and the threads of a block between two collectives, take their turns.
enum class Order { forward, reverse, seeded };

struct Settings {
  Order order = Order::forward;  ///< SIMT_ORDER=forward|reverse|seed:N
  std::uint64_t seed = 0;
  int threads = 1;            ///< SIMT_THREADS: blocks of a grid run on so many OS threads
  bool checking = true;       ///< SIMT_CHECK=0: accesses are not compared with live device memory
  bool counting = false;      ///< SIMT_COUNT=1: see counters.h; blocks then run on one OS thread
  bool lazy_streams = false;  ///< SIMT_STREAMS=eager|lazy[:N]: see stream.h
  std::uint64_t stream_seed = 0;
  /// SIMT_STRICT_EVENTS=1: to wait for an event that was never recorded is an error, not nothing.
  bool strict_events = false;
  /// SIMT_STRICT_BUFFERS=1: collectives take memory that was registered with their communicator, and no
  /// other.
  bool strict_buffers = false;
  int peer_timeout_seconds = 60;  ///< SIMT_PEER_TIMEOUT: after which a collective gives up other processes
  /// SIMT_DEVICES=N: the machine has N devices, shared by its processes, or (0) none. Not set: each process
  /// has one of its own.
  int devices = 1;
  bool shared_devices = false;
  std::size_t memory_bytes = std::size_t{16} << 30;  ///< SIMT_MEMORY=BYTES[K|M|G], of all devices together
};

/// The process's settings: from the environment at the first call; tests may change them between launches.
/// Throws std::invalid_argument for values that it does not know.
Settings& settings();

}  // namespace trireme::simt::emulator
