// SPDX-License-Identifier: Apache-2.0
// golden_check FILE [EXPECTED]: writes the golden vectors of this device (or of the emulator) to FILE and
// compares them with those of another. Status 1 if they differ by more than hardware may.
#include <cstdio>
#include <exception>
#include <fstream>
#include <sstream>

#include "tests/kernels/golden_vectors/vectors.h"

namespace {

using trireme::golden::Vector;

int count_differences(const std::vector<Vector>& computed, const char* file) {
  std::ostringstream text;
  text << std::ifstream(file).rdbuf();
  const std::vector<Vector> expected = trireme::golden::from_text(text.str());
  if (expected.size() != computed.size()) {
    std::printf("%zu vectors, %zu in %s\n", computed.size(), expected.size(), file);
    return 1;
  }
  int differences = 0;
  for (std::size_t i = 0; i < computed.size(); ++i) {
    const std::string found = computed[i].name != expected[i].name
                                  ? computed[i].name + " is " + expected[i].name + " there"
                                  : trireme::golden::difference(computed[i], expected[i]);
    if (found.empty()) continue;
    std::printf("%s\n", found.c_str());
    ++differences;
  }
  return differences;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2 || argc > 3) {
    std::fputs("usage: golden_check FILE [EXPECTED]\n", stderr);
    return 64;
  }
  try {
    const std::vector<Vector> computed = trireme::golden::run_all();
    std::ofstream(argv[1]) << trireme::golden::to_text(computed);
    const int differences = argc > 2 ? count_differences(computed, argv[2]) : 0;
    std::printf("%zu vectors, %d differ\n", computed.size(), differences);
    return differences == 0 ? 0 : 1;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "golden_check: %s\n", error.what());
    return 70;
  }
}
