// SPDX-License-Identifier: Apache-2.0
#include "src/train/batch_pixels.h"

namespace trireme {

BatchPixels choose_batch_pixels(const Device& device, const DatasetInfo& info,
                                const TransformOptions& transform) {
  if (!device.takes_levels()) return {};
  BatchPixels pixels;
  pixels.format = PixelFormat::framed_levels;
  pixels.input.dtype = DType::u8;
  pixels.input.stored = Shape{transform.image_size, transform.image_size, transform.channels};
  pixels.input.crop_ratio = transform.crop_ratio;
  pixels.input.mean = transform.mean;
  pixels.input.std = transform.std;
  if (!info.has_one_shape()) return pixels;
  pixels.format = PixelFormat::stored_levels;
  pixels.input.stored = info.sample_shape;
  if (transform.training) pixels.input.augment = transform.augment;
  return pixels;
}

}  // namespace trireme
