// SPDX-License-Identifier: Apache-2.0
// File descriptors that close themselves, and reads and writes that do not stop half-way.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>

namespace trireme {

/// Owns one file descriptor.
class Descriptor {
 public:
  Descriptor() = default;
  explicit Descriptor(int fd) : fd_(fd) {}
  ~Descriptor() { reset(); }
  Descriptor(Descriptor&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  Descriptor& operator=(Descriptor&& other) noexcept;
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;

  int get() const { return fd_; }
  explicit operator bool() const { return fd_ >= 0; }
  void reset() noexcept;

 private:
  int fd_ = -1;
};

/// Opens for reading; 66 if that fails or the path is a folder.
Descriptor open_for_reading(const std::string& path);
/// Size of an open file; 74 on failure.
std::uint64_t size_of_file(const Descriptor& file, const std::string& path);

/// Reads exactly `bytes` at `offset`, over short reads and interruptions. Returns how many there were before
/// the end of the file; 74 on I/O errors.
std::size_t read_at(const Descriptor& file, const std::string& path, std::uint64_t offset, void* data,
                    std::size_t bytes);
/// Writes all; 74 on failure.
void write_at(const Descriptor& file, const std::string& path, std::uint64_t offset, const void* data,
              std::size_t bytes);

}  // namespace trireme
