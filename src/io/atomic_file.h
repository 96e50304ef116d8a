// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

namespace trireme {

/// A file that appears at its final path whole or not at all: written under a temporary name in the same
/// folder
/// (".NAME.tmp-PID-N"), then commit() fsyncs it, renames it and fsyncs the folder. Without commit() the
/// destructor removes the temporary file. A symbolic link is followed: what it points to is replaced. Errors:
/// 73 if the folder does not exist or is not writable, or if the path is something else than a regular file;
/// 74 on I/O errors.
class AtomicFile {
 public:
  explicit AtomicFile(const std::string& final_path);
  ~AtomicFile();
  AtomicFile(const AtomicFile&) = delete;
  AtomicFile& operator=(const AtomicFile&) = delete;

  /// Where to write; the caller creates it by any means and closes it before commit().
  const std::string& temporary_path() const { return temporary_path_; }
  void commit();

 private:
  std::string final_path_, temporary_path_;
  bool committed_ = false;
};

/// 73 if something is at `path` that is not a regular file (a folder, a device, a pipe): renaming over it
/// would take it away.
void check_replaceable(const std::string& path);

/// Writes a small text file atomically.
void write_text_atomically(const std::string& path, std::string_view text);
/// Whole content of a text file; 66 if it cannot be opened, 74 if reading fails.
std::string read_text(const std::string& path);

}  // namespace trireme
