// SPDX-License-Identifier: Apache-2.0
// What a launch moves and computes, where settings().counting is on. Blocks then run on one OS thread.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "kernels/simt/emulator/site.h"
#include "kernels/simt/launch_error.h"

namespace trireme::simt::emulator {

// Called by the emulator: around a launch, and on fibers within it.
void begin_counting(const LaunchSite& site);
void end_counting();
void count_global_access(const void* pointer, int bytes, bool is_write, Site site);
/// One lane's cp.async write.
void count_shared_copy(const void* shared, int bytes, Site site);
/// The 32 row addresses of one ldmatrix or stmatrix .x4.
void count_matrix_rows(const void* const (&rows)[32], Site site);
void count_flops(std::int64_t flops);
void count_barrier();

}  // namespace trireme::simt::emulator
