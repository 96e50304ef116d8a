// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "data/pack.h"
#include "data/picture.h"
#include "src/io/atomic_file.h"
#include "src/io/h5.h"
#include "src/io/h5_stream.h"

namespace trireme {

/// Exact sums over pixels, so that mean and deviation do not depend on the order of adding.
struct ChannelSums {
  std::uint64_t pixels = 0;
  std::array<std::uint64_t, 3> sum{}, squares{};

  void add(const Picture& picture);
  void add(const ChannelSums& other);
  /// In 0..1, of `channels` channels; 0 without pixels.
  std::vector<double> mean(int channels) const;
  std::vector<double> deviation(int channels) const;
};

/// One sample ready to be written.
struct PackedSample {
  std::int32_t label = 0;
  std::string source_path;
  std::vector<std::uint8_t> stored;  ///< pixels, or a JPEG file
  std::uint64_t hash = 0;            ///< XXH3 of `stored`
  ChannelSums sums;
};

/// Writes one dataset.h5 in the order of add() under a temporary name; it appears at its path with commit().
/// One thread. Memory: 20 bytes and the path per sample.
class DatasetWriter {
 public:
  /// `sample_shape` is [H,W,C]; [0,0,C] for jpeg. 73 if the file cannot be made.
  DatasetWriter(std::string path, Encoding encoding, const Shape& sample_shape,
                std::vector<std::string> class_names);

  /// 74 when the disk is full.
  void add(const PackedSample& sample);
  std::int64_t num_samples() const { return static_cast<std::int64_t>(labels_.size()); }
  /// Writes everything but the pictures, and closes.
  PackedFile finish();
  void commit() { atomic_.commit(); }

 private:
  void write_attributes();
  void write_pictures();
  void write_metadata_hash(const PackedFile& packed);

  std::string path_;
  Encoding encoding_;
  Shape sample_shape_;
  std::vector<std::string> class_names_;
  AtomicFile atomic_;
  H5File file_;
  H5Stream stream_;
  std::vector<std::int32_t> labels_;
  std::vector<std::uint64_t> hashes_, offsets_{0};
  std::vector<std::string> source_paths_;
  ChannelSums sums_;
};

}  // namespace trireme
