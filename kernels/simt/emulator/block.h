// SPDX-License-Identifier: Apache-2.0
// What the words of the vocabulary ask of the emulator while a block runs. All of it is called on a fiber of
// the block, that is: by one thread of the kernel. Nothing here throws there; an error ends the launch
// instead, which throws EmulationError on the host. How it works stands in emulator/README.md.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/simt/emulator/site.h"

namespace trireme::simt::emulator {

/// Ends the launch: "<kernel>: block (x,y,z) thread (x,y,z) at file:line: <message>".
[[noreturn]] void fail(Site site, const char* format, ...) __attribute__((format(printf, 2, 3)));

/// __syncthreads (id 0, all threads that have not exited) and named barriers (id 1 to 15, `threads` of them).
void block_barrier(Site site);
void named_barrier(int id, int threads, bool wait, Site site);

/// What a warp does together. When all lanes of `mask` have come with the same `name`, mask and site,
/// `resolve` is called once with the arguments of each lane of the mask (null for the others), reads and
/// writes them, and all go on. Without arguments it is __syncwarp, which orders the accesses of these lanes;
/// the others do not.
using Resolve = void (*)(void* const* lanes, std::uint32_t mask);
void warp_collective(const char* name, Resolve resolve, std::uint32_t mask, void* arguments, Site site);

/// Memory of the block for the static array of `slot`, the same for all threads; 0xFF when the block starts.
void* static_shared(int slot);
/// A slot for a static array; called once per array, before any thread uses it.
int new_shared_slot(const char* name, std::size_t bytes, std::size_t alignment, Site site);
void* dynamic_shared();

/// cp.async: the destination is poisoned now and written when the thread waits, as late as hardware may.
void async_copy(void* shared, const void* global, int bytes, bool valid, Site site);
void async_commit();
void async_wait(int pending, Site site);

/// Refuses what is not wholly inside one live device allocation, or this block's shared memory, or not
/// aligned to its size; counts where counting is on.
void check_access(const void* pointer, int bytes, bool is_write, Site site);
/// Whether check_access does anything in this launch.
bool checks_accesses();
/// Tells race detectors of the 16 bytes that ldmatrix reads or stmatrix writes for the calling thread.
void note_shared_row(const void* row, bool is_write, Site site);
/// `pointer` must be 16-byte aligned and in this block's shared memory.
void check_shared_row(const void* pointer, Site site);

int lane_id();
int warp_id();

}  // namespace trireme::simt::emulator
