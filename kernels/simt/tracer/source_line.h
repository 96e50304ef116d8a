// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "kernels/simt/emulator/site.h"

namespace trireme::simt::tracer {

/// The line of the kernel's source whose code stands before `pc`; line 0 where that is in a word of the
/// vocabulary which was not inlined into the kernel. The name of the file is good until the next call with
/// the same `slot`, 0 or 1.
emulator::Site site_of(std::uintptr_t pc, int slot);

}  // namespace trireme::simt::tracer
