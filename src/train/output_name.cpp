// SPDX-License-Identifier: Apache-2.0
#include "src/train/output_name.h"

#include "src/core/error.h"

namespace trireme {

namespace {

std::string variable_value(std::string_view variable, std::string_view placeholder,
                           const char* const* environment) {
  for (; environment != nullptr && *environment != nullptr; ++environment) {
    const std::string_view entry = *environment;
    if (entry.starts_with(variable) && entry.substr(variable.size()).starts_with('='))
      return std::string(entry.substr(variable.size() + 1));
  }
  throw make_error(Status::configuration, "--output: {} needs {}, which is not set", placeholder, variable)
      .hint("the variable is there inside a Slurm job");
}

std::string placeholder_value(std::string_view placeholder, std::uint64_t seed,
                              const char* const* environment) {
  if (placeholder == "{seed}") return std::to_string(seed);
  if (placeholder == "{jobid}") return variable_value("SLURM_JOB_ID", placeholder, environment);
  if (placeholder == "{index}") return variable_value("SLURM_ARRAY_TASK_ID", placeholder, environment);
  throw make_error(Status::configuration, "--output: {} is none of {{seed}}, {{jobid}}, {{index}}",
                   placeholder);
}

}  // namespace

std::string expand_output_name(std::string_view name, std::uint64_t seed, const char* const* environment) {
  std::string expanded;
  while (!name.empty()) {
    const std::size_t open = name.find('{');
    expanded += name.substr(0, open);
    if (open == std::string_view::npos) break;
    const std::size_t close = name.find('}', open);
    if (close == std::string_view::npos)
      throw make_error(Status::configuration, "--output: '{}' lacks a closing brace", name);
    expanded += placeholder_value(name.substr(open, close + 1 - open), seed, environment);
    name.remove_prefix(close + 1);
  }
  return expanded;
}

}  // namespace trireme
