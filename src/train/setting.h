// SPDX-License-Identifier: Apache-2.0
// One row of a table of settings. A table is the only place that names a setting: flags, environment, ini
// files, help and the stored config.ini are all read off it.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "src/core/error.h"
#include "src/train/setting_value.h"

namespace trireme {

/// What is known of a setting without knowing the struct that it belongs to.
struct SettingInfo {
  std::string name;   ///< "global-batch": the flag --global-batch, TRIREME_GLOBAL_BATCH, ini key global-batch
  std::string group;  ///< heading of --help
  std::string value_name;  ///< "N", "FILE", "NAME"; empty for on/off settings, which may stand without value
  std::string default_text;  ///< a value that `set` accepts, or empty: no default
  std::string help;
  char letter = 0;  ///< short form, 'o' for -o; 0: none
  /// Per-rank or per-machine settings (threads, device, paths, …) are not part of the hash that ranks
  /// compare.
  bool part_of_hash = true;

  bool is_switch() const { return value_name.empty(); }
};

/// A setting of the struct Config.
template <typename Config>
struct SettingOf : SettingInfo {
  /// Reads and checks one value; throws the Error of setting_value.h, to which the caller adds status and
  /// place.
  std::function<void(Config& config, std::string_view text)> set;
  /// The value as text that `set` reads back to the same value.
  std::function<std::string(const Config& config)> get;

  SettingOf per_rank() && {
    part_of_hash = false;
    return std::move(*this);
  }
  SettingOf with_letter(char short_form) && {
    letter = short_form;
    return std::move(*this);
  }
};

/// A row: `kind` (setting_value.h) says which texts are values of `field`.
template <typename Config, typename Field, typename Kind>
SettingOf<Config> setting(std::string_view name, Field Config::*field, const Kind& kind,
                          std::string_view default_text, std::string_view help) {
  SettingOf<Config> row;
  row.name = name;
  row.value_name = kind.value_name();
  row.default_text = default_text;
  row.help = help;
  row.set = [field, kind](Config& config, std::string_view text) {
    config.*field = narrow_value<Field>(kind.read(text), text);
  };
  row.get = [field, kind](const Config& config) {
    return kind.write(static_cast<typename Kind::Value>(config.*field));
  };
  return row;
}

/// Rows under one heading of the help.
template <typename Config>
void add_group(std::vector<SettingOf<Config>>& table, const std::string& heading,
               std::vector<SettingOf<Config>> rows) {
  for (SettingOf<Config>& row : rows) {
    row.group = heading;
    table.push_back(std::move(row));
  }
}

/// Sets one value that a user wrote as `spelled` ("--lr", "TRIREME_LR", "run.ini:3: lr"); errors get
/// `status`.
template <typename Config>
void apply_setting(const SettingOf<Config>& row, Config& config, std::string_view text, Status status,
                   std::string_view spelled) {
  try {
    row.set(config, text);
  } catch (const Error& error) {
    throw make_error(status, "{}: {}", spelled, error.what());
  }
}

/// Gives every setting with a default text its default.
template <typename Config>
void apply_defaults(const std::vector<SettingOf<Config>>& table, Config& config) {
  for (const SettingOf<Config>& row : table)
    if (!row.default_text.empty()) apply_setting(row, config, row.default_text, Status::internal, row.name);
}

template <typename Config>
std::vector<SettingInfo> infos_of(const std::vector<SettingOf<Config>>& table) {
  return {table.begin(), table.end()};
}

}  // namespace trireme
