// SPDX-License-Identifier: Apache-2.0
#include "data/staging.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>

#include "src/core/error.h"
#include "src/core/hash.h"
#include "src/core/log.h"
#include "src/io/atomic_file.h"
#include "src/io/path.h"

namespace trireme {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kPiece = std::size_t{16} << 20;

/// A file to be copied, and the facts that tell whether a copy is still of it.
struct Source {
  std::string path;
  Descriptor file;
  std::uint64_t bytes = 0;
  std::string facts;  ///< path, size and time of change, in lines

  explicit Source(const std::string& source_path) : path(source_path), file(open_for_reading(source_path)) {
    struct stat status {};
    if (::fstat(file.get(), &status) != 0)
      throw make_error(Status::io_error, "cannot stat: {}", std::strerror(errno)).at(path);
    bytes = static_cast<std::uint64_t>(status.st_size);
    facts = fmt::format("source {}\nbytes {}\nchanged {}.{:09}\n", fs::canonical(path).string(), bytes,
                        status.st_mtim.tv_sec, status.st_mtim.tv_nsec);
  }
};

/// Calls use(data, bytes, offset) for the pieces of a file; its pages are dropped from the cache behind.
template <typename Use>
void for_each_piece(const Descriptor& file, const std::string& path, std::uint64_t bytes, const Use& use) {
  std::vector<std::byte> piece(static_cast<std::size_t>(std::min<std::uint64_t>(kPiece, bytes)));
  for (std::uint64_t offset = 0; offset < bytes; offset += piece.size()) {
    piece.resize(static_cast<std::size_t>(std::min<std::uint64_t>(kPiece, bytes - offset)));
    if (read_at(file, path, offset, piece.data(), piece.size()) != piece.size())
      throw make_error(Status::bad_data, "the file ends early: it had {} bytes", bytes).at(path);
    use(piece.data(), piece.size(), offset);
    ::posix_fadvise(file.get(), static_cast<off_t>(offset), static_cast<off_t>(piece.size()),
                    POSIX_FADV_DONTNEED);
  }
}

std::uint64_t hash_of(const Descriptor& file, const std::string& path, std::uint64_t bytes) {
  Hasher hasher;
  for_each_piece(file, path, bytes,
                 [&](const std::byte* data, std::size_t size, std::uint64_t) { hasher.add(data, size); });
  return hasher.digest();
}

/// Copies, reads back, compares; gives the hash.
std::uint64_t copy(const Source& source, const Descriptor& to, const std::string& to_path) {
  Hasher hasher;
  for_each_piece(source.file, source.path, source.bytes,
                 [&](const std::byte* data, std::size_t size, std::uint64_t offset) {
                   hasher.add(data, size);
                   write_at(to, to_path, offset, data, size);
                 });
  if (hash_of(to, to_path, source.bytes) != hasher.digest())
    throw make_error(Status::io_error, "the staged copy differs from its source").at(to_path).at(source.path);
  return hasher.digest();
}

void check_fits(const Source& source, std::uint64_t available, const std::string& where) {
  if (source.bytes > available)
    throw make_error(Status::configuration, "preloading needs {} MiB, {} has {} MiB left", source.bytes >> 20,
                     where, available >> 20)
        .at(source.path)
        .hint("--preload none reads the file where it lies");
}

std::string stage_in_memory(const Source& source, std::vector<Descriptor>& keep_alive) {
  check_fits(source, available_memory(), "the node's memory");
  Descriptor copy_file(::memfd_create("trireme-dataset", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  if (!copy_file)
    throw make_error(Status::io_error, "cannot make a file in memory: {}", std::strerror(errno));
  std::string path = fmt::format("/proc/{}/fd/{}", ::getpid(), copy_file.get());
  copy(source, copy_file, path);
  ::fcntl(copy_file.get(), F_ADD_SEALS, F_SEAL_WRITE | F_SEAL_SHRINK | F_SEAL_GROW);
  keep_alive.push_back(std::move(copy_file));
  return path;
}

/// True if an earlier run left a whole copy.
bool is_reusable(const Source& source, const std::string& staged, const std::string& marker) {
  if (!is_plain_file(staged) || !is_plain_file(marker)) return false;
  const Descriptor file = open_for_reading(staged);
  if (size_of_file(file, staged) != source.bytes) return false;
  return read_text(marker) == source.facts + "xxh3 " + hex_of(hash_of(file, staged, source.bytes)) + "\n";
}

std::string stage_in_folder(const Source& source, const std::string& folder) {
  if (!is_folder(folder))
    throw make_error(Status::cannot_create, "no such folder to preload into")
        .at(folder)
        .hint("create it first");
  const std::string base =
      fmt::format("{}/trireme-{}", folder, hex_of(xxh3(fs::canonical(source.path).string())));
  std::string staged = base + ".h5";
  const std::string marker = base + ".txt";
  if (is_reusable(source, staged, marker)) {
    log::info("reusing the copy of {} in {}", source.path, staged);
    return staged;
  }
  struct statvfs space {};
  if (::statvfs(folder.c_str(), &space) != 0)
    throw make_error(Status::io_error, "cannot ask for free space: {}", std::strerror(errno)).at(folder);
  check_fits(source, std::uint64_t{space.f_bavail} * space.f_frsize, folder);
  AtomicFile atomic(staged);
  std::uint64_t hash = 0;
  {
    const Descriptor out(::open(atomic.temporary_path().c_str(), O_RDWR | O_CLOEXEC));
    if (!out)
      throw make_error(Status::io_error, "cannot open: {}", std::strerror(errno)).at(atomic.temporary_path());
    hash = copy(source, out, atomic.temporary_path());
  }
  atomic.commit();
  write_text_atomically(marker, source.facts + "xxh3 " + hex_of(hash) + "\n");
  return staged;
}

}  // namespace

Preload Preload::parse(const std::string& text) {
  if (text.empty() || text == "none") return {Kind::none, ""};
  if (text == "memory") return {Kind::memory, ""};
  return {Kind::folder, text};
}

std::string stage_file(const std::string& path, const Preload& preload, std::vector<Descriptor>& keep_alive) {
  if (preload.kind == Preload::Kind::none) return path;
  const Source source(path);
  return preload.kind == Preload::Kind::memory ? stage_in_memory(source, keep_alive)
                                               : stage_in_folder(source, preload.folder);
}

}  // namespace trireme
