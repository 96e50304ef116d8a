// SPDX-License-Identifier: Apache-2.0
// One copy of a file per node, nearer than where it lies (--preload).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "src/io/descriptor.h"

namespace trireme {

/// How --preload is meant: nothing, the node's memory, or a folder.
struct Preload {
  enum class Kind { none, memory, folder };
  Kind kind = Kind::none;
  std::string folder;

  static Preload parse(const std::string& text);
};

/// Copies a file and returns the path to read instead.
///
/// - memory: an anonymous file that lives while some descriptor is open on it, at first the one added to
///   `keep_alive`: nothing is left when the processes end, however they end, and the size of /dev/shm does
///   not matter. The node's other ranks open it through /proc/PID/fd.
/// - folder: FOLDER/trireme-HASH.h5, the hash being of the source's path, with a marker beside it (".txt":
///   source, size, time of change, content hash). It stays for the next run, which reads it again to compare
///   the hash before it is reused; a source that changed replaces it.
///
/// Both are read in pieces of 16 MiB, written, and read back to compare. 78 with the sizes if the copy does
/// not fit, 73 if the folder cannot be written to.
std::string stage_file(const std::string& path, const Preload& preload, std::vector<Descriptor>& keep_alive);

/// Bytes that this process may still take: what Linux says is available, and what the memory cgroups above
/// this process leave (versions 1 and 2; file cache counts as free). `root` stands in front of /proc and
/// /sys.
std::uint64_t available_memory(const std::string& root = "");

}  // namespace trireme
