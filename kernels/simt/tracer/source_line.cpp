// SPDX-License-Identifier: Apache-2.0
#include "kernels/simt/tracer/source_line.h"

#include <backtrace.h>

#include <cstring>
#include <mutex>
#include <string>

namespace trireme::simt::tracer {
namespace {

struct Found {
  std::string file;
  int line = 0;
};

void ignore_error(void* /*data*/, const char* /*message*/, int /*number*/) {}

bool is_vocabulary(const char* file) {
  return std::strstr(file, "kernels/simt/") != nullptr && std::strstr(file, "tests/kernels/simt/") == nullptr;
}

/// Called from the innermost inlined function outwards, until it returns other than 0.
int take_line(void* data, std::uintptr_t /*pc*/, const char* file, int line, const char* /*function*/) {
  if (file == nullptr || is_vocabulary(file)) return 0;
  *static_cast<Found*>(data) = {file, line};
  return 1;
}

}  // namespace

emulator::Site site_of(std::uintptr_t pc, int slot) {
  static std::mutex mutex;
  static backtrace_state* const state = backtrace_create_state(nullptr, 0, ignore_error, nullptr);
  thread_local std::string files[2];
  Found found;
  const std::lock_guard lock(mutex);
  backtrace_pcinfo(state, pc - 1, take_line, ignore_error, &found);
  files[slot] = found.file;
  return {files[slot].c_str(), found.line};
}

}  // namespace trireme::simt::tracer
