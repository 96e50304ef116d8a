// SPDX-License-Identifier: Apache-2.0
#include "data/metadata_hash.h"

#include <bit>

#include "src/core/hash.h"

namespace trireme {

static_assert(std::endian::native == std::endian::little, "numbers are hashed as they lie in memory");

std::uint64_t metadata_hash(const Metadata& metadata) {
  Hasher hasher;
  hasher.add(metadata.labels.data(), metadata.labels.size_bytes());
  for (const std::string& name : metadata.class_names) hasher.add_text(name);
  hasher.add(metadata.offsets.data(), metadata.offsets.size_bytes());
  hasher.add(metadata.channel_mean.data(), metadata.channel_mean.size_bytes());
  hasher.add(metadata.channel_std.data(), metadata.channel_std.size_bytes());
  return hasher.digest();
}

}  // namespace trireme
