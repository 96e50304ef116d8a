// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "src/graph/flat_layout.h"
#include "src/optim/optimizer.h"

namespace trireme {

/// Fixed ranges of the flat gradient buffer, in gradient-ready order: a pure function of the layout and the
/// bucket size, the same on every rank. A bucket may begin and end inside a parameter.
struct BucketPlan {
  struct Bucket {
    ElementRange range;
    std::size_t last_entry = 0;  ///< FlatLayout entry whose readiness completes the bucket
    std::string label;           ///< "bucket 3 (layer2.0.conv1.weight .. layer1.2.bn2.bias)"
  };

  /// Buckets of `bucket_bytes`, the first (needed earliest) at most a quarter of it; both at least 256 bytes.
  BucketPlan(const Graph& graph, const FlatLayout& layout, std::size_t bucket_bytes);

  std::vector<Bucket> buckets;
  std::uint64_t hash() const;
};

}  // namespace trireme
