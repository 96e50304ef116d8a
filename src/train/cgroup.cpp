// SPDX-License-Identifier: Apache-2.0
#include "src/train/cgroup.h"

#include <fmt/core.h>

#include <algorithm>
#include <fstream>
#include <optional>
#include <vector>

#include "src/core/parse.h"

namespace trireme {
namespace {

std::optional<std::string> first_line(const std::string& path) {
  std::ifstream file(path);
  std::string line;
  if (!std::getline(file, line)) return std::nullopt;
  return line;
}

double quota_v2(const std::string& folder) {
  const auto line = first_line(folder + "/cpu.max");
  if (!line) return 0;
  const std::vector<std::string> words = split(*line, ' ');
  if (words.size() != 2) return 0;
  const auto quota = parse_int(words[0]), period = parse_int(words[1]);
  return quota && period && *quota > 0 && *period > 0
             ? static_cast<double>(*quota) / static_cast<double>(*period)
             : 0;
}

double quota_v1(const std::string& folder) {
  const auto quota_line = first_line(folder + "/cpu.cfs_quota_us"),
             period_line = first_line(folder + "/cpu.cfs_period_us");
  if (!quota_line || !period_line) return 0;
  const auto quota = parse_int(*quota_line), period = parse_int(*period_line);
  return quota && period && *quota > 0 && *period > 0
             ? static_cast<double>(*quota) / static_cast<double>(*period)
             : 0;
}

/// Smallest quota from `path` up to the hierarchy's root. Inside a container the path may name folders that
/// only the host has; then the root alone answers.
template <typename QuotaOf>
double smallest_upwards(const std::string& hierarchy, std::string path, const QuotaOf& quota_of) {
  double smallest = 0;
  while (true) {
    const double quota = quota_of(hierarchy + path);
    if (quota > 0) smallest = smallest > 0 ? std::min(smallest, quota) : quota;
    const std::size_t slash = path.rfind('/');
    if (path.empty() || slash == std::string::npos) return smallest;
    path.resize(slash);
  }
}

}  // namespace

double cgroup_cpu_quota(std::string_view membership, const std::string& root) {
  double smallest = 0;
  for (const std::string& line : split(membership, '\n')) {
    const std::size_t first = line.find(':'), second = line.find(':', first + 1);
    if (first == std::string::npos || second == std::string::npos) continue;
    const std::string controllers = line.substr(first + 1, second - first - 1);
    std::string path = line.substr(second + 1);
    if (path == "/") path.clear();
    double quota = 0;
    if (controllers.empty()) {
      quota = smallest_upwards(root, path, quota_v2);
    } else {
      const std::vector<std::string> names = split(controllers, ',');
      if (std::find(names.begin(), names.end(), "cpu") == names.end()) continue;
      quota = smallest_upwards(fmt::format("{}/{}", root, controllers), path, quota_v1);
      if (quota == 0) quota = smallest_upwards(root + "/cpu", path, quota_v1);
    }
    if (quota > 0) smallest = smallest > 0 ? std::min(smallest, quota) : quota;
  }
  return smallest;
}

}  // namespace trireme
