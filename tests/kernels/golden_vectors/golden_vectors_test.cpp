// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "tests/kernels/golden_vectors/vectors.h"

namespace trireme::golden {
namespace {

TEST(GoldenVectors, TheEmulatorGivesWhatAGpuGave) {
  const std::filesystem::path file = std::filesystem::path(GOLDEN_VECTORS_DIR) / "gpu.txt";
  if (!std::filesystem::exists(file))
    GTEST_SKIP() << file << " is not there: no GPU has been asked yet (README.md beside it says how)";
  std::ostringstream text;
  text << std::ifstream(file).rdbuf();
  const std::vector<Vector> golden = from_text(text.str()), computed = run_all();
  ASSERT_EQ(golden.size(), computed.size());
  for (std::size_t i = 0; i < golden.size(); ++i) {
    EXPECT_EQ(golden[i].name, computed[i].name);
    EXPECT_EQ(difference(computed[i], golden[i]), "");
  }
}

TEST(GoldenVectors, AreReadAsTheyWereWritten) {
  const std::vector<Vector> computed = run_all();
  const std::vector<Vector> again = from_text(to_text(computed));
  ASSERT_EQ(again.size(), computed.size());
  for (std::size_t i = 0; i < again.size(); ++i) {
    EXPECT_EQ(again[i].name, computed[i].name);
    EXPECT_EQ(again[i].words, computed[i].words);
    // Something was computed: neither nothing nor what memory holds at first.
    EXPECT_NE(std::count(again[i].words.begin(), again[i].words.end(), 0U),
              static_cast<std::ptrdiff_t>(again[i].words.size()));
    EXPECT_EQ(std::count(again[i].words.begin(), again[i].words.end(), 0xFFFFFFFFU), 0) << again[i].name;
  }
}

TEST(GoldenVectors, DifferencesAreSeen) {
  const Vector golden{"sums", Comparison::sums, {0x3F800000U, 0x40000000U}};
  Vector computed = golden;
  computed.words[1] += 1;
  EXPECT_EQ(difference(computed, golden), "");
  computed.words[1] += 1000;
  EXPECT_NE(difference(computed, golden), "");
  computed.words[1] = golden.words[1] + 1;
  computed.comparison = Comparison::bits;
  EXPECT_NE(difference(computed, golden).find("word 1"), std::string::npos);
  computed.words.pop_back();
  EXPECT_NE(difference(computed, golden), "");
  EXPECT_THROW(from_text("mma 3\n00000001 00000002\n"), std::runtime_error);
}

}  // namespace
}  // namespace trireme::golden
