// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace trireme {

/// Random changes to training pictures.
enum class Augment {
  none,         ///< training sees what evaluation sees
  flip,         ///< horizontal flip with probability 1/2
  crop,         ///< zero-pad by size/8 (at least 1), random crop
  crop_flip,    ///< both: the usual recipe for CIFAR
  resized_crop  ///< random-resized-crop (area 0.08..1, ratio 3/4..4/3) and flip: the usual recipe for
                ///< ImageNet
};

}  // namespace trireme
