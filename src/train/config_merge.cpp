// SPDX-License-Identifier: Apache-2.0
// Where the settings of a run come from. Each source is laid over the ones before it: defaults, ini file,
// environment, flags.
#include <algorithm>
#include <cctype>
#include <map>

#include "src/io/atomic_file.h"
#include "src/train/config.h"
#include "src/train/flags.h"
#include "src/train/ini.h"
#include "src/train/output_name.h"

namespace trireme {

namespace {

enum class Source { defaults, file, environment, flags };

constexpr std::string_view kPrefix = "TRIREME_";
// Variables that the tests of this project use for themselves.
constexpr std::string_view kTestPrefix = "TRIREME_TEST_";

SettingInfo config_flag() {
  SettingInfo info;
  info.name = "config";
  info.group = "Settings";
  info.value_name = "FILE";
  info.help = "ini file of name = value lines; flags and TRIREME_* variables win over it";
  return info;
}

// Everything that is a flag and a variable: the settings, and the file that they may come from.
std::vector<SettingInfo> flag_table() {
  std::vector<SettingInfo> table = infos_of(train_settings());
  table.insert(table.begin(), config_flag());
  return table;
}

std::string variable_of(const std::string& name) {
  std::string variable(kPrefix);
  for (const char c : name)
    variable += c == '-' ? '_' : static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  return variable;
}

struct Variable {
  std::string name, value;
};

// The TRIREME_* variables; the first of two with one name counts, as for getenv.
std::vector<Variable> variables_of(const char* const* environment) {
  std::vector<Variable> variables;
  for (; environment != nullptr && *environment != nullptr; ++environment) {
    const std::string_view entry = *environment;
    const std::size_t equals = std::min(entry.find('='), entry.size());
    const std::string_view name = entry.substr(0, equals);
    if (!name.starts_with(kPrefix) || name.starts_with(kTestPrefix) || equals == entry.size()) continue;
    variables.push_back({std::string(name), std::string(entry.substr(equals + 1))});
  }
  return variables;
}

// The config under construction, and which source each setting was last set by.
class Merge {
 public:
  void add(const std::string& name, std::string_view text, Source source, std::string_view spelled) {
    const Setting* row = find_setting(train_settings(), name);
    TRIREME_ASSERT(row != nullptr, "a setting that is not in the table was let through");
    if (text.empty() && row->default_text.empty()) return;  // how config_text writes what is not set
    apply_setting(*row, config_, text, source == Source::flags ? Status::usage : Status::configuration,
                  spelled);
    sources_[name] = source;
  }

  void add_ini(const std::vector<IniEntry>& entries) {
    for (const IniEntry& entry : entries) {
      if (find_setting(train_settings(), entry.key) == nullptr) throw unknown_key(entry);
      add(entry.key, entry.value, Source::file, fmt::format("{}: {}", entry.place, entry.key));
    }
  }

  // The batch can be said in two ways; the one from the stronger source counts.
  TrainConfig take() {
    if (config_.global_batch > 0 && config_.batch_per_rank > 0) {
      const Source global = sources_["global-batch"], per_rank = sources_["batch-per-rank"];
      if (global == per_rank)
        throw Error(Status::configuration, "--global-batch and --batch-per-rank exclude each other");
      (global < per_rank ? config_.global_batch : config_.batch_per_rank) = 0;
    }
    return std::move(config_);
  }

 private:
  static Error unknown_key(const IniEntry& entry) {
    const std::vector<SettingInfo> table = infos_of(train_settings());
    const std::string hint = nearest_setting(entry.key, table, [](const std::string& near) { return near; });
    return make_error(Status::configuration, "{}: unknown setting {}", entry.place, entry.key).hint(hint);
  }

  TrainConfig config_ = default_train_config();
  std::map<std::string, Source> sources_;
};

std::string name_of_variable(const std::string& variable, const std::vector<SettingInfo>& table) {
  for (const SettingInfo& info : table)
    if (variable_of(info.name) == variable) return info.name;
  std::string plain = variable.substr(kPrefix.size());
  std::transform(plain.begin(), plain.end(), plain.begin(),
                 [](unsigned char c) { return c == '_' ? '-' : static_cast<char>(std::tolower(c)); });
  throw make_error(Status::configuration, "unknown setting {} in the environment", variable)
      .hint(nearest_setting(plain, table, variable_of));
}

// The value of --config among the flags, else in the environment, else empty.
std::string config_file(const CommandLine& line, const std::vector<Variable>& variables) {
  for (const GivenFlag& flag : line.flags)
    if (flag.name == "config") return flag.value;
  for (const Variable& variable : variables)
    if (variable.name == variable_of("config")) return variable.value;
  return "";
}

CommandLine read_train_flags(const std::vector<std::string>& arguments,
                             const std::vector<SettingInfo>& table) {
  CommandLine line = read_flags(arguments, table);
  if (!line.positionals.empty())
    throw make_error(Status::usage, "unexpected argument '{}'", line.positionals.front())
        .hint("settings of train are flags: --name value");
  return line;
}

}  // namespace

TrainConfig parse_config_text(std::string_view text, std::string_view file_name) {
  Merge merge;
  merge.add_ini(read_ini(text, file_name));
  return merge.take();
}

TrainConfig merge_train_config(const std::vector<std::string>& arguments, const char* const* environment) {
  const std::vector<SettingInfo> table = flag_table();
  const CommandLine line = read_train_flags(arguments, table);
  const std::vector<Variable> variables = variables_of(environment);
  Merge merge;
  if (const std::string file = config_file(line, variables); !file.empty())
    merge.add_ini(read_ini(read_text(file), file));
  for (const Variable& variable : variables)
    if (const std::string name = name_of_variable(variable.name, table); name != "config")
      merge.add(name, variable.value, Source::environment, variable.name);
  for (const GivenFlag& flag : line.flags)
    if (flag.name != "config") merge.add(flag.name, flag.value, Source::flags, "--" + flag.name);
  TrainConfig config = merge.take();
  config.output = expand_output_name(config.output, config.seed, environment);
  check_train_config(config);
  return config;
}

void check_train_flags(const std::vector<std::string>& arguments) {
  TrainConfig config = default_train_config();
  apply_flags(train_settings(), read_train_flags(arguments, flag_table()), config);
}

double start_up_timeout_seconds(const std::vector<std::string>& arguments, const char* const* environment) {
  constexpr const char* kName = "startup-timeout";
  Merge merge;
  for (const Variable& variable : variables_of(environment))
    if (variable.name == variable_of(kName))
      merge.add(kName, variable.value, Source::environment, variable.name);
  for (const GivenFlag& flag : read_train_flags(arguments, flag_table()).flags)
    if (flag.name == kName) merge.add(flag.name, flag.value, Source::flags, "--" + flag.name);
  return merge.take().startup_timeout_seconds;
}

std::string train_help() {
  return settings_help(flag_table());
}

}  // namespace trireme
