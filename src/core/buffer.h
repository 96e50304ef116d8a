// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <memory>

namespace trireme {

/// Owned memory of a fixed size; what kind of memory is the maker's affair. Base for RAII subclasses.
class Buffer {
 public:
  virtual ~Buffer() = default;
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;

  void* data() const { return data_; }
  std::size_t bytes() const { return bytes_; }

 protected:
  Buffer(void* data, std::size_t bytes) : data_(data), bytes_(bytes) {}

  void* data_;
  std::size_t bytes_;
};

/// Where Program and Loader get their memory: plain, pinned, shared between ranks, or registered.
/// Returned memory is zeroed and aligned to at least 256 bytes. Zero bytes are allowed.
class BufferSource {
 public:
  virtual ~BufferSource() = default;
  virtual std::unique_ptr<Buffer> allocate(std::size_t bytes) = 0;
};

/// Ordinary host memory, aligned to 4096 bytes, transparent huge pages asked for from 2 MiB up.
class HostMemory final : public BufferSource {
 public:
  std::unique_ptr<Buffer> allocate(std::size_t bytes) override;
};

}  // namespace trireme
