// SPDX-License-Identifier: Apache-2.0
#include "src/io/descriptor.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "src/core/error.h"

namespace trireme {
namespace {

// Linux moves at most 2 GiB less a page per call.
constexpr std::size_t kLargestCall = std::size_t{1} << 30;

[[noreturn]] void fail(Status status, const char* verb, const std::string& path) {
  const int error = errno;
  throw make_error(status, "cannot {}: {}", verb, std::strerror(error)).at(path);
}

}  // namespace

Descriptor& Descriptor::operator=(Descriptor&& other) noexcept {
  if (this != &other) {
    reset();
    fd_ = std::exchange(other.fd_, -1);
  }
  return *this;
}

void Descriptor::reset() noexcept {
  if (fd_ >= 0) ::close(std::exchange(fd_, -1));
}

Descriptor open_for_reading(const std::string& path) {
  Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file) fail(Status::input_missing, "open", path);
  struct stat facts {};
  if (::fstat(file.get(), &facts) != 0) fail(Status::io_error, "stat", path);
  if (S_ISDIR(facts.st_mode))
    throw make_error(Status::input_missing, "a folder where a file is expected").at(path);
  return file;
}

std::uint64_t size_of_file(const Descriptor& file, const std::string& path) {
  struct stat facts {};
  if (::fstat(file.get(), &facts) != 0) fail(Status::io_error, "stat", path);
  return static_cast<std::uint64_t>(facts.st_size);
}

std::size_t read_at(const Descriptor& file, const std::string& path, std::uint64_t offset, void* data,
                    std::size_t bytes) {
  std::size_t done = 0;
  while (done < bytes) {
    const ssize_t got = ::pread(file.get(), static_cast<char*>(data) + done,
                                std::min(bytes - done, kLargestCall), static_cast<off_t>(offset + done));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) fail(Status::io_error, "read", path);
    if (got == 0) break;
    done += static_cast<std::size_t>(got);
  }
  return done;
}

void write_at(const Descriptor& file, const std::string& path, std::uint64_t offset, const void* data,
              std::size_t bytes) {
  std::size_t done = 0;
  while (done < bytes) {
    const ssize_t put = ::pwrite(file.get(), static_cast<const char*>(data) + done,
                                 std::min(bytes - done, kLargestCall), static_cast<off_t>(offset + done));
    if (put < 0 && errno == EINTR) continue;
    if (put < 0) fail(Status::io_error, "write", path);
    done += static_cast<std::size_t>(put);
  }
}

}  // namespace trireme
