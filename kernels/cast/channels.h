// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "kernels/numeric.h"

namespace trireme::kernels {

/// Pixels of fp32 channels back to back, to pixels of T `pitch` elements apart: to[p, c] = from[p, c],
/// rounded to nearest, and zero from `channels` on. T is BFloat16, Half or float. `pitch` is a multiple of 4
/// elements, at least `channels`, else std::invalid_argument; `to` is 16-byte aligned.
template <typename T>
void cast_to_pitch(T* to, int pitch, const float* from, int channels, std::int64_t pixels,
                   cudaStream_t stream);

}  // namespace trireme::kernels
