// SPDX-License-Identifier: Apache-2.0
// Values to bytes and back between processes of one machine: native sizes and byte order, no versions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "src/core/error.h"

namespace trireme {

class ByteWriter {
 public:
  template <typename T>
  requires std::is_trivially_copyable_v<T>
  void put(const T& value) { append(&value, sizeof value); }
  template <typename T>
  requires std::is_trivially_copyable_v<T>
  void put_all(const std::vector<T>& values) {
    put(static_cast<std::uint64_t>(values.size()));
    append(values.data(), values.size() * sizeof(T));
  }
  void put_text(std::string_view text) {
    put(static_cast<std::uint64_t>(text.size()));
    append(text.data(), text.size());
  }
  std::vector<std::byte> take() { return std::move(bytes_); }

 private:
  void append(const void* data, std::size_t bytes) {
    const auto* first = static_cast<const std::byte*>(data);
    bytes_.insert(bytes_.end(), first, first + bytes);
  }
  std::vector<std::byte> bytes_;
};

/// Reads what a ByteWriter wrote, in the same order.
class ByteReader {
 public:
  explicit ByteReader(std::span<const std::byte> bytes) : rest_(bytes) {}

  template <typename T>
  requires std::is_trivially_copyable_v<T> T get() {
    T value;
    copy(&value, sizeof value);
    return value;
  }
  template <typename T>
  requires std::is_trivially_copyable_v<T> std::vector<T> get_all() {
    const std::uint64_t count = counted(sizeof(T));
    std::vector<T> values(count);
    copy(values.data(), count * sizeof(T));
    return values;
  }
  std::string get_text() {
    std::string text(counted(1), '\0');
    copy(text.data(), text.size());
    return text;
  }
  std::span<const std::byte> rest() const { return rest_; }

 private:
  std::uint64_t counted(std::size_t each) {
    const auto count = get<std::uint64_t>();
    TRIREME_ASSERT(count <= rest_.size() / each, "the bytes hold what they announce");
    return count;
  }
  void copy(void* out, std::size_t bytes) {
    TRIREME_ASSERT(bytes <= rest_.size(), "the bytes hold what is read");
    if (bytes > 0) std::memcpy(out, rest_.data(), bytes);
    rest_ = rest_.subspan(bytes);
  }
  std::span<const std::byte> rest_;
};

}  // namespace trireme
