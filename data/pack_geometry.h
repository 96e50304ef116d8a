// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "data/pack.h"
#include "data/pack_source.h"

namespace trireme {

/// Resizing and cropping that a pack was asked for.
class PackGeometry {
 public:
  /// 78 if the options contradict each other, or ask for pictures of more than 2^28 pixels.
  explicit PackGeometry(const PackOptions& options);

  /// The shape that a picture will have; 65 if the crop does not fit or resizing makes it too large.
  PictureShape shape_after(const PictureShape& shape) const;
  /// Does it; true if the picture is no longer what it was.
  bool apply(Picture& picture) const;

 private:
  PictureShape resized(const PictureShape& shape) const;

  int resize_, crop_;
  std::optional<PackSize> size_;
};

}  // namespace trireme
