// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "data/dataset_index.h"
#include "src/io/descriptor.h"

namespace trireme {

/// Reads packed files by open + pread at the addresses of an index; files whose pictures are chunked,
/// compressed or external (made by others) through HDF5, one read at a time. Short reads and damage are 65
/// with file and sample.
class PackedDataset final : public Dataset {
 public:
  /// Opens every file; 65 if one is not as the index says. `keep_alive` are descriptors that staged copies
  /// live by.
  PackedDataset(DatasetIndex index, std::vector<Descriptor> keep_alive);

  const DatasetInfo& info() const override { return index_.info; }
  std::int32_t label(std::int64_t sample) const override {
    return index_.labels[static_cast<std::size_t>(sample)];
  }
  void read(std::int64_t sample, Picture& picture) const override;

  /// The bytes as stored: pixels, or a JPEG file.
  void read_stored(std::int64_t sample, std::vector<std::uint8_t>& bytes) const;
  const DatasetIndex& index() const { return index_; }

 private:
  struct Place {
    std::size_t file = 0;
    std::int64_t sample = 0;  ///< within the file
  };
  /// A file that only HDF5 can read.
  struct ThroughHdf5 {
    H5File file;
    H5Dataset pictures;
  };

  Place place_of(std::int64_t sample) const;
  std::string name_of(const Place& place) const;
  void read_direct(const Place& place, std::vector<std::uint8_t>& bytes) const;
  void read_through_hdf5(const Place& place, std::vector<std::uint8_t>& bytes) const;

  DatasetIndex index_;
  std::vector<Descriptor> keep_alive_;
  std::uint64_t sample_bytes_ = 0;                  ///< of raw samples
  std::vector<std::int64_t> first_of_;              ///< by file: its first sample
  std::vector<Descriptor> descriptors_;             ///< by file
  std::vector<std::unique_ptr<ThroughHdf5>> hdf5_;  ///< by file; null where pread does
};

}  // namespace trireme
