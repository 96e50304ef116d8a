// SPDX-License-Identifier: Apache-2.0
// Copies that change type or scale, and zeroing. Pointers are device memory, 16-byte aligned; `count` is any
// number of elements. Input and output do not overlap, or are the same where the types are.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/numeric.h"

namespace trireme::kernels {

/// to[i] = from[i], rounded to nearest, ties to even. One of the types is float, the other BFloat16, Half or
/// float.
template <typename To, typename From>
void cast(To* to, const From* from, std::int64_t count, cudaStream_t stream);

/// to[i] = factor * from[i] in fp32, then rounded; `factor` is one fp32 number in device memory. The same
/// types.
template <typename To, typename From>
void scaled_cast(To* to, const From* from, const float* factor, std::int64_t count, cudaStream_t stream);

/// Writes `bytes` zero bytes.
void fill_zero(void* to, std::size_t bytes, cudaStream_t stream);

}  // namespace trireme::kernels
