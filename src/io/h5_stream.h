// SPDX-License-Identifier: Apache-2.0
// A contiguous dataset of bytes whose length is known only when the last byte has come.
//
// HDF5 gives a contiguous dataset its place in the file when it is created with its final extent. The stream
// therefore writes beside HDF5: while the H5File is open and has allocated little, bytes go through a
// descriptor of our own to where HDF5 will put the first aligned object, at 1 MiB. finish() then creates the
// dataset with early allocation and no fill value, so that HDF5 adopts the bytes; should it choose another
// address (small datasets), they are moved there. Nothing is written twice, and nothing has to fit in memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "src/io/descriptor.h"
#include "src/io/h5.h"

namespace trireme {

class H5Stream {
 public:
  /// `file` was just created with H5Alignment::stripes; until finish() nothing of 64 KiB or more is written
  /// to it by others.
  explicit H5Stream(H5File& file);

  /// 74 when the disk is full.
  void append(const void* data, std::size_t bytes);
  std::uint64_t bytes() const { return flushed_ + buffer_.size(); }
  /// Makes `name` of `shape`, which counts exactly bytes() elements of uint8.
  void finish(std::string_view name, const Shape& shape);

 private:
  void flush();
  void move_to(std::uint64_t address);

  H5File& file_;
  Descriptor out_;
  std::vector<std::byte> buffer_;
  std::uint64_t flushed_ = 0;
};

}  // namespace trireme
