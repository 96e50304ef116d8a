// SPDX-License-Identifier: Apache-2.0
// main() of test programs that run under mpirun: MPI around GoogleTest, non-zero if any rank failed.
#include <gtest/gtest.h>
#include <mpi.h>

#include <cstdio>

#ifndef TRIREME_TEST_MPI_LEVEL
#define TRIREME_TEST_MPI_LEVEL MPI_THREAD_SERIALIZED
#endif

int main(int argc, char** argv) {
  int provided = 0;
  MPI_Init_thread(&argc, &argv, TRIREME_TEST_MPI_LEVEL, &provided);
  if (provided < TRIREME_TEST_MPI_LEVEL) {
    std::fprintf(stderr, "this MPI library gives too few threads\n");
    MPI_Abort(MPI_COMM_WORLD, 1);
  }
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  testing::InitGoogleTest(&argc, argv);
  if (rank != 0)
    delete testing::UnitTest::GetInstance()->listeners().Release(
        testing::UnitTest::GetInstance()->listeners().default_result_printer());
  int failed = RUN_ALL_TESTS();
  if (failed != 0 && rank != 0) std::fprintf(stderr, "a test failed on rank %d\n", rank);
  int any = 0;
  MPI_Allreduce(&failed, &any, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
  MPI_Finalize();
  return any;
}
