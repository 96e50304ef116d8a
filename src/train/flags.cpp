// SPDX-License-Identifier: Apache-2.0
#include "src/train/flags.h"

#include <algorithm>
#include <boost/program_options.hpp>
#include <set>
#include <sstream>

#include "src/core/parse.h"

namespace trireme {

namespace po = boost::program_options;

namespace {

constexpr unsigned kHelpWidth = 110;

po::value_semantic* value_of(const SettingInfo& info) {
  auto* value = po::value<std::string>()->value_name(info.value_name);
  if (!info.default_text.empty()) value->default_value(info.default_text);
  return value;
}

std::string boost_name(const SettingInfo& info) {
  return info.letter == 0 ? info.name : fmt::format("{},{}", info.name, info.letter);
}

void add_help(po::options_description& group, const SettingInfo& info) {
  if (!info.is_switch())
    group.add_options()(boost_name(info).c_str(), value_of(info), info.help.c_str());
  else if (info.default_text == "true")
    group.add_options()(("[no-]" + info.name).c_str(), (info.help + " (on by default)").c_str());
  else
    group.add_options()(info.name.c_str(), info.help.c_str());
}

// --NAME=true and --NAME=false for --NAME and --no-NAME of on/off settings: without this, Boost would take
// the next word as their value.
std::vector<std::string> spell_out_switches(std::vector<std::string> arguments,
                                            std::span<const SettingInfo> table) {
  const auto end = std::find(arguments.begin(), arguments.end(), "--");
  for (const SettingInfo& info : table) {
    if (!info.is_switch()) continue;
    std::replace(arguments.begin(), end, "--" + info.name, "--" + info.name + "=true");
    std::replace(arguments.begin(), end, "--no-" + info.name, "--" + info.name + "=false");
  }
  return arguments;
}

GivenFlag flag_of(const po::option& option) {
  // Boost takes whatever follows as the value; a forgotten value must not swallow the next flag.
  if (option.original_tokens.size() > 1 && option.original_tokens[1].starts_with("--"))
    throw make_error(Status::usage, "--{} has no value", option.string_key)
        .hint(fmt::format("a value that begins with -- is written --{}=VALUE", option.string_key));
  return {option.string_key, option.value.empty() ? "" : option.value.front()};
}

CommandLine collect(const std::vector<po::option>& options) {
  CommandLine line;
  std::set<std::string> seen;
  for (const po::option& option : options) {
    if (option.string_key.empty()) {
      line.positionals.push_back(option.value.front());
      continue;
    }
    line.flags.push_back(flag_of(option));
    if (!seen.insert(line.flags.back().name).second)
      throw make_error(Status::usage, "--{} is given twice", line.flags.back().name);
  }
  return line;
}

Error unknown_flag(const std::string& token, std::span<const SettingInfo> table) {
  const std::string spelled = token.substr(0, token.find('='));
  const std::string name = spelled.substr(std::min(spelled.find_first_not_of('-'), spelled.size()));
  Error error = make_error(Status::usage, "unknown flag {}", spelled);
  const std::string hint = nearest_setting(name, table, [](const std::string& near) { return "--" + near; });
  return std::move(error).hint(hint.empty() ? "--help lists the flags" : hint);
}

}  // namespace

CommandLine read_flags(const std::vector<std::string>& arguments, std::span<const SettingInfo> table) {
  namespace style = po::command_line_style;
  constexpr int kStrict = style::unix_style & ~style::allow_guessing & ~style::allow_sticky;
  po::options_description known;
  for (const SettingInfo& info : table) known.add_options()(boost_name(info).c_str(), value_of(info), "");
  try {
    po::command_line_parser parser(spell_out_switches(arguments, table));
    return collect(parser.options(known).style(kStrict).run().options);
  } catch (const po::unknown_option& error) {
    throw unknown_flag(error.get_option_name(), table);
  } catch (const po::error& error) {
    throw Error(Status::usage, error.what());
  }
}

std::string settings_help(std::span<const SettingInfo> table) {
  std::ostringstream out;
  for (auto row = table.begin(); row != table.end();) {
    const std::string& heading = row->group;
    po::options_description group(heading, kHelpWidth, kHelpWidth / 2);
    for (; row != table.end() && row->group == heading; ++row) add_help(group, *row);
    out << group << '\n';
  }
  return out.str();
}

bool wants_help(const std::vector<std::string>& arguments) {
  return std::any_of(arguments.begin(), arguments.end(),
                     [](const std::string& argument) { return argument == "--help" || argument == "-h"; });
}

std::string nearest_setting(std::string_view name, std::span<const SettingInfo> table,
                            const std::function<std::string(const std::string&)>& spell) {
  std::vector<std::string> names;
  for (const SettingInfo& info : table) names.push_back(info.name);
  const std::string nearest = nearest_name(name, names);
  return nearest.empty() ? "" : fmt::format("did you mean {}?", spell(nearest));
}

}  // namespace trireme
