// SPDX-License-Identifier: Apache-2.0
// Windows of a picture with the roles of PictureLoader exchanged: k runs over the windows, and the row of one
// holds (tap, channel). A thread's column of chunks has one tap for good; its rows' places are divided out
// anew each step.
#pragma once

#include "kernels/conv2d/picture_loader.cuh"

namespace trireme::kernels {

/// kStem: pixels of 8 bytes, a chunk holds two neighbouring taps of a kernel row (see StemLoader).
template <typename T, int kExtent, int kThreads, bool kStem>
class WindowRowsLoader {
 public:
  static constexpr Major kMajor = Major::mn;

  /// From element `first_column` of (tap, channel) and step `first_step` along k.
  __device__ WindowRowsLoader(const Picture& picture, const WindowGrid& grid, int first_column,
                              int first_step)
      : picture_(picture), grid_(grid), position_(first_step * kTileK<T> + Map::row(0)) {
    int chunk = first_column / kVectorSize<T> + Map::column();
    const int taps_of_chunk = kStem ? 2 : 1, chunks = kStem ? 1 : picture.chunks;
    const int tap = chunk / chunks;
    const int tap_columns = divide_up(grid.taps_w, taps_of_chunk);
    const int tap_h = tap / tap_columns;
    tap_w_ = (tap - tap_h * tap_columns) * taps_of_chunk;
    chunk_ = chunk - tap * chunks;
    // A column beyond the last tap has no row inside the picture.
    tap_h_ = tap_h < grid.taps_h ? tap_h : kOutsidePicture * 2;
  }

  __device__ void load(unsigned char* tile) {
    SIMT_UNROLL
    for (int i = 0; i < Map::kCopies; ++i) {
      const int position = position_ + i * Map::kStep;
      int r, c;
      const int n = grid_.rows.divide(grid_.columns.divide(position, c), r);
      const int h = r * grid_.stride_h + grid_.origin_h + tap_h_,
                w = c * grid_.stride_w + grid_.origin_w + tap_w_;
      const bool row_valid =
          position < grid_.count && static_cast<unsigned>(h) < static_cast<unsigned>(picture_.h);
      copy(Map::destination(tile, i), (n * picture_.h + h) * picture_.w, w, row_valid);
    }
    position_ += kTileK<T>;
  }

 private:
  using Map = CopyMap<SharedTile<T, kMajor, kExtent>, kThreads>;

  __device__ __forceinline__ bool in_row(int w) const {
    return static_cast<unsigned>(w) < static_cast<unsigned>(picture_.w);
  }
  __device__ __forceinline__ void copy(unsigned char* to, int row, int w, bool row_valid) const {
    const auto* from = static_cast<const unsigned char*>(picture_.data);
    if constexpr (kStem) {
      SIMT_UNROLL
      for (int half = 0; half < 2; ++half) {
        const bool valid = row_valid && in_row(w + half) && tap_w_ + half < grid_.taps_w;
        simt::cp_async<8>(to + 8 * half, from + (valid ? static_cast<std::int64_t>(row + w + half) * 8 : 0),
                          valid);
      }
    } else {
      const bool valid = row_valid && in_row(w);
      const std::int64_t offset = valid ? (row + w) * picture_.chunks + chunk_ : 0;
      simt::cp_async<kChunkBytes>(to, from + offset * kChunkBytes, valid);
    }
  }

  Picture picture_;
  WindowGrid grid_;
  int position_;
  int chunk_, tap_h_, tap_w_;
};

}  // namespace trireme::kernels
