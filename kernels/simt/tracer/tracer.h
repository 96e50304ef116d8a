// SPDX-License-Identifier: Apache-2.0
// Sees each load and store of a kernel's code. The kernels are compiled with -fsanitize=thread, but linked to
// this folder's functions of the names that the compiler calls, in place of ThreadSanitizer's. What is found
// ends the launch as any fault of a kernel does, with the line:
//   shared memory: races, also with what ldmatrix, stmatrix and cp.async touch; bytes that nobody wrote;
//   places between the arrays; device memory: accesses that went past the vocabulary, which are neither
//   checked nor counted.
#pragma once

#include <cstddef>

namespace trireme::simt::tracer {

void on_access(const void* address, std::size_t bytes, bool is_write, const void* pc);
void on_arrival(const void* place);
void on_leaving(const void* place);

}  // namespace trireme::simt::tracer
