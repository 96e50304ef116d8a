// SPDX-License-Identifier: Apache-2.0
// What a launch moves and computes, where settings().counting is on. Blocks then run on one OS thread.
//
// The lanes of a warp run one after another here, so a warp's instruction is put together again: the n-th
// time that each of its lanes comes to one source line is one instruction. Where lanes go through a loop
// different numbers of times that is an estimate.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "kernels/simt/emulator/launch.h"
#include "kernels/simt/emulator/site.h"

namespace trireme::simt::emulator {

constexpr int kSectorBytes = 32;  ///< what HBM and L2 move at least

/// Different sectors of one allocation.
struct AllocationCounts {
  const void* begin;
  std::int64_t read_sectors, written_sectors;
};

/// Sums over the launches of one kernel in blocks of one shape.
struct KernelCounts {
  std::string kernel;  ///< with its template arguments
  int block_threads = 0;
  std::int64_t dynamic_shared_bytes = 0;
  std::int64_t launches = 0, blocks = 0;
  /// Different sectors of device memory that a launch reads and writes: what must come from and go to HBM
  /// where nothing is left in L2 from the launch before.
  std::int64_t read_sectors = 0, written_sectors = 0;
  std::vector<AllocationCounts> allocations;  ///< the same by allocation and launch
  /// Different sectors of each warp instruction, which L2 or L1 must serve, and as many as their bytes would
  /// fill.
  std::int64_t requested_sectors = 0, ideal_sectors = 0;
  /// Passes through the banks of shared memory that ldmatrix, stmatrix and the writes of cp.async take, and
  /// how many they take without conflicts.
  std::int64_t shared_wavefronts = 0, ideal_wavefronts = 0;
  /// Of blocks, not of threads; named ones too.
  std::int64_t barriers = 0;
  /// Of mma, padding included.
  std::int64_t flops = 0;

  std::int64_t distinct_bytes() const { return kSectorBytes * (read_sectors + written_sectors); }
  double request_ratio() const {
    return ideal_sectors == 0 ? 1.0
                              : static_cast<double>(requested_sectors) / static_cast<double>(ideal_sectors);
  }
  double conflict_ratio() const {
    return ideal_wavefronts == 0
               ? 1.0
               : static_cast<double>(shared_wavefronts) / static_cast<double>(ideal_wavefronts);
  }
};

/// What was counted since the last call, in the order of first launches, and begins anew.
std::vector<KernelCounts> take_counts();

// Called by the emulator: around a launch, and on fibers within it.
void begin_counting(const LaunchSite& site, const GridShape& shape);
void end_counting();
/// `pointer` may be null: the lane takes part in the instruction, but touches nothing.
void count_global_access(const void* pointer, int bytes, bool is_write, Site site);
/// One lane's cp.async write.
void count_shared_copy(const void* shared, int bytes, Site site);
/// The 32 row addresses of one ldmatrix or stmatrix .x4.
void count_matrix_rows(const void* const (&rows)[32], Site site);
void count_flops(std::int64_t flops);
void count_barrier();

}  // namespace trireme::simt::emulator
