// SPDX-License-Identifier: Apache-2.0
// Which inputs an output of a pooling sees along one axis, and the other way around; and how pictures are
// spread over threads: a block works on pixels of one row, a thread on one vector of channels of one pixel.
#pragma once

#include <cstdint>
#include <stdexcept>

#include "kernels/pool2d/pool2d.h"
#include "kernels/vectors.cuh"

namespace trireme::kernels {

/// Windows of a fixed size: output o sees [o stride - pad, o stride - pad + kernel), of which [begin, end) is
/// inside.
struct FixedAxis {
  int in, out, kernel, stride, pad;
  bool counts_pad;

  __device__ __forceinline__ int begin(int o) const {
    const int first = o * stride - pad;
    return first > 0 ? first : 0;
  }
  __device__ __forceinline__ int end(int o) const {
    const int past = o * stride - pad + kernel;
    return past < in ? past : in;
  }
  /// What a mean divides by.
  __device__ __forceinline__ int size(int o) const { return counts_pad ? kernel : end(o) - begin(o); }
  /// The outputs [first_output, past_output) see input i: o stride <= i + pad < o stride + kernel.
  __device__ __forceinline__ int first_output(int i) const {
    const int beyond = i + pad - kernel + 1;
    return beyond > 0 ? divide_up(beyond, stride) : 0;
  }
  __device__ __forceinline__ int past_output(int i) const {
    const int past = (i + pad) / stride + 1;
    return past < out ? past : out;
  }
};

/// Output o sees [floor(o in / out), ceil((o + 1) in / out)). Then input i is seen by the o with
/// o in / out < i + 1 and (o + 1) in / out > i, which is [floor(i out / in), ceil((i + 1) out / in)).
struct AdaptiveAxis {
  int in, out;

  __device__ __forceinline__ int begin(int o) const { return o * in / out; }
  __device__ __forceinline__ int end(int o) const { return divide_up((o + 1) * in, out); }
  __device__ __forceinline__ int size(int o) const { return end(o) - begin(o); }
  __device__ __forceinline__ int first_output(int i) const { return i * out / in; }
  __device__ __forceinline__ int past_output(int i) const { return divide_up((i + 1) * out, in); }
};

/// Both axes, as a kernel argument.
template <typename Axis>
struct Windows {
  Axis h, w;
  int batch, pitch;

  template <typename Visit>
  __host__ __device__ void visit_pointers(Visit) const {}
};

/// Checked.
inline Windows<FixedAxis> fixed_windows(const Pool2dShape& s, bool counts_pad, int vector) {
  const bool is_sound = s.batch > 0 && s.in_h > 0 && s.in_w > 0 && s.pitch > 0 && s.pitch % vector == 0 &&
                        s.kernel_h > 0 && s.kernel_w > 0 && s.stride_h > 0 && s.stride_w > 0 &&
                        s.pad_h >= 0 && s.pad_w >= 0 && s.in_h + 2 * s.pad_h >= s.kernel_h &&
                        s.in_w + 2 * s.pad_w >= s.kernel_w;
  if (!is_sound || 2 * s.pad_h > s.kernel_h || 2 * s.pad_w > s.kernel_w)
    throw std::invalid_argument(
        "pooling: a window must fit into the padded picture, padding be at most half of it");
  return {{s.in_h, s.out_h(), s.kernel_h, s.stride_h, s.pad_h, counts_pad},
          {s.in_w, s.out_w(), s.kernel_w, s.stride_w, s.pad_w, counts_pad},
          s.batch,
          s.pitch};
}

/// A thread's pixel and channels in pictures of `height` rows of `width` pixels.
struct PixelVector {
  std::int64_t n;
  int h, w, channel;
  bool is_inside;

  template <typename T>
  static __device__ __forceinline__ PixelVector of(int height, int width, int pitch) {
    const int vectors = pitch / kVectorSize<T>;
    const int item = static_cast<int>(blockIdx.y * blockDim.x + threadIdx.x);
    PixelVector at;
    at.n = blockIdx.x / static_cast<unsigned>(height);
    at.h = static_cast<int>(blockIdx.x % static_cast<unsigned>(height));
    at.w = item / vectors;
    at.channel = item % vectors * kVectorSize<T>;
    at.is_inside = at.w < width;
    return at;
  }

  /// Index of these channels at pixel (row, column) of the same picture, in pictures of that size.
  __device__ __forceinline__ std::int64_t index(int row, int column, int height, int width, int pitch) const {
    return ((n * height + row) * width + column) * pitch + channel;
  }
};

/// Calls visit(vector, row, column) for the elements of an output's window in row order, kColumns loads in
/// flight.
template <int kColumns, typename T, typename Axis, typename Visit>
__device__ __forceinline__ void visit_window(const T* x, const PixelVector& at, const Windows<Axis>& windows,
                                             const Visit& visit) {
  const Axis &h = windows.h, &w = windows.w;
  const int end_h = h.end(at.h), begin_w = w.begin(at.w), end_w = w.end(at.w);
  for (int row = h.begin(at.h); row < end_h; ++row)
    for (int first = begin_w; first < end_w; first += kColumns) {
      simt::Vector16<T> vectors[kColumns];
      SIMT_UNROLL
      for (int i = 0; i < kColumns; ++i)
        if (first + i < end_w)
          vectors[i] = simt::load16(x + at.index(row, first + i, h.in, w.in, windows.pitch));
      SIMT_UNROLL
      for (int i = 0; i < kColumns; ++i) {
        if (first + i >= end_w) break;
        visit(vectors[i], row, first + i);
      }
    }
}

struct PixelLaunch {
  dim3 grid;
  unsigned threads;
};
inline PixelLaunch launch_of_pixels(int batch, int height, int width, int pitch, int vector) {
  constexpr int kMostThreads = 128;
  const int items = width * (pitch / vector);
  const int threads = items < kMostThreads ? round_up(items, simt::kWarpSize) : kMostThreads;
  return {{static_cast<unsigned>(batch) * static_cast<unsigned>(height),
           static_cast<unsigned>(divide_up(items, threads)), 1},
          static_cast<unsigned>(threads)};
}

}  // namespace trireme::kernels
