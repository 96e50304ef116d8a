// SPDX-License-Identifier: Apache-2.0
// mpi_allreduce NAME BYTES ... : times the blocking MPI_Allreduce of the MPI library, fp32 in place, as
// `trireme bench allreduce --json` times communicators, and prints the same JSON lines with NAME as `comm`.
// Which algorithm it takes is told to Open MPI in the environment.
#include <mpi.h>

#include <algorithm>
#include <cstdio>
#include <vector>

#include "src/cli/bench_exact.h"
#include "src/cli/bench_report.h"
#include "src/cli/bench_rounds.h"
#include "src/comm/world.h"
#include "src/core/buffer.h"
#include "src/core/deadline.h"
#include "src/core/parse.h"

namespace trireme {
namespace {

void sum_in_place(std::span<float> values, MPI_Comm comm) {
  mpi_check(
      MPI_Allreduce(MPI_IN_PLACE, values.data(), static_cast<int>(values.size()), MPI_FLOAT, MPI_SUM, comm),
      "MPI_Allreduce");
}

/// Seconds of one of `count` rounds, as the slowest rank saw them.
double time_rounds(std::span<float> values, MPI_Comm comm, int count) {
  std::fill(values.begin(), values.end(), 0.0F);
  mpi_check(MPI_Barrier(comm), "MPI_Barrier");
  const Stopwatch stopwatch;
  for (int i = 0; i < count; ++i) sum_in_place(values, comm);
  double seconds = stopwatch.seconds() / std::max(count, 1);
  mpi_check(MPI_Allreduce(MPI_IN_PLACE, &seconds, 1, MPI_DOUBLE, MPI_MAX, comm), "MPI_Allreduce");
  return seconds;
}

AllReduceRow measure(const char* name, std::int64_t bytes, const World& world) {
  const MPI_Comm comm = world.all().get();
  HostMemory memory;
  const auto buffer = memory.allocate(static_cast<std::size_t>(bytes));
  const std::span values(static_cast<float*>(buffer->data()),
                         static_cast<std::size_t>(bytes) / sizeof(float));
  fill_exact(values, world.rank());
  sum_in_place(values, comm);
  std::int64_t wrong = count_wrong(values, world.size());
  mpi_check(MPI_Allreduce(MPI_IN_PLACE, &wrong, 1, MPI_INT64_T, MPI_SUM, comm), "MPI_Allreduce");

  const BenchRounds rounds;
  const double first = time_rounds(values, comm, 1);
  const double warm =
      time_rounds(values, comm, affordable_rounds(rounds.warm_up, first, rounds.most_seconds / 2));
  const int count = affordable_rounds(rounds.timed, warm, rounds.most_seconds);
  return {name, {bytes, ""}, world.size(), count, time_rounds(values, comm, count), wrong};
}

int run(int argc, char** argv) {
  const World world(argc, argv);
  for (int i = 2; i < argc; ++i) {
    const auto bytes = parse_int(argv[i]);
    if (!bytes || *bytes < 4) throw make_error(Status::usage, "'{}' is not a number of bytes", argv[i]);
    const AllReduceRow row = measure(argv[1], *bytes, world);
    if (world.rank() == 0) fmt::print("{}\n", json_row(row, {world.size(), 0, 0, 0, {}}).dump());
  }
  return 0;
}

}  // namespace
}  // namespace trireme

int main(int argc, char** argv) {
  try {
    return trireme::run(argc, argv);
  } catch (const trireme::Error& error) {
    std::fprintf(stderr, "mpi_allreduce: %s\n", error.what());
    return static_cast<int>(error.status());
  }
}
