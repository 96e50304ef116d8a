// SPDX-License-Identifier: Apache-2.0
// The MPI world of this process, and groups of ranks with the blocking exchanges that start-up needs.
#pragma once

#include <mpi.h>

#include <chrono>
#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "src/comm/watchdog.h"
#include "src/core/error.h"

namespace trireme {

/// Turns an MPI return code into an Error (69) that names the call.
void mpi_check(int code, const char* call);

/// RAII over a communicator: collective to make and to destroy. All waits end at the deadline with status 69.
/// Only for the thread that may call MPI: main before CommThread starts and after it is joined.
class Group {
 public:
  explicit Group(MPI_Comm owned) : comm_(owned) {}
  ~Group();
  Group(Group&& other) noexcept;
  Group& operator=(Group&& other) noexcept;
  Group(const Group&) = delete;
  Group& operator=(const Group&) = delete;

  MPI_Comm get() const { return comm_; }
  int rank() const;
  int size() const;
  Group duplicate() const;

  using Seconds = std::chrono::duration<double>;
  /// Every rank returns root's bytes. `what` names the wait in the error.
  std::vector<std::byte> broadcast(std::vector<std::byte> bytes, int root, Seconds timeout,
                                   const char* what) const;
  std::string broadcast_text(const std::string& text, int root, Seconds timeout, const char* what) const;
  /// Every rank's text, by rank, on every rank.
  std::vector<std::string> allgather_text(const std::string& text, Seconds timeout, const char* what) const;
  void barrier(Seconds timeout, const char* what) const;

 private:
  MPI_Comm comm_ = MPI_COMM_NULL;
};

/// What the launcher's environment says before MPI_Init: Open MPI, PMIx, Slurm and Hydra variables are known.
struct LaunchFacts {
  std::string launcher;    ///< "mpirun (Open MPI)", "srun", …; empty if none is recognised
  int rank = 0;            ///< as the launcher says; 0 if unknown
  int promised_ranks = 1;  ///< ranks that the launcher said it starts; 1 if unknown
};
LaunchFacts read_launch_facts();

/// The MPI library that runs, which need not be the one that the headers came from: "Open MPI v4.1.4". May be
/// asked before MPI is initialised.
std::string mpi_library_name();

/// Who calls MPI.
enum class MpiThreads {
  in_turn,  ///< one thread at a time: what the program itself needs
  at_once,  ///< for libraries that call it from threads of their own
};

/// MPI from init to finalize; if MPI is initialised already, as in tests, finalizing is left to whoever did
/// that. While an exception unwinds it, it does not finalize: call abort() then. One per process.
/// Where the other ranks let it wait longer than `timeout` to start, or 30 s to finalize, the process ends
/// with status 69.
class World {
 public:
  World(int& argc, char**& argv, Group::Seconds timeout = std::chrono::minutes(10),
        MpiThreads threads = MpiThreads::in_turn);
  ~World();
  World(const World&) = delete;
  World& operator=(const World&) = delete;

  int rank() const { return rank_; }
  int size() const { return size_; }
  int local_rank() const { return local_rank_; }  ///< among the ranks of this node
  int local_size() const { return local_size_; }
  const std::string& host() const { return host_; }
  const Group& all() const { return all_; }
  const Group& node() const { return node_; }

  /// Ends every process of the job with this status. Does not return.
  [[noreturn]] void abort(Status status) const;

 private:
  struct Init {
    Init(int& argc, char**& argv, MpiThreads threads);
    ~Init();
    Init(const Init&) = delete;
    Init& operator=(const Init&) = delete;
    bool owns_mpi = false;
  };
  std::optional<Watchdog> watchdog_;  // outlives what it watches
  Init init_;
  Group all_, node_;
  int rank_ = 0, size_ = 1, local_rank_ = 0, local_size_ = 1;
  std::string host_;
};

/// Status 78 with the cure if the world is smaller than `expected_ranks` (0: no expectation), or is a world
/// of one although the launcher promised more (the program was built with another MPI than the launcher's).
void check_world_size(const World& world, const LaunchFacts& facts, int expected_ranks);

}  // namespace trireme
