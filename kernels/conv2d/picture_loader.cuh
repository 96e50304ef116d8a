// SPDX-License-Identifier: Apache-2.0
// The gathered operand of a convolution: the matrix whose rows are windows of a picture, made while it is
// loaded.
//
// A row is one position of the window: it begins at (r * stride + origin_h, c * stride + origin_w) of picture
// n. Along k lie the taps (h, w), and within a tap the channels of its pixel, all in chunks of 16 bytes
// without gaps between taps: any number of channels fills tiles wholly. A thread copies one chunk column of
// some rows; the column's tap and chunk go on by 8 chunks from step to step, and the rows' places stay in
// registers.
//
// The gradient for the input is the same gather, over the gradient of the output (backward_data.cuh).
#pragma once

#include <cstdint>

#include "kernels/fast_divide.h"
#include "kernels/gemm/shared_tile.cuh"

namespace trireme::kernels {

struct Picture {
  const void* data;
  int h, w;
  int chunks;  ///< of a pixel
};

/// Positions of the window, in order (n, r, c), and the window itself.
struct WindowGrid {
  FastDivide rows, columns;  ///< of the grid in one picture
  int count;                 ///< n rows columns
  int stride_h, stride_w;
  int origin_h, origin_w;
  int taps_h, taps_w;
};

/// Two 16-bit halves of a register: the upper and the lower row or column of a window's begin. Beyond the
/// last position `h` is so small that no tap is inside a picture.
constexpr int kOutsidePicture = -32768;

struct WindowBegin {
  int place;  ///< h << 16 | w
  int pixel;  ///< of the batch; may be negative
};

__device__ __forceinline__ WindowBegin begin_of_window(const Picture& picture, const WindowGrid& grid,
                                                       int position) {
  int r, c;
  const int n = grid.rows.divide(grid.columns.divide(position, c), r);
  const int h = r * grid.stride_h + grid.origin_h, w = c * grid.stride_w + grid.origin_w;
  const bool exists = position < grid.count;
  return {(exists ? h : kOutsidePicture) * 65536 | (w & 0xFFFF),
          exists ? (n * picture.h + h) * picture.w + w : 0};
}

template <typename T, int kExtent, int kThreads>
class PictureLoader {
 public:
  static constexpr Major kMajor = Major::k;

  __device__ static int steps(const Picture& picture, const WindowGrid& grid) {
    return divide_up(grid.taps_h * grid.taps_w * picture.chunks, kTileRowChunks);
  }

  __device__ PictureLoader(const Picture& picture, const WindowGrid& grid, int first_row)
      : picture_(picture), taps_h_(grid.taps_h), taps_w_(grid.taps_w), chunk_(Map::column()) {
    SIMT_UNROLL
    for (int i = 0; i < Map::kCopies; ++i) {
      const WindowBegin begin = begin_of_window(picture, grid, first_row + Map::row(i));
      begins_[i] = begin.place;
      offsets_[i] = begin.pixel * picture.chunks;
    }
    normalize();
  }

  __device__ void load(unsigned char* tile) {
    const int tap_offset = (tap_h_ * picture_.w + tap_w_) * picture_.chunks + chunk_;
    SIMT_UNROLL
    for (int i = 0; i < Map::kCopies; ++i) {
      const int h = (begins_[i] >> 16) + tap_h_;
      const int w = static_cast<std::int16_t>(begins_[i]) + tap_w_;
      const bool valid = tap_h_ < taps_h_ && static_cast<unsigned>(h) < static_cast<unsigned>(picture_.h) &&
                         static_cast<unsigned>(w) < static_cast<unsigned>(picture_.w);
      const std::int64_t offset = valid ? offsets_[i] + tap_offset : 0;
      simt::cp_async<kChunkBytes>(Map::destination(tile, i),
                                  static_cast<const unsigned char*>(picture_.data) + offset * kChunkBytes,
                                  valid);
    }
    chunk_ += kTileRowChunks;
    normalize();
  }

 private:
  using Map = CopyMap<SharedTile<T, kMajor, kExtent>, kThreads>;

  /// Carries chunks beyond the pixel over to the next taps.
  __device__ void normalize() {
    while (chunk_ >= picture_.chunks) {
      chunk_ -= picture_.chunks;
      if (++tap_w_ == taps_w_) {
        tap_w_ = 0;
        ++tap_h_;
      }
    }
  }

  Picture picture_;
  int taps_h_, taps_w_;
  int chunk_;
  int tap_h_ = 0, tap_w_ = 0;
  int begins_[Map::kCopies];   ///< WindowBegin::place
  int offsets_[Map::kCopies];  ///< chunks to the window's begin, may be negative
};

/// The same for pixels of 8 bytes (4 channels of 16 bits): a chunk holds two neighbouring taps of a row, and
/// each half has its own place in or outside the picture. `chunks` of the picture is not used.
template <typename T, int kExtent, int kThreads>
class StemLoader {
 public:
  static constexpr Major kMajor = Major::k;

  __device__ static int steps(const Picture& /*picture*/, const WindowGrid& grid) {
    return divide_up(grid.taps_h * divide_up(grid.taps_w, 2), kTileRowChunks);
  }

  __device__ StemLoader(const Picture& picture, const WindowGrid& grid, int first_row)
      : picture_(picture), taps_h_(grid.taps_h), taps_w_(grid.taps_w), tap_w_(2 * Map::column()) {
    SIMT_UNROLL
    for (int i = 0; i < Map::kCopies; ++i) {
      const WindowBegin begin = begin_of_window(picture, grid, first_row + Map::row(i));
      begins_[i] = begin.place;
      offsets_[i] = begin.pixel;
    }
    normalize();
  }

  __device__ void load(unsigned char* tile) {
    SIMT_UNROLL
    for (int i = 0; i < Map::kCopies; ++i) {
      const int h = (begins_[i] >> 16) + tap_h_;
      const bool row_valid = tap_h_ < taps_h_ && static_cast<unsigned>(h) < static_cast<unsigned>(picture_.h);
      SIMT_UNROLL
      for (int half = 0; half < 2; ++half) {
        const int tap_w = tap_w_ + half;
        const int w = static_cast<std::int16_t>(begins_[i]) + tap_w;
        const bool valid =
            row_valid && tap_w < taps_w_ && static_cast<unsigned>(w) < static_cast<unsigned>(picture_.w);
        const std::int64_t offset = valid ? offsets_[i] + tap_h_ * picture_.w + tap_w : 0;
        simt::cp_async<8>(Map::destination(tile, i) + 8 * half,
                          static_cast<const unsigned char*>(picture_.data) + offset * 8, valid);
      }
    }
    tap_w_ += 2 * kTileRowChunks;
    normalize();
  }

 private:
  using Map = CopyMap<SharedTile<T, kMajor, kExtent>, kThreads>;

  __device__ void normalize() {
    const int row = round_up(taps_w_, 2);
    while (tap_w_ >= row) {
      tap_w_ -= row;
      ++tap_h_;
    }
  }

  Picture picture_;
  int taps_h_, taps_w_;
  int tap_w_;  ///< of the chunk's first half
  int tap_h_ = 0;
  int begins_[Map::kCopies];
  int offsets_[Map::kCopies];  ///< pixels
};

}  // namespace trireme::kernels
