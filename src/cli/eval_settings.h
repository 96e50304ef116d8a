// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "src/train/setting.h"
#include "src/train/train.h"

namespace trireme {

/// The settings of `trireme eval`.
const std::vector<SettingOf<EvalConfig>>& eval_settings();
/// Reads its command line; status 64 if it is wrong.
EvalConfig read_eval_config(const std::vector<std::string>& arguments);

}  // namespace trireme
