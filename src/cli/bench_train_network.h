// SPDX-License-Identifier: Apache-2.0
// What the benchmarks of whole networks share.
#pragma once

#include <cstdint>
#include <string_view>

#include "src/comm/world.h"
#include "src/graph/graph.h"
#include "src/train/setting_value.h"

namespace trireme {

/// The names of networks, for tables of settings.
Choice network_choice();
/// The network for square colour pictures.
Graph bench_network(std::string_view model, std::int64_t image_size, std::int64_t classes);
/// Error (78) in a world of several ranks: what they exchange is measured elsewhere.
void check_one_rank(const World& world, std::string_view topic);

}  // namespace trireme
