// SPDX-License-Identifier: Apache-2.0
#include "src/train/terminal.h"

#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "src/core/parse.h"

namespace trireme {
namespace {

constexpr int kMaxAncestors = 32;

std::string standard_output_of(const std::string& process) {
  std::error_code error;
  return std::filesystem::read_symlink("/proc/" + process + "/fd/1", error).string();
}

/// From "PID (name) S PPID …", where the name may hold anything; empty if unknown.
std::string parent_of(const std::string& process) {
  std::ifstream file("/proc/" + process + "/stat");
  std::string line;
  std::getline(file, line);
  const std::size_t end_of_name = line.rfind(')');
  if (end_of_name == std::string::npos) return {};
  const std::vector<std::string> words = split(std::string_view(line).substr(end_of_name + 1), ' ');
  return words.size() > 2 && words[2] != "0" ? words[2] : std::string();
}

bool is_terminal_path(const std::string& path) {
  return path.starts_with("/dev/pts/") || path.starts_with("/dev/tty");
}

}  // namespace

bool is_seen_by_person(const std::string& own, const std::vector<std::string>& ancestors,
                       bool under_launcher) {
  if (!is_terminal_path(own)) return false;
  if (!under_launcher) return true;
  for (const std::string& ancestor : ancestors)
    if (ancestor != own) return is_terminal_path(ancestor);
  return false;
}

bool output_is_terminal(bool under_launcher) {
  if (isatty(STDOUT_FILENO) != 1) return false;
  std::vector<std::string> ancestors;
  for (std::string process = parent_of("self"); !process.empty() && std::ssize(ancestors) < kMaxAncestors;
       process = parent_of(process))
    ancestors.push_back(standard_output_of(process));
  return is_seen_by_person(standard_output_of("self"), ancestors, under_launcher);
}

}  // namespace trireme
