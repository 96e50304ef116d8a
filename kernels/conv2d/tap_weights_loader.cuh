// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "kernels/fast_divide.h"
#include "kernels/gemm/shared_tile.cuh"

namespace trireme::kernels {

/// Packed weights [o][kernel_h][kernel_w][i] as the matrix whose row along k is (tap, o), o up to
/// `outputs.divisor()`, the pitch of the gradient it meets, and whose row holds the channels i of that tap.
/// The taps are those of one phase, in falling order: kernel row last_h - step_h * (tap / taps_w), and
/// columns alike.
struct TapWeights {
  const void* data;
  int outputs_end;       ///< zeros follow
  int output_chunks;     ///< of one output channel
  int kernel_w, chunks;  ///< of the weights, and of one tap
  FastDivide outputs;
  FastDivide taps_w;
  int taps;
  int last_h, last_w, step_h, step_w;
};

template <typename T, int kExtent, int kThreads>
class TapWeightsLoader {
 public:
  static constexpr Major kMajor = Major::mn;

  __device__ TapWeightsLoader(const TapWeights& weights, int first_column)
      : weights_(weights), k_(Map::row(0)), chunk_(first_column / kVectorSize<T> + Map::column()) {}

  __device__ void load(unsigned char* tile) {
    SIMT_UNROLL
    for (int i = 0; i < Map::kCopies; ++i) {
      int o, tap_w;
      const int tap = weights_.outputs.divide(k_ + i * Map::kStep, o);
      const int tap_h = weights_.taps_w.divide(tap, tap_w);
      const bool valid = tap < weights_.taps && o < weights_.outputs_end && chunk_ < weights_.chunks;
      const int place = (weights_.last_h - tap_h * weights_.step_h) * weights_.kernel_w + weights_.last_w -
                        tap_w * weights_.step_w;
      const std::int64_t offset = valid ? o * weights_.output_chunks + place * weights_.chunks + chunk_ : 0;
      simt::cp_async<kChunkBytes>(Map::destination(tile, i),
                                  static_cast<const unsigned char*>(weights_.data) + offset * kChunkBytes,
                                  valid);
    }
    k_ += kTileK<T>;
  }

 private:
  using Map = CopyMap<SharedTile<T, kMajor, kExtent>, kThreads>;

  TapWeights weights_;
  int k_;
  int chunk_;
};

}  // namespace trireme::kernels
