// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

namespace trireme {

/// XXH3-64 of a range of bytes.
std::uint64_t xxh3(const void* data, std::size_t bytes);
inline std::uint64_t xxh3(std::string_view text) {
  return xxh3(text.data(), text.size());
}

/// XXH3-64 of a stream of pieces: equal to xxh3 of their concatenation.
class Hasher {
 public:
  Hasher();
  ~Hasher();
  Hasher(const Hasher&) = delete;
  Hasher& operator=(const Hasher&) = delete;

  Hasher& add(const void* data, std::size_t bytes);
  /// Adds the length and the bytes, so that ("ab","c") and ("a","bc") differ.
  Hasher& add_text(std::string_view text);
  std::uint64_t digest() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

/// 16 lower-case hexadecimal digits.
std::string hex_of(std::uint64_t value);

}  // namespace trireme
