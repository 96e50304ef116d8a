// SPDX-License-Identifier: Apache-2.0
#include "src/comm/world.h"

#include <unistd.h>

#include <cstdio>
#include <exception>
#include <thread>

namespace trireme {
namespace {

Group duplicate_world() {
  MPI_Comm all = MPI_COMM_NULL;
  mpi_check(MPI_Comm_dup(MPI_COMM_WORLD, &all), "MPI_Comm_dup");
  return Group(all);
}

Group split_by_node() {
  MPI_Comm node = MPI_COMM_NULL;
  mpi_check(MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node),
            "MPI_Comm_split_type");
  return Group(node);
}

std::string processor_name() {
  char name[MPI_MAX_PROCESSOR_NAME] = "";
  int length = 0;
  mpi_check(MPI_Get_processor_name(name, &length), "MPI_Get_processor_name");
  return {name, static_cast<std::size_t>(length)};
}

Watchdog::Wait start_of_mpi(Group::Seconds timeout) {
  return {"MPI to start (MPI_Init)",
          "a rank did not start or is stopped; look at the processes of the job on its nodes, or give it a "
          "longer --startup-timeout",
          read_launch_facts().rank, timeout};
}

Watchdog::Wait end_of_mpi(int rank) {
  return {"MPI to end (MPI_Finalize)",
          "another rank is stopped or has lost its connection; this rank had done its work", rank,
          std::chrono::seconds(30)};
}

}  // namespace

std::string mpi_library_name() {
  char text[MPI_MAX_LIBRARY_VERSION_STRING] = "";
  int length = 0;
  MPI_Get_library_version(text, &length);
  const std::string whole(text, static_cast<std::size_t>(length));
  return whole.substr(0, whole.find_first_of(",\n"));
}

World::Init::Init(int& argc, char**& argv, MpiThreads threads) {
  const bool at_once = threads == MpiThreads::at_once;
  const int needed = at_once ? MPI_THREAD_MULTIPLE : MPI_THREAD_SERIALIZED;
  int initialized = 0, provided = 0;
  MPI_Initialized(&initialized);
  owns_mpi = initialized == 0;
  if (owns_mpi) mpi_check(MPI_Init_thread(&argc, &argv, needed, &provided), "MPI_Init_thread");
  mpi_check(MPI_Query_thread(&provided), "MPI_Query_thread");
  if (provided < needed)
    throw make_error(Status::configuration, "this MPI library gives no {}: {}",
                     at_once ? "MPI_THREAD_MULTIPLE" : "MPI_THREAD_SERIALIZED", mpi_library_name())
        .hint("use an MPI library that was built with thread support");
  // Failures come back as codes, so that the program can say what it was doing.
  mpi_check(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN), "MPI_Comm_set_errhandler");
}

World::Init::~Init() {
  // Finalizing waits for all ranks: not while an error unwinds this one.
  if (owns_mpi && std::uncaught_exceptions() == 0) MPI_Finalize();
}

World::World(int& argc, char**& argv, Group::Seconds timeout, MpiThreads threads)
    : watchdog_(start_of_mpi(timeout)),
      init_(argc, argv, threads),
      all_(duplicate_world()),
      node_(split_by_node()),
      host_(processor_name()) {
  watchdog_.reset();
  rank_ = all_.rank();
  size_ = all_.size();
  local_rank_ = node_.rank();
  local_size_ = node_.size();
}

World::~World() {
  // What this process has printed is not lost if the others do not let it finalize.
  std::fflush(stdout);
  try {
    watchdog_.emplace(end_of_mpi(rank_));
  } catch (const std::exception&) {
    // Without another thread the wait has no deadline, which is no reason to fail now.
  }
}

void World::abort(Status status) const {
  const int code = static_cast<int>(status);
  std::fflush(stdout);
  // MPI_Abort itself may wait for a launcher that is gone.
  std::thread([code] {
    std::this_thread::sleep_for(std::chrono::seconds(5));
    _exit(code);
  }).detach();
  if (size_ == 1 && init_.owns_mpi)
    MPI_Finalize();  // nobody else to end, and quieter than an abort
  else
    MPI_Abort(MPI_COMM_WORLD, code);
  _exit(code);
}

void check_world_size(const World& world, const LaunchFacts& facts, int expected_ranks) {
  if (world.size() == 1 && facts.promised_ranks > 1)
    throw make_error(Status::configuration,
                     "{} started {} processes, but each of them is alone in its MPI world", facts.launcher,
                     facts.promised_ranks)
        .at(world.host())
        .hint(fmt::format(
            "this trireme was built with another MPI than {}: it uses {}; start it with that MPI's "
            "mpirun, or build it again with the MPI of the launcher",
            facts.launcher, mpi_library_name()));
  if (world.size() < expected_ranks)
    throw make_error(Status::configuration, "the world has {} rank{}, but --expect-ranks {} was asked for",
                     world.size(), world.size() == 1 ? "" : "s", expected_ranks)
        .at(world.host())
        .hint(fmt::format(
            "start it as 'mpirun -n {} trireme ...' (or srun), with the MPI it was built with: {}",
            expected_ranks, mpi_library_name()));
}

}  // namespace trireme
