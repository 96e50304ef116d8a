// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "data/dataset.h"

namespace trireme {

/// What a packed file says about itself.
struct DatasetSummary {
  DatasetInfo info;  ///< info.name is the path
  std::int64_t version = 0;
  std::uint64_t file_bytes = 0, payload_bytes = 0;  ///< of the whole file; of pictures as stored
  std::vector<std::int64_t> class_counts;           ///< by class
  bool has_hashes = false, has_source_paths = false;
};

/// Reads a packed file's description; opening checks as open_dataset does. 65 and 66 as there.
DatasetSummary describe_dataset(const std::string& path);

struct VerifyReport {
  std::int64_t checked = 0, bad = 0;
  bool has_hashes = false;                ///< without /sample_hash only decoding is checked
  bool has_metadata_hash = false;         ///< without it labels, names and statistics are not checked
  std::vector<std::string> bad_examples;  ///< "sample 17 (cat/x.jpg): reason", at most ten, in order;
                                          ///< before them what is wrong with the labels and the like
  bool ok() const { return bad == 0; }
};

/// Reads every sample: compares its hash with the stored one and decodes it where it is encoded. Damage of
/// samples is counted, and once more if labels, class names, offsets or statistics differ from their hash;
/// damage of the file itself is thrown (65).
VerifyReport verify_dataset(const std::string& path);

/// True if the file can be read and begins as an HDF5 file with trireme_format "dataset".
bool is_dataset_file(const std::string& path);

}  // namespace trireme
