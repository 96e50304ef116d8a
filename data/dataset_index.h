// SPDX-License-Identifier: Apache-2.0
// What must be known about packed files to read their pictures without HDF5: read once per node, then passed
// on.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "data/dataset.h"
#include "src/io/h5.h"

namespace trireme {

/// One packed file.
struct IndexedFile {
  std::string path;       ///< as named by the user: for messages
  std::string read_path;  ///< what is opened: `path`, or a staged copy
  std::uint64_t file_bytes = 0;
  std::int64_t num_samples = 0;
  bool contiguous = true;  ///< pictures lie at `address`; else they are read through HDF5
  std::uint64_t address = 0;
  std::vector<std::uint64_t> offsets;  ///< jpeg: N+1, from `address`

  /// Where a sample's stored bytes begin, and how many they are; `sample_bytes` is that of raw samples.
  std::uint64_t begin_of(std::int64_t sample, std::uint64_t sample_bytes) const;
  std::uint64_t bytes_of(std::int64_t sample, std::uint64_t sample_bytes) const;
};

struct DatasetIndex {
  DatasetInfo info;
  std::vector<std::int32_t> labels;  ///< of all files, one after the other
  std::vector<IndexedFile> files;
};

/// One file as opened and checked.
struct OpenedDataset {
  H5File file;
  DatasetIndex index;
  std::vector<std::uint64_t> hashes;  ///< empty where the file has none
};

/// Opens and checks one file: format, version, shapes, offsets, labels, sizes. 66 if it is missing, 65 if
/// anything is wrong, saying what.
OpenedDataset open_packed_file(const std::string& path);

/// The files one after the other; 65 unless encodings, shapes and class lists are equal. Channel statistics
/// are weighted by samples.
DatasetIndex join_files(std::string name, std::vector<OpenedDataset> files);

std::vector<std::byte> to_bytes(const DatasetIndex& index);
DatasetIndex index_from_bytes(std::span<const std::byte> bytes);

/// "" if equal, else the first difference in words, with what the two lists are of.
std::string first_class_difference(const std::vector<std::string>& a, std::string_view a_is,
                                   const std::vector<std::string>& b, std::string_view b_is);

}  // namespace trireme
