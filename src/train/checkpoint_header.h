// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

#include "src/checkpoint/checkpoint.h"

namespace trireme {

/// Everything of a checkpoint but its tensors as text, so that rank 0 can tell the others before memory for
/// tensors is there. parse_checkpoint_header gives the same values back, floats to the last bit.
std::string checkpoint_header_text(const Checkpoint& checkpoint);
Checkpoint parse_checkpoint_header(std::string_view text);

}  // namespace trireme
