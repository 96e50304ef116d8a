// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <stdexcept>

#include "kernels/batch_norm/batch_norm.h"

namespace trireme::kernels {

template <typename T>
void check_shape(const BatchNormShape& shape) {
  if (shape.rows < 1 || shape.channels < 1 || shape.pitch < shape.channels ||
      shape.pitch % kVectorSize<T> != 0)
    throw std::invalid_argument("batch norm: rows and channels are positive, pitches whole 16-byte vectors");
}

inline void check_training(const BatchNormShape& shape) {
  if (shape.rows < 2) throw std::invalid_argument("batch norm over one value per channel has no variance");
}

}  // namespace trireme::kernels
