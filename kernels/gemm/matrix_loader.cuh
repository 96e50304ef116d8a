// SPDX-License-Identifier: Apache-2.0
// Operands that are plain matrices in global memory. Sizes along a contiguous row are in chunks of 16 bytes.
#pragma once

#include <cstdint>

#include "kernels/gemm/shared_tile.cuh"

namespace trireme::kernels {

struct Matrix {
  const void* data;
  int rows;    ///< zeros follow
  int chunks;  ///< of a row, which is as long
};

/// Rows along m or n, k contiguous.
template <typename T, int kExtent, int kThreads>
class KMajorMatrixLoader {
 public:
  static constexpr Major kMajor = Major::k;

  /// From row `first_row` and step `first_step` along k.
  __device__ KMajorMatrixLoader(const Matrix& matrix, int first_row, int first_step)
      : chunks_(matrix.chunks),
        chunk_(first_step * kTileRowChunks + Map::column()),
        rows_left_(matrix.rows - first_row - Map::row(0)),
        data_(static_cast<const unsigned char*>(matrix.data)),
        offset_(static_cast<std::int64_t>(first_row + Map::row(0)) * matrix.chunks + chunk_) {}

  __device__ void load(unsigned char* tile) {
    const bool has_chunk = chunk_ < chunks_;
    SIMT_UNROLL
    for (int i = 0; i < Map::kCopies; ++i) {
      const bool valid = has_chunk && i * Map::kStep < rows_left_;
      const std::int64_t offset = valid ? offset_ + i * Map::kStep * chunks_ : 0;
      simt::cp_async<kChunkBytes>(Map::destination(tile, i), data_ + offset * kChunkBytes, valid);
    }
    chunk_ += kTileRowChunks;
    offset_ += kTileRowChunks;
  }

 private:
  using Map = CopyMap<SharedTile<T, kMajor, kExtent>, kThreads>;

  int chunks_;
  int chunk_;
  int rows_left_;
  const unsigned char* data_;
  std::int64_t offset_;
};

/// Rows along k, m or n contiguous.
template <typename T, int kExtent, int kThreads>
class MnMajorMatrixLoader {
 public:
  static constexpr Major kMajor = Major::mn;

  /// From element `first` of the rows (a multiple of a chunk) and step `first_step` along k.
  __device__ MnMajorMatrixLoader(const Matrix& matrix, int first, int first_step)
      : chunks_(matrix.chunks), data_(static_cast<const unsigned char*>(matrix.data)) {
    const int chunk = first / kVectorSize<T> + Map::column();
    const int row = first_step * kTileK<T> + Map::row(0);
    rows_left_ = chunk < chunks_ ? matrix.rows - row : 0;
    offset_ = static_cast<std::int64_t>(row) * chunks_ + chunk;
  }

  __device__ void load(unsigned char* tile) {
    SIMT_UNROLL
    for (int i = 0; i < Map::kCopies; ++i) {
      const bool valid = i * Map::kStep < rows_left_;
      const std::int64_t offset = valid ? offset_ + i * Map::kStep * chunks_ : 0;
      simt::cp_async<kChunkBytes>(Map::destination(tile, i), data_ + offset * kChunkBytes, valid);
    }
    rows_left_ -= kTileK<T>;
    offset_ += static_cast<std::int64_t>(kTileK<T>) * chunks_;
  }

 private:
  using Map = CopyMap<SharedTile<T, kMajor, kExtent>, kThreads>;

  int chunks_;
  int rows_left_;
  const unsigned char* data_;
  std::int64_t offset_;
};

}  // namespace trireme::kernels
