// SPDX-License-Identifier: Apache-2.0
// How the sum over pixels is cut into parts; the sums of parts and of columns.
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
  std::int64_t size, part_size;     ///< floats of the gradient, and from part to part: a multiple of 16 bytes
};

/// As many parts as fill the multiprocessors well, none below four steps.
WeightsPlan plan_weights_parts(const ProductSize& product, std::int64_t gradient_size, int tile_k,
                               TileShape tile, int multiprocessors);

/// Of the parts in the workspace; none where a single part goes to the gradient directly.
std::size_t parts_bytes(const WeightsPlan& plan);

/// to = sum of the parts, in order; added to `to` where `accumulate`.
void sum_parts(float* to, const float* parts, const WeightsPlan& plan, bool accumulate, cudaStream_t stream);

struct ColumnSumsShape {
  std::int64_t rows, columns, pitch;
};
/// to[column] = sum over rows of data[row][column]; added to `to` where `accumulate`. In two steps, both in
/// fixed order.
template <typename T>
void column_sums(float* to, const T* data, const ColumnSumsShape& shape, void* workspace, bool accumulate,
                 cudaStream_t stream);
std::size_t column_sums_workspace_bytes(std::int64_t rows, std::int64_t pitch);

}  // namespace trireme::kernels
