// SPDX-License-Identifier: Apache-2.0
// Pictures of one size, as bytes, to what a net reads: crop, flip, random-resized-crop, normalisation and the
// cast, in one pass. Equal to the host's transform by sample key: the same framing from the same random
// numbers, the same fixed-point resize with 8-bit levels in between, and the same fp32 number for each level,
// so that float output has equal bits. One step is not pinned by IEEE arithmetic: exp() of the random ratio
// of a resized crop, which may round differently on a device; the window then differs by a pixel only where
// its exact size lies within an ulp of a half.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "kernels/numeric.h"
#include "kernels/step_values.h"

namespace trireme::kernels {

enum class AugmentKind : std::int32_t {
  none,         ///< as evaluation sees a picture: shorter side resized, centre cropped
  flip,         ///< and mirrored with probability 1/2
  crop,         ///< random crop; pictures of the net's size get a margin of size/8 (at least 1) zero pixels
  crop_flip,    ///< both
  resized_crop  ///< random window (area 0.08..1, ratio 3/4..4/3) resized, and flip
};

struct AugmentShape {
  std::int64_t batch = 0;
  int height = 0, width = 0;  ///< of the pictures
  int channels = 3;           ///< of the pictures, 1 or 3
  int image_size = 0;         ///< output is [batch, image_size, image_size, out_pitch]
  int out_channels = 3;       ///< 1 or 3: RGB becomes grey by ITU-R 601 luma; grey fills all channels
  int out_pitch = 0;  ///< a multiple of 16 bytes, or 4 elements (the stem's layout); pad channels are zero
};

struct AugmentOptions {
  AugmentKind kind = AugmentKind::none;
  double crop_ratio =
      0.875;  ///< pictures of another size than the net's: shorter side to image_size / crop_ratio
};

/// All device memory. Rows from StepValues::valid_samples on are written as zeros.
template <typename T>
struct AugmentBuffers {
  const std::uint8_t* pictures = nullptr;    ///< [batch, height, width, channels], 16-byte aligned
  const std::int64_t* sample_ids = nullptr;  ///< [batch]
  const float* levels = nullptr;             ///< [out_channels, 256]: normalised_levels
  const StepValues* step = nullptr;          ///< seed, epoch, valid_samples
  T* out = nullptr;                          ///< written

  template <typename Visit>
  __host__ __device__ void visit_pointers(Visit visit) const {
    visit(pictures);
    visit(sample_ids);
    visit(levels);
    visit(step);
    visit(out);
  }
};

/// What each level becomes, (level / 255 - mean) / std, in float64 and then rounded; a std of 0 counts as 1.
std::vector<float> normalised_levels(std::span<const double> mean, std::span<const double> deviation);

/// Throws std::invalid_argument where the shape is impossible, or so large that a few of its rows do not fit
/// into shared memory.
template <typename T>
void augment(const AugmentShape& shape, const AugmentOptions& options, const AugmentBuffers<T>& buffers,
             cudaStream_t stream);

}  // namespace trireme::kernels
