// SPDX-License-Identifier: Apache-2.0
// Human messages. Standard output carries what a command was asked for; everything else goes to standard
// error.
#pragma once

#include <spdlog/spdlog.h>

namespace trireme::log {

/// Routes spdlog's default logger to standard error as "HH:MM:SS level message" without colour codes in
/// files. Ranks other than 0 log only warnings and errors, with the rank in front; a world of one has no rank
/// prefix.
void setup(int rank, int world_size);

using spdlog::error;
using spdlog::info;
using spdlog::warn;

}  // namespace trireme::log
