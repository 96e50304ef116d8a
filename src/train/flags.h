// SPDX-License-Identifier: Apache-2.0
// The command line of a subcommand, read strictly by a table of settings.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "src/train/setting.h"

namespace trireme {

/// A flag as it was given: --name=value, --name value, -n value; --name and --no-name of on/off settings
/// become the values "true" and "false".
struct GivenFlag {
  std::string name;  ///< without dashes
  std::string value;
};

struct CommandLine {
  std::vector<GivenFlag> flags;  ///< in the order of the command line
  std::vector<std::string> positionals;
};

/// Status 64 for an unknown flag (with the nearest name), one given twice, and a missing or superfluous
/// value.
CommandLine read_flags(const std::vector<std::string>& arguments, std::span<const SettingInfo> table);

/// The table as help text, by group, with defaults.
std::string settings_help(std::span<const SettingInfo> table);

/// Whether --help or -h is among the arguments.
bool wants_help(const std::vector<std::string>& arguments);

/// Hint that names the nearest of the table's settings, spelled by `spell`; empty if none is near.
std::string nearest_setting(std::string_view name, std::span<const SettingInfo> table,
                            const std::function<std::string(const std::string&)>& spell);

/// The row of this name; null if there is none.
template <typename Config>
const SettingOf<Config>* find_setting(const std::vector<SettingOf<Config>>& table, std::string_view name) {
  for (const SettingOf<Config>& row : table)
    if (row.name == name) return &row;
  return nullptr;
}

/// Sets what was given, over what `config` holds. Status 64 for values that are not allowed.
template <typename Config>
void apply_flags(const std::vector<SettingOf<Config>>& table, const CommandLine& given, Config& config) {
  for (const GivenFlag& flag : given.flags)
    if (const SettingOf<Config>* row = find_setting(table, flag.name))
      apply_setting(*row, config, flag.value, Status::usage, "--" + flag.name);
}

}  // namespace trireme
