// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace trireme {

/// Members keep the order in which they were added.
using Json = nlohmann::ordered_json;

/// Files of one JSON object per line, all with the same lines. Each line is flushed; numbers that are not
/// finite become null. A torn last line, which a killed writer leaves, is ended before the first new one.
class JsonLog {
 public:
  /// Appends to each file; 73 if one cannot be opened.
  explicit JsonLog(const std::vector<std::string>& paths);

  /// Adds "event" in front and "time" (seconds since 1970) at the end. 74 if writing fails.
  void write(std::string_view event, const Json& members);

 private:
  struct Close {
    void operator()(std::FILE* file) const { std::fclose(file); }
  };
  struct File {
    std::string path;
    std::unique_ptr<std::FILE, Close> handle;
  };
  std::vector<File> files_;
};

}  // namespace trireme
