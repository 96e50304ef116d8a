// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace trireme::simt::emulator {

/// The demangled name of a function of this program, without its parameters:
/// "trireme::kernels::add_kernel<float, 4>". Read from the program's symbol table, which knows static
/// functions too; empty where it has none.
std::string symbol_name(const void* function);

}  // namespace trireme::simt::emulator
