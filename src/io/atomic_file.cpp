// SPDX-License-Identifier: Apache-2.0
#include "src/io/atomic_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>

#include "src/core/error.h"
#include "src/io/descriptor.h"
#include "src/io/path.h"

namespace trireme {
namespace {

std::string folder_of(const std::string& path) {
  const std::string folder = std::filesystem::path(path).parent_path().string();
  return folder.empty() ? "." : folder;
}

[[noreturn]] void fail(Status status, const char* verb, const std::string& path) {
  const int error = errno;
  throw make_error(status, "cannot {}: {}", verb, std::strerror(error)).at(path);
}

void sync_path(const std::string& path, int flags) {
  const Descriptor file(::open(path.c_str(), flags | O_CLOEXEC));
  if (!file) fail(Status::io_error, "open for fsync", path);
  // Some file systems refuse fsync on folders (EINVAL); the rename is then as durable as they make it.
  if (::fsync(file.get()) != 0 && errno != EINVAL) fail(Status::io_error, "fsync", path);
}

// Also where the link's target does not exist yet, which canonical paths do not resolve.
std::string follow_links(const std::string& path) {
  constexpr int kMostLinks = 40;
  std::filesystem::path target(path);
  for (int i = 0; i < kMostLinks; ++i) {
    std::error_code error;
    const std::filesystem::path next = std::filesystem::read_symlink(target, error);
    if (error) return target.string();
    target = target.parent_path() / next;
  }
  throw make_error(Status::cannot_create, "cannot create {}: its symbolic links go in a circle", path);
}

}  // namespace

void check_replaceable(const std::string& path) {
  std::error_code error;
  const std::filesystem::file_status found = std::filesystem::status(path, error);
  if (!std::filesystem::exists(found) || std::filesystem::is_regular_file(found)) return;
  throw make_error(Status::cannot_create, "cannot create {}: {}", path,
                   std::filesystem::is_directory(found) ? "it is a folder" : "it is not a regular file");
}

AtomicFile::AtomicFile(const std::string& final_path) : final_path_(follow_links(final_path)) {
  static std::atomic<unsigned> counter{0};
  const std::string folder = folder_of(final_path_);
  if (!is_folder(folder))
    throw make_error(Status::cannot_create, "cannot create {}: no such folder", final_path_)
        .at(folder)
        .hint("create the folder first");
  check_replaceable(final_path);
  const std::string name = std::filesystem::path(final_path_).filename().string();
  temporary_path_ = fmt::format("{}/.{}.tmp-{}-{}", folder, name, ::getpid(), counter++);
  const Descriptor probe(::open(temporary_path_.c_str(), O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0666));
  if (!probe) fail(Status::cannot_create, "create a file", temporary_path_);
}

AtomicFile::~AtomicFile() {
  if (!committed_) ::unlink(temporary_path_.c_str());
}

void AtomicFile::commit() {
  sync_path(temporary_path_, O_RDONLY);
  if (::rename(temporary_path_.c_str(), final_path_.c_str()) != 0)
    fail(Status::io_error, "rename to", final_path_);
  committed_ = true;
  sync_path(folder_of(final_path_), O_RDONLY | O_DIRECTORY);
}

void write_text_atomically(const std::string& path, std::string_view text) {
  AtomicFile file(path);
  {
    const Descriptor out(::open(file.temporary_path().c_str(), O_WRONLY | O_TRUNC | O_CLOEXEC));
    if (!out) fail(Status::io_error, "open", file.temporary_path());
    write_at(out, path, 0, text.data(), text.size());
  }
  file.commit();
}

// With read(), not pread(): a pipe is welcome too.
std::string read_text(const std::string& path) {
  const Descriptor in = open_for_reading(path);
  std::string text;
  char piece[16384];
  for (;;) {
    const ssize_t got = ::read(in.get(), piece, sizeof piece);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) fail(Status::io_error, "read", path);
    if (got == 0) return text;
    text.append(piece, static_cast<std::size_t>(got));
  }
}

}  // namespace trireme
