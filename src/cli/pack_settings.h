// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "data/pack.h"
#include "src/train/setting.h"

namespace trireme {

/// What `trireme pack` is asked for.
struct PackRequest : PackOptions {
  bool quiet = false;
};

/// The settings of `trireme pack`.
const std::vector<SettingOf<PackRequest>>& pack_settings();
/// Reads its command line; status 64 if it is wrong.
PackRequest read_pack_request(const std::vector<std::string>& arguments);

}  // namespace trireme
