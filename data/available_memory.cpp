// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <limits>
#include <optional>
#include <sstream>

#include "data/staging.h"
#include "src/core/parse.h"

namespace trireme {
namespace {

std::optional<std::uint64_t> number_in(const std::string& path) {
  std::ifstream in(path);
  std::string word;
  in >> word;
  const auto value = parse_int(word);  // "max" is no number
  return value && *value >= 0 ? std::optional<std::uint64_t>(static_cast<std::uint64_t>(*value))
                              : std::nullopt;
}

/// Sum of the values after these keys in a file of "key value" lines.
std::uint64_t sum_of_keys(const std::string& path, std::initializer_list<std::string_view> keys) {
  std::ifstream in(path);
  std::uint64_t sum = 0;
  for (std::string key, value; in >> key >> value;
       in.ignore(std::numeric_limits<std::streamsize>::max(), '\n'))
    if (std::find(keys.begin(), keys.end(), key) != keys.end())
      sum += static_cast<std::uint64_t>(parse_int(value).value_or(0));
  return sum;
}

struct CgroupFiles {
  const char* limit;
  const char* usage;
};
constexpr CgroupFiles kVersion1{"memory.limit_in_bytes", "memory.usage_in_bytes"};
constexpr CgroupFiles kVersion2{"memory.max", "memory.current"};

/// What the limits of a group and all above it leave.
std::uint64_t left_in_group(const std::string& mount, std::filesystem::path group, const CgroupFiles& files) {
  std::uint64_t left = std::numeric_limits<std::uint64_t>::max();
  for (;; group = group.parent_path()) {
    const std::string folder = mount + group.string();
    const auto limit = number_in(folder + "/" + files.limit), usage = number_in(folder + "/" + files.usage);
    if (limit && usage) {
      const std::uint64_t cache = sum_of_keys(folder + "/memory.stat", {"inactive_file", "active_file"});
      const std::uint64_t taken = *usage - std::min(*usage, cache);
      left = std::min(left, *limit - std::min(*limit, taken));
    }
    if (group == group.root_path() || group.empty()) return left;
  }
}

}  // namespace

std::uint64_t available_memory(const std::string& root) {
  std::uint64_t available = sum_of_keys(root + "/proc/meminfo", {"MemAvailable:"}) * 1024;
  std::ifstream groups(root + "/proc/self/cgroup");
  for (std::string line; std::getline(groups, line);) {  // "0::/path", "9:memory:/path"
    const std::size_t first = line.find(':'), second = line.find(':', first + 1);
    if (second == std::string::npos) continue;
    const std::string controllers = line.substr(first + 1, second - first - 1),
                      group = line.substr(second + 1);
    if (controllers.empty())
      available = std::min(available, left_in_group(root + "/sys/fs/cgroup", group, kVersion2));
    else if (controllers == "memory")
      available = std::min(available, left_in_group(root + "/sys/fs/cgroup/memory", group, kVersion1));
  }
  return available;
}

}  // namespace trireme
