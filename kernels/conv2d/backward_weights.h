// SPDX-License-Identifier: Apache-2.0
// How the sum over pixels is cut into parts, and the sum of the parts.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>

#include "kernels/gemm/tile_table.h"

namespace trireme::kernels {

struct ProductSize {
  std::int64_t m, n, k;
};

struct WeightsPlan {
  int row_tiles, column_tiles;
  int steps, steps_of_part, parts;  ///< every part has at least one step, but for a sum of none
  /// Floats of the gradient, from a part's begin to the bias's gradient, and from part to part; the latter
  /// two are multiples of 16 bytes.
  std::int64_t size, bias_place, part_size;
};

/// As many parts as fill the multiprocessors well, none below four steps.
WeightsPlan plan_weights_parts(const ProductSize& product, std::int64_t gradient_size, int tile_k,
                               TileShape tile, int multiprocessors);

/// Of the parts in the workspace; none where a single part goes to the gradient directly.
std::size_t parts_bytes(const WeightsPlan& plan);

/// to[i] = sum over the parts of parts[part * plan.part_size + i], in order, for i below `size`; added to
/// `to` where `accumulate`.
void sum_parts(float* to, const float* parts, std::int64_t size, const WeightsPlan& plan, bool accumulate,
               cudaStream_t stream);

}  // namespace trireme::kernels
