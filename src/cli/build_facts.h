// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace trireme {

/// "0.1.0"
std::string program_version();

/// What this program was built with, as pairs of a heading and a line of text.
std::vector<std::pair<std::string, std::string>> build_facts();

}  // namespace trireme
