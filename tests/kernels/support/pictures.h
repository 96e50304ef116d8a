// SPDX-License-Identifier: Apache-2.0
// Activations for kernel tests: random values that T holds exactly, with and without channel pitch.
#pragma once

#include <cstdint>
#include <random>
#include <vector>

#include "kernels/numeric.h"

namespace trireme::test {

/// `rows` rows of `channels` values between -1 and 1, rounded to T: reference and kernel see the same
/// numbers.
template <typename T>
std::vector<float> random_rows(std::int64_t rows, std::int64_t channels, unsigned seed) {
  std::mt19937 random(seed);
  std::uniform_real_distribution<float> uniform(-1.0F, 1.0F);
  std::vector<float> values(static_cast<std::size_t>(rows * channels));
  for (float& value : values) value = kernels::to_float(kernels::from_float<T>(uniform(random)));
  return values;
}

/// The same rows as T, `pitch` apart, with zeros in the pad channels.
template <typename T>
std::vector<T> with_pitch(const std::vector<float>& dense, std::int64_t channels, std::int64_t pitch) {
  const std::int64_t rows = static_cast<std::int64_t>(dense.size()) / channels;
  std::vector<T> padded(static_cast<std::size_t>(rows * pitch), kernels::from_float<T>(0.0F));
  for (std::int64_t row = 0; row < rows; ++row)
    for (std::int64_t c = 0; c < channels; ++c)
      padded[static_cast<std::size_t>(row * pitch + c)] =
          kernels::from_float<T>(dense[static_cast<std::size_t>(row * channels + c)]);
  return padded;
}

/// The way back; `pad_is_zero` becomes false where a pad channel is not zero.
template <typename T>
std::vector<float> without_pitch(const std::vector<T>& padded, std::int64_t channels, std::int64_t pitch,
                                 bool& pad_is_zero) {
  const std::int64_t rows = static_cast<std::int64_t>(padded.size()) / pitch;
  std::vector<float> dense(static_cast<std::size_t>(rows * channels));
  for (std::int64_t row = 0; row < rows; ++row)
    for (std::int64_t c = 0; c < pitch; ++c) {
      const float value = kernels::to_float(padded[static_cast<std::size_t>(row * pitch + c)]);
      if (c < channels)
        dense[static_cast<std::size_t>(row * channels + c)] = value;
      else if (value != 0.0F)  // NaN is not zero either
        pad_is_zero = false;
    }
  return dense;
}

/// The smallest pitch that 16-byte rows allow.
template <typename T>
std::int64_t pitch_of(std::int64_t channels) {
  return kernels::round_up<std::int64_t>(channels, kernels::kVectorSize<T>);
}

}  // namespace trireme::test
