// SPDX-License-Identifier: Apache-2.0
// simt_bugs list | simt_bugs <bug> seeded|correct. Status 0: nothing was noticed; 1: the result is wrong;
// 3: the emulator found a fault. A sanitizer ends the process in its own way.
#include <cstdio>
#include <cstring>
#include <exception>

#include "tests/kernels/simt_bugs/bugs.h"

namespace {

using trireme::bugs::Bug;

std::vector<Bug> all_bugs() {
  std::vector<Bug> all;
  for (const auto& some : {trireme::bugs::order_bugs(), trireme::bugs::access_bugs(),
                           trireme::bugs::meeting_bugs(), trireme::bugs::host_bugs()})
    all.insert(all.end(), some.begin(), some.end());
  return all;
}

int run(const Bug& bug, bool is_seeded) {
  try {
    const std::string wrong = bug.run(is_seeded);
    if (wrong.empty()) return 0;
    std::printf("wrong: %s\n", wrong.c_str());
    return 1;
  } catch (const std::exception& error) {
    std::printf("fault: %s\n", error.what());
    return 3;
  }
}

}  // namespace

int main(int argc, char** argv) {
  const std::vector<Bug> bugs = all_bugs();
  if (argc == 2 && std::strcmp(argv[1], "list") == 0) {
    for (const Bug& bug : bugs) std::printf("%s\n", bug.name);
    return 0;
  }
  if (argc == 3)
    for (const Bug& bug : bugs)
      if (std::strcmp(bug.name, argv[1]) == 0) return run(bug, std::strcmp(argv[2], "seeded") == 0);
  std::fprintf(stderr, "usage: simt_bugs list | simt_bugs <bug> seeded|correct\n");
  return 64;
}
