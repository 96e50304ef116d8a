// SPDX-License-Identifier: Apache-2.0
#include "src/train/json_log.h"

#include <cerrno>
#include <chrono>
#include <cstring>

#include "src/core/error.h"

namespace trireme {
namespace {

bool ends_in_mid_line(std::FILE* file) {
  if (std::fseek(file, -1, SEEK_END) != 0) return false;  // empty
  const int last = std::fgetc(file);
  std::fseek(file, 0, SEEK_END);
  return last != '\n' && last != EOF;
}

}  // namespace

JsonLog::JsonLog(const std::vector<std::string>& paths) {
  for (const std::string& path : paths) {
    std::FILE* file = std::fopen(path.c_str(), "a+e");
    if (file == nullptr)
      throw make_error(Status::cannot_create, "cannot open the log for writing: {}", std::strerror(errno))
          .at(path);
    files_.push_back({path, std::unique_ptr<std::FILE, Close>(file)});
    if (ends_in_mid_line(file)) std::fputc('\n', file);
  }
}

void JsonLog::write(std::string_view event, const Json& members) {
  Json object{{"event", event}};
  for (const auto& [name, value] : members.items()) object[name] = value;
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  object["time"] =
      static_cast<double>(std::chrono::duration_cast<std::chrono::milliseconds>(now).count()) / 1000;
  const std::string line = object.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
  for (const File& file : files_)
    if (std::fputs(line.c_str(), file.handle.get()) < 0 || std::fflush(file.handle.get()) != 0)
      throw make_error(Status::io_error, "cannot write the log: {}", std::strerror(errno)).at(file.path);
}

}  // namespace trireme
