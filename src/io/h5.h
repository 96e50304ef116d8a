// SPDX-License-Identifier: Apache-2.0
// HDF5 behind RAII handles and typed reads and writes. HDF5's header stays in this folder's .cpp files.
//
// Threads: every call takes one process-wide lock, because not every build of HDF5 is thread-safe; what must
// be fast reads the file with pread at H5Dataset::address() instead. Errors: opening a missing file 66; a
// file or object that is not as expected 65; creating 73; writing (a full disk) 74. Messages carry HDF5's
// innermost reason; HDF5 itself prints nothing. Files: no times are stored, so equal content gives equal
// bytes; objects from 64 KiB up start at a 1 MiB boundary; file locking is off unless HDF5_USE_FILE_LOCKING
// is set.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "src/core/shape.h"

namespace trireme {

/// Owns one HDF5 identifier.
class H5Handle {
 public:
  using Id = std::int64_t;
  using Close = int (*)(Id);

  H5Handle() = default;
  H5Handle(Id id, Close close) : id_(id), close_(close) {}
  ~H5Handle() { reset(); }
  H5Handle(H5Handle&& other) noexcept
      : id_(std::exchange(other.id_, -1)), close_(std::exchange(other.close_, nullptr)) {}
  H5Handle& operator=(H5Handle&& other) noexcept;
  H5Handle(const H5Handle&) = delete;
  H5Handle& operator=(const H5Handle&) = delete;

  Id get() const { return id_; }
  explicit operator bool() const { return id_ >= 0; }
  /// Closes now; false if HDF5 reports a failure.
  bool reset() noexcept;

 private:
  Id id_ = -1;
  Close close_ = nullptr;
};

/// What may stand in a dataset or an attribute: uint8, int32, int64, uint64, float, double. Reading converts
/// between number types as HDF5 does (integers out of range are clipped, so read into a type that is wide
/// enough).
template <typename T>
concept H5Number =
    std::is_same_v<T, std::uint8_t> || std::is_same_v<T, std::int32_t> || std::is_same_v<T, std::int64_t> ||
    std::is_same_v<T, std::uint64_t> || std::is_same_v<T, float> || std::is_same_v<T, double>;

enum class H5Element { u8, integer, real, text, other };

/// One open dataset; lives no longer than its file. The shape is cut off at Shape::kMaxRank (65 beyond). 65
/// too where it is compressed by a filter that HDF5 does not have.
class H5Dataset {
 public:
  const std::string& name() const { return name_; }
  const Shape& shape() const { return shape_; }
  H5Element element() const { return element_; }
  /// Byte address in the file of a contiguous dataset without filters; none for other layouts, external
  /// storage and datasets that were never written.
  std::optional<std::uint64_t> address() const { return address_; }

  /// Rows [first, first + count) along axis 0, row-major.
  template <H5Number T>
  void write_rows(std::int64_t first, std::int64_t count, const T* values);
  template <H5Number T>
  void read_rows(std::int64_t first, std::int64_t count, T* values) const;

 private:
  friend class H5File;
  H5Dataset(std::string file, std::string name, H5Handle handle);

  std::string file_, name_;
  H5Handle handle_;
  Shape shape_;
  H5Element element_ = H5Element::other;
  std::optional<std::uint64_t> address_;
};

/// Where big objects of a new file begin: `stripes` puts those of 64 KiB and more at 1 MiB boundaries (what a
/// parallel file system reads at once), `none` packs them.
enum class H5Alignment { none, stripes };

/// One open file. Names are paths within it ("labels", "optimizer/momentum/conv1.weight"); groups in front
/// are made as needed when writing.
class H5File {
 public:
  static H5File create(const std::string& path, H5Alignment alignment = H5Alignment::none);
  static H5File open_read(const std::string& path);

  const std::string& path() const { return path_; }
  bool has(std::string_view name) const;
  /// Names of the members of a group, in bytewise order.
  std::vector<std::string> members(std::string_view group = "/") const;

  // Attributes, of the root group unless `object` names another one.
  bool has_attribute(std::string_view name, std::string_view object = "/") const;
  void write_text_attribute(std::string_view name, std::string_view text, std::string_view object = "/");
  std::string read_text_attribute(std::string_view name, std::string_view object = "/") const;
  template <H5Number T>
  void write_attribute(std::string_view name, T value, std::string_view object = "/");
  template <H5Number T>
  void write_attribute(std::string_view name, std::span<const T> values, std::string_view object = "/");
  /// A scalar, or an array of one element.
  template <H5Number T>
  T read_attribute(std::string_view name, std::string_view object = "/") const;
  template <H5Number T>
  std::vector<T> read_attribute_array(std::string_view name, std::string_view object = "/") const;

  // Whole datasets.
  template <H5Number T>
  void write(std::string_view name, const Shape& shape, const T* values);
  template <H5Number T>
  std::vector<T> read(std::string_view name) const;
  /// UTF-8, variable length, one dimension; reading takes fixed-length strings too.
  void write_strings(std::string_view name, std::span<const std::string> values);
  std::vector<std::string> read_strings(std::string_view name) const;
  /// One string of any length (a scalar dataset: attributes end at 64 KiB).
  void write_text(std::string_view name, std::string_view text);
  std::string read_text(std::string_view name) const;

  /// A contiguous dataset that is written by rows. Its space is allocated at once and not filled, so every
  /// row must be written.
  template <H5Number T>
  H5Dataset create_dataset(std::string_view name, const Shape& shape);
  H5Dataset open_dataset(std::string_view name) const;

  /// Writes everything and closes; 74 if that fails. The destructor closes without saying so.
  void close();

 private:
  H5File(std::string path, H5Handle handle) : path_(std::move(path)), handle_(std::move(handle)) {}
  void write_string_values(std::string_view name, std::span<const std::string> values, bool scalar);

  std::string path_;
  H5Handle handle_;
};

}  // namespace trireme
