// SPDX-License-Identifier: Apache-2.0
// What a pack reads: candidates with a class each, as encoded files or as pixels.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "data/pack.h"
#include "data/picture.h"

namespace trireme {

/// Height, width and channels that a candidate will decode to.
struct PictureShape {
  int height = 0, width = 0, channels = 0;
  friend bool operator==(const PictureShape&, const PictureShape&) = default;
};

/// One candidate as loaded.
struct LoadedPicture {
  Picture picture;
  std::vector<std::uint8_t> jpeg;  ///< the file, where it is a JPEG; else empty
};

/// Const functions may be called by any number of threads. A candidate that cannot be used - damaged, no
/// picture, unreadable - is Error 65 with the path as its place.
class PackSource {
 public:
  virtual ~PackSource() = default;
  const std::vector<std::string>& class_names() const { return class_names_; }
  virtual std::int64_t size() const = 0;
  virtual std::int32_t label(std::int64_t candidate) const = 0;
  /// Where it comes from, relative to the source: goes to /source_paths.
  virtual std::string source_path(std::int64_t candidate) const = 0;
  /// Where it lies, for messages.
  virtual std::string place(std::int64_t candidate) const = 0;
  /// Reads no more than the header.
  virtual PictureShape probe(std::int64_t candidate) const = 0;
  virtual LoadedPicture load(std::int64_t candidate) const = 0;

 protected:
  std::vector<std::string> class_names_;
};

/// 66 if a source does not exist, 65 if it is not of the format.
std::unique_ptr<PackSource> open_folder_source(const std::vector<std::string>& sources);
std::unique_ptr<PackSource> open_idx_source(const std::vector<std::string>& sources,
                                            const std::vector<std::string>& class_names);
/// By format; `automatic` asks the first source.
std::unique_ptr<PackSource> open_pack_source(const PackOptions& options);

}  // namespace trireme
