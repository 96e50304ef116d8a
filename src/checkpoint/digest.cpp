// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "src/checkpoint/checkpoint.h"
#include "src/core/hash.h"

namespace trireme {

std::uint64_t digest_of(const std::vector<NamedTensor>& parameters) {
  std::vector<const NamedTensor*> sorted;
  sorted.reserve(parameters.size());
  for (const NamedTensor& tensor : parameters) sorted.push_back(&tensor);
  std::sort(sorted.begin(), sorted.end(), [](const auto* a, const auto* b) { return a->name < b->name; });
  Hasher hasher;
  for (const NamedTensor* tensor : sorted) {
    hasher.add_text(tensor->name);
    for (const std::int64_t extent : tensor->shape) hasher.add(&extent, sizeof extent);
    hasher.add(tensor->values.data(), tensor->values.size() * sizeof(float));
  }
  return hasher.digest();
}

}  // namespace trireme
