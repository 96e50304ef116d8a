// SPDX-License-Identifier: Apache-2.0
// Faults that kernels and their callers are known for, each in the smallest kernel that shows it. run_bugs.py
// runs them in every build of the emulator and knows which must notice which.
#pragma once

#include <string>
#include <vector>

#include "kernels/simt/simt.h"
#include "tests/kernels/support/device_array.h"

namespace trireme::bugs {

struct Bug {
  const char* name;
  /// Runs the kernel, with the fault or as it should be; what is wrong with its result, or an empty text.
  std::string (*run)(bool is_seeded);
};

std::vector<Bug> order_bugs();
std::vector<Bug> access_bugs();
std::vector<Bug> meeting_bugs();
std::vector<Bug> host_bugs();

/// The first difference of what was computed from what should have been.
template <typename T>
std::string difference(const std::vector<T>& computed, const std::vector<T>& expected) {
  for (std::size_t i = 0; i < expected.size(); ++i)
    if (!(computed[i] == expected[i]))
      return "element " + std::to_string(i) + " is " + std::to_string(computed[i]) + ", not " +
             std::to_string(expected[i]);
  return "";
}

inline std::vector<float> counting(int size) {
  std::vector<float> values(static_cast<std::size_t>(size));
  for (int i = 0; i < size; ++i) values[static_cast<std::size_t>(i)] = static_cast<float>(i + 1);
  return values;
}

}  // namespace trireme::bugs
