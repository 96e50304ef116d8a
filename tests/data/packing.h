// SPDX-License-Identifier: Apache-2.0
// Small packed files for tests of reading, whole or with something wrong.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "data/dataset.h"
#include "src/io/h5.h"

namespace trireme::testing_pictures {

/// What stands in a hand-written dataset.h5; tests change one thing.
struct Contents {
  std::string format = "dataset", encoding = "raw";
  std::int64_t version = 1, num_samples = 4, num_classes = 2;
  std::vector<std::int64_t> sample_shape{2, 3, 1};
  Shape images{4, 2, 3, 1};
  std::vector<std::uint8_t> pixels;  ///< 0, 1, 2, … if empty
  std::vector<std::int32_t> labels{0, 1, 1, 0};
  std::vector<std::uint64_t> offsets, hashes;
  std::vector<std::string> class_names{"cat", "dog"}, source_paths;
  std::vector<double> mean{0.5}, deviation{0.25};
};

void write_contents(const std::string& path, Contents contents);

inline std::unique_ptr<Dataset> open_alone(const std::string& spec, const DatasetOptions& options = {}) {
  return open_dataset(spec, NodeShare{}, options);
}

}  // namespace trireme::testing_pictures
