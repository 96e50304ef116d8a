// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <string>

namespace trireme {

/// What a packed file says about its pictures, as it stands in the file.
struct Metadata {
  std::span<const std::int32_t> labels;
  std::span<const std::string> class_names;
  std::span<const std::uint64_t> offsets;  ///< empty for raw pictures
  std::span<const double> channel_mean, channel_std;
};

/// XXH3-64 of, in this order: the labels; of each class name its length in bytes as uint64 and its bytes; the
/// offsets; the means; the deviations. Numbers as the little-endian bytes of their type in the file.
std::uint64_t metadata_hash(const Metadata& metadata);

}  // namespace trireme
