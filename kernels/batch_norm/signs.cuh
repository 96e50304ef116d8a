// SPDX-License-Identifier: Apache-2.0
// Which elements of a ReLU's output are positive, as bits: a byte for the elements of a 16-byte vector, the
// first one in the lowest bit. For backward they say as much as the output, in a sixteenth of its bytes.
#pragma once

#include <cstdint>

#include "kernels/numeric.h"

namespace trireme::kernels {

template <typename T>
__device__ __forceinline__ std::uint8_t signs_of(const simt::Vector16<T>& stored) {
  unsigned bits = 0;
  SIMT_UNROLL
  for (int v = 0; v < kVectorSize<T>; ++v) bits |= (to_float(stored[v]) > 0 ? 1U : 0U) << v;
  return static_cast<std::uint8_t>(bits);
}

}  // namespace trireme::kernels
