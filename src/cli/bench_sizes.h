// SPDX-License-Identifier: Apache-2.0
// Which message sizes a sweep measures.
#pragma once

#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace trireme {

/// A kind of setting value (src/train/setting_value.h): bytes, written as 8, 64K, 4M or 1G, where the letters
/// are powers of 1024. `zero_word` is the way to write 0.
struct ByteSize {
  using Value = std::int64_t;
  std::int64_t least = 1;
  std::string zero_word = {};
  std::string value_name() const { return "BYTES"; }
  Value read(std::string_view text) const;
  std::string write(Value value) const;
};

struct SweepSize {
  std::int64_t bytes = 0;
  std::string note = {};  ///< what has this size: "vgg16"
  friend bool operator==(const SweepSize&, const SweepSize&) = default;
};

/// begin, begin·factor, … up to `end`, and those of `special` that lie between, ascending, each rounded up to
/// whole elements of fp32. `factor` is at least 2.
std::vector<SweepSize> sweep_sizes(std::int64_t begin, std::int64_t end, std::int64_t factor,
                                   std::span<const SweepSize> special);

/// The gradients of networks that papers time, as their builders count them: ResNet-50 and VGG16 with 1,000
/// classes at 224 pixels.
std::vector<SweepSize> gradient_sizes();

}  // namespace trireme
