// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "src/cli/cli.h"

namespace trireme {

struct Outcome {
  int status = 0;
  std::string out, err;
};

/// Runs the program in this process, as `trireme WORDS...`.
inline Outcome run_words(std::vector<std::string> words) {
  words.insert(words.begin(), "trireme");
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  Outcome outcome;
  testing::internal::CaptureStdout();
  testing::internal::CaptureStderr();
  outcome.status = run_command_line(static_cast<int>(words.size()), argv.data());
  outcome.out = testing::internal::GetCapturedStdout();
  outcome.err = testing::internal::GetCapturedStderr();
  return outcome;
}

}  // namespace trireme
