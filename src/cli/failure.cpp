// SPDX-License-Identifier: Apache-2.0
#include "src/cli/failure.h"

#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <new>
#include <thread>

#include "src/cli/text.h"

namespace trireme {

namespace {

std::string host_name() {
  char name[256] = "";
  return gethostname(name, sizeof name - 1) == 0 ? name : "unknown host";
}

// Launchers end the whole job when one process fails: the others give rank 0 the time to say why, and its
// launcher the time to end them. mpirun needs about three seconds for that. Rank 1 speaks next, because it
// knows as much of the other ranks as rank 0 does. Whoever has the error from another rank leaves the message
// to that one.
void let_others_speak_first(int rank, bool is_met_elsewhere) {
  constexpr std::chrono::seconds kRankOne(5), kOthers(8);
  if (rank == 0 && !is_met_elsewhere) return;
  std::this_thread::sleep_for(rank == 1 && !is_met_elsewhere ? kRankOne : kOthers);
}

void say(const Failure& failure, int rank, const std::string& host) {
  std::string text = fmt::format("trireme: error: {}\n", printable_lines(failure.message));
  if (rank != 0) text = fmt::format("[rank {} on {}] {}", rank, host, text);
  std::fflush(stdout);
  std::fputs(text.c_str(), stderr);
  std::fflush(stderr);
}

}  // namespace

Failure current_failure() {
  try {
    throw;
  } catch (const Error& error) {
    return {error.status(), error.what(), error.is_met_elsewhere()};
  } catch (const std::bad_alloc&) {
    return {Status::internal, "out of memory\n  hint: a smaller batch or --accumulate needs less", false};
  } catch (const std::exception& error) {
    return {Status::internal, fmt::format("internal error: {}", error.what()), false};
  } catch (...) {
    return {Status::internal, "internal error: unknown exception", false};
  }
}

void report_failure(const Failure& failure, const LaunchFacts& launch) {
  let_others_speak_first(launch.rank, failure.is_met_elsewhere);
  say(failure, launch.rank, host_name());
}

Status run_with_world(const Invocation& invocation, const std::function<Status(World& world)>& body,
                      std::chrono::duration<double> timeout) {
  const bool others_call_mpi = invocation.accelerator != nullptr && invocation.accelerator->calls_mpi();
  World world(invocation.argc, invocation.argv, timeout,
              others_call_mpi ? MpiThreads::at_once : MpiThreads::in_turn);
  try {
    return body(world);
  } catch (...) {
    const Failure failure = current_failure();
    // Processes that a foreign launcher started, each alone in its world, are told apart by what it says.
    const int rank = world.size() > 1 ? world.rank() : invocation.launch.rank;
    let_others_speak_first(rank, failure.is_met_elsewhere);
    say(failure, rank, world.host());
    world.abort(failure.status);
  }
}

}  // namespace trireme
