// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

#include "data/dataset.h"

namespace trireme {

/// Pictures made on the fly: class k has a 4x4 board of random levels in 0..127, the same for all its
/// samples, spread over the picture; every pixel adds noise of its own in 0..127. A net can learn it, no disk
/// is read, and integers only make it the same on every machine. Sample i is of class i mod classes.
class SyntheticDataset final : public Dataset {
 public:
  /// "synthetic:HxWxC:classes[:N]", N 10000 if absent. 64 if it is not that, 78 if a number is out of range.
  SyntheticDataset(std::string_view spec, std::uint64_t seed);
  static bool is_synthetic(std::string_view spec);

  const DatasetInfo& info() const override { return info_; }
  std::int32_t label(std::int64_t sample) const override {
    return static_cast<std::int32_t>(sample % info_.num_classes());
  }
  void read(std::int64_t sample, Picture& picture) const override;

 private:
  DatasetInfo info_;
  std::uint64_t seed_;
};

}  // namespace trireme
