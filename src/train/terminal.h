// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

namespace trireme {

/// Whether standard output is seen by a person. Launchers give their processes a pseudo-terminal and copy
/// from it to their own output, which may be a file; so the terminal that counts is that of the nearest
/// ancestor with another standard output than ours.
bool output_is_terminal(bool under_launcher);

/// The rule alone. `own` is what our standard output is ("/dev/pts/3"), `ancestors` the same of parent,
/// grandparent, … as far as they could be read.
bool is_seen_by_person(const std::string& own, const std::vector<std::string>& ancestors,
                       bool under_launcher);

}  // namespace trireme
