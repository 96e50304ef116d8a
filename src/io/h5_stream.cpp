// SPDX-License-Identifier: Apache-2.0
#include "src/io/h5_stream.h"

#include <fcntl.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "src/core/error.h"

namespace trireme {
namespace {

constexpr std::uint64_t kBase = std::uint64_t{1} << 20;
constexpr std::size_t kPiece = std::size_t{4} << 20;

}  // namespace

H5Stream::H5Stream(H5File& file) : file_(file), out_(::open(file.path().c_str(), O_RDWR | O_CLOEXEC)) {
  if (!out_) throw make_error(Status::io_error, "cannot open: {}", std::strerror(errno)).at(file.path());
  buffer_.reserve(kPiece);
}

void H5Stream::flush() {
  write_at(out_, file_.path(), kBase + flushed_, buffer_.data(), buffer_.size());
  flushed_ += buffer_.size();
  buffer_.clear();
}

void H5Stream::append(const void* data, std::size_t bytes) {
  const auto* next = static_cast<const std::byte*>(data);
  while (bytes > 0) {
    const std::size_t part = std::min(bytes, kPiece - buffer_.size());
    buffer_.insert(buffer_.end(), next, next + part);
    next += part;
    bytes -= part;
    if (buffer_.size() == kPiece) flush();
  }
}

void H5Stream::finish(std::string_view name, const Shape& shape) {
  flush();
  TRIREME_ASSERT(static_cast<std::uint64_t>(shape.count()) == flushed_,
                 "the shape counts the bytes of the stream");
  const H5Dataset dataset = file_.create_dataset<std::uint8_t>(name, shape);
  if (flushed_ == 0) return;
  TRIREME_ASSERT(dataset.address().has_value(), "HDF5 allocates contiguous datasets when asked to");
  if (*dataset.address() != kBase) move_to(*dataset.address());
}

// The two ranges may overlap: towards the front the first piece goes first, towards the end the last one.
void H5Stream::move_to(std::uint64_t address) {
  const std::uint64_t pieces = (flushed_ + kPiece - 1) / kPiece;
  buffer_.resize(kPiece);
  for (std::uint64_t i = 0; i < pieces; ++i) {
    const std::uint64_t offset = (address < kBase ? i : pieces - 1 - i) * kPiece;
    const std::size_t bytes = static_cast<std::size_t>(std::min<std::uint64_t>(kPiece, flushed_ - offset));
    const std::size_t got = read_at(out_, file_.path(), kBase + offset, buffer_.data(), bytes);
    TRIREME_ASSERT(got == bytes, "what was written can be read");
    write_at(out_, file_.path(), address + offset, buffer_.data(), bytes);
  }
  buffer_.clear();
}

}  // namespace trireme
