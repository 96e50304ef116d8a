// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nccl.h>

#include <cstddef>
#include <vector>

namespace trireme::emulated {

/// Bytes of an element; 0 for types that are not emulated.
std::size_t size_of(ncclDataType_t type);
bool is_emulated(ncclRedOp_t operation);

/// to[i] = parts[0][i] op parts[1][i] op ..., from left to right and rounded to the type after each;
/// ncclAvg divides the sum by the number of parts. `to` may be one of them.
void reduce(ncclDataType_t type, ncclRedOp_t operation, const std::vector<const std::byte*>& parts,
            std::byte* to, std::size_t count);

}  // namespace trireme::emulated
