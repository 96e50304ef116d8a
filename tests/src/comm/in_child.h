// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/wait.h>
#include <unistd.h>

#include <functional>
#include <stdexcept>
#include <string>

namespace trireme::testing_support {

/// How a process ended, and what it said on standard error.
struct Ended {
  int wait_status = 0;
  std::string err;
};

/// Runs `body` in a process of its own, which ends with 0 if `body` returns.
inline Ended in_child(const std::function<void()>& body) {
  int ends[2];
  if (pipe(ends) != 0) throw std::runtime_error("no pipe");
  const pid_t child = fork();
  if (child == 0) {
    dup2(ends[1], STDERR_FILENO);
    close(ends[0]);
    close(ends[1]);
    body();
    _exit(0);
  }
  close(ends[1]);
  Ended ended;
  char bytes[256];
  for (ssize_t count; (count = read(ends[0], bytes, sizeof bytes)) > 0;)
    ended.err.append(bytes, static_cast<std::size_t>(count));
  close(ends[0]);
  waitpid(child, &ended.wait_status, 0);
  return ended;
}

}  // namespace trireme::testing_support
