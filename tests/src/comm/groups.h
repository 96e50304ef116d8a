// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>

#include <chrono>

#include "src/comm/world.h"
#include "src/core/deadline.h"

namespace trireme::testing_support {

/// A group of all ranks of the test program, for one test.
inline Group all_ranks() {
  MPI_Comm copy = MPI_COMM_NULL;
  mpi_check(MPI_Comm_dup(MPI_COMM_WORLD, &copy), "MPI_Comm_dup");
  mpi_check(MPI_Comm_set_errhandler(copy, MPI_ERRORS_RETURN), "MPI_Comm_set_errhandler");
  return Group(copy);
}

constexpr std::chrono::duration<double> kTimeout{60};

}  // namespace trireme::testing_support
