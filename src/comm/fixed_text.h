// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <string_view>

namespace trireme {

/// Text in memory of fixed size, for records that are sent or kept without allocating. Longer text is cut.
template <std::size_t Capacity>
class FixedText {
 public:
  FixedText() = default;
  FixedText(std::string_view text) { *this = text; }  // NOLINT(google-explicit-constructor)
  FixedText& operator=(std::string_view text) {
    const std::size_t length = std::min(text.size(), Capacity);
    std::copy_n(text.begin(), length, bytes_.begin());
    std::fill(bytes_.begin() + length, bytes_.end(), '\0');
    return *this;
  }
  std::string_view view() const {
    return {bytes_.data(),
            static_cast<std::size_t>(std::find(bytes_.begin(), bytes_.end(), '\0') - bytes_.begin())};
  }

 private:
  std::array<char, Capacity> bytes_{};
};

}  // namespace trireme
