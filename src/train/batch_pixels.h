// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "data/dataset.h"
#include "data/loader.h"
#include "data/transform.h"
#include "src/device/device.h"

namespace trireme {

/// What batches hold, for the loader that fills them and the program that takes them.
struct BatchPixels {
  PixelFormat format = PixelFormat::normalised;
  InputFormat input;
};

/// Levels, a byte each, where the device takes them: as stored, where all pictures have one size and the
/// device crops and flips; else cropped and resized by the loader, so that the device only normalises.
BatchPixels choose_batch_pixels(const Device& device, const DatasetInfo& info,
                                const TransformOptions& transform);

}  // namespace trireme
