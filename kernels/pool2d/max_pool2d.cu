// SPDX-License-Identifier: Apache-2.0
// Moving any element of a window but the largest changes nothing, so the whole gradient of an output goes to
// its largest element. Windows may overlap: each input looks at the windows that it lies in, in row order,
// and adds up the gradients of those whose place it is.
#include <cmath>
#include <type_traits>

#include "kernels/pool2d/windows.cuh"

namespace trireme::kernels {
namespace {

constexpr int kNoPlace = 255;
constexpr int kColumnsAtOnce = 3;  // loads in flight in one thread

/// The places of one vector's elements, stored at once.
template <typename T>
using PlaceWord = std::conditional_t<kVectorSize<T> == 8, std::uint64_t, std::uint32_t>;

/// The largest elements so far and their places.
template <int Vector>
struct Largest {
  float values[Vector];
  int places[Vector];

  __device__ __forceinline__ void take(const float (&candidates)[Vector], int place) {
    SIMT_UNROLL
    for (int v = 0; v < Vector; ++v) {
      const bool is_larger =
          !(candidates[v] <= values[v]) && values[v] == values[v];  // NaN is; nothing is, than NaN
      values[v] = is_larger ? candidates[v] : values[v];
      places[v] = is_larger ? place : places[v];
    }
  }
};

enum class Places { none, all, positive };

template <typename T, Places kPlaces>
__global__ void max_pool2d_forward_window_kernel(T* y, std::uint8_t* places, const T* x,
                                                 Windows<FixedAxis> windows) {
  constexpr int kVector = kVectorSize<T>;
  const FixedAxis &h = windows.h, &w = windows.w;
  const auto at = PixelVector::of<T>(h.out, w.out, windows.pitch);
  if (!at.is_inside) return;
  const int top = at.h * h.stride - h.pad, left = at.w * w.stride - w.pad;  // place 0
  Largest<kVector> largest;
  SIMT_UNROLL
  for (int v = 0; v < kVector; ++v) {
    largest.values[v] = -INFINITY;
    largest.places[v] =
        (h.begin(at.h) - top) * w.kernel + w.begin(at.w) - left;  // stays where all are minus infinity
  }
  visit_window<kColumnsAtOnce>(x, at, windows, [&](const simt::Vector16<T>& vector, int row, int column) {
    float candidates[kVector];
    unpack<T>(candidates, vector);
    largest.take(candidates, (row - top) * w.kernel + column - left);
  });

  const std::int64_t to = at.index(at.h, at.w, h.out, w.out, windows.pitch);
  simt::store16(y + to, pack<T>(largest.values));
  if constexpr (kPlaces != Places::none) {
    PlaceWord<T> word = 0;
    SIMT_UNROLL
    for (int v = 0; v < kVector; ++v) {
      const bool has_place = kPlaces == Places::all || largest.values[v] > 0;
      word |= static_cast<PlaceWord<T>>(has_place ? largest.places[v] : kNoPlace) << (8 * v);
    }
    simt::store(reinterpret_cast<PlaceWord<T>*>(places + to), word);
  }
}

template <typename T>
__global__ void max_pool2d_backward_gather_kernel(T* dx, const T* dy, const std::uint8_t* places,
                                                  Windows<FixedAxis> windows) {
  constexpr int kVector = kVectorSize<T>;
  const FixedAxis &h = windows.h, &w = windows.w;
  const auto at = PixelVector::of<T>(h.in, w.in, windows.pitch);
  if (!at.is_inside) return;
  float sums[kVector] = {};
  const int past_h = h.past_output(at.h), first_w = w.first_output(at.w), past_w = w.past_output(at.w);
  for (int row = h.first_output(at.h); row < past_h; ++row)
    for (int column = first_w; column < past_w; ++column) {
      const std::int64_t from = at.index(row, column, h.out, w.out, windows.pitch);
      const PlaceWord<T> word = simt::load(reinterpret_cast<const PlaceWord<T>*>(places + from));
      const simt::Vector16<T> gradients = simt::load16(dy + from);
      const auto place = static_cast<unsigned>((at.h + h.pad - row * h.stride) * w.kernel + at.w + w.pad -
                                               column * w.stride);
      SIMT_UNROLL
      for (int v = 0; v < kVector; ++v)
        if (static_cast<unsigned>(word >> (8 * v) & 0xFFU) == place) sums[v] += to_float(gradients[v]);
    }
  simt::store16(dx + at.index(at.h, at.w, h.in, w.in, windows.pitch), pack<T>(sums));
}

void check_places(const Pool2dShape& shape) {
  if (shape.kernel_h * shape.kernel_w > kNoPlace)
    throw std::invalid_argument("max pooling: a window has at most 255 elements");
}

}  // namespace

template <typename T>
void max_pool2d_forward(T* y, std::uint8_t* places, const T* x, const Pool2dShape& shape, cudaStream_t stream,
                        bool after_relu) {
  const Windows<FixedAxis> windows = fixed_windows(shape, false, kVectorSize<T>);
  check_places(shape);
  const PixelLaunch launch =
      launch_of_pixels(shape.batch, shape.out_h(), shape.out_w(), shape.pitch, kVectorSize<T>);
  const auto max_pool2d_forward_window = places == nullptr ? max_pool2d_forward_window_kernel<T, Places::none>
                                         : after_relu ? max_pool2d_forward_window_kernel<T, Places::positive>
                                                      : max_pool2d_forward_window_kernel<T, Places::all>;
  SIMT_LAUNCH(max_pool2d_forward_window, launch.grid, launch.threads, 0, stream, y, places, x, windows);
}

template <typename T>
void max_pool2d_backward(T* dx, const T* dy, const std::uint8_t* places, const Pool2dShape& shape,
                         cudaStream_t stream) {
  const Windows<FixedAxis> windows = fixed_windows(shape, false, kVectorSize<T>);
  check_places(shape);
  const PixelLaunch launch =
      launch_of_pixels(shape.batch, shape.in_h, shape.in_w, shape.pitch, kVectorSize<T>);
  SIMT_LAUNCH((max_pool2d_backward_gather_kernel<T>), launch.grid, launch.threads, 0, stream, dx, dy, places,
              windows);
}

#define TRIREME_INSTANTIATE(T)                                                                              \
  template void max_pool2d_forward<T>(T*, std::uint8_t*, const T*, const Pool2dShape&, cudaStream_t, bool); \
  template void max_pool2d_backward<T>(T*, const T*, const std::uint8_t*, const Pool2dShape&, cudaStream_t);
TRIREME_INSTANTIATE(BFloat16)
TRIREME_INSTANTIATE(Half)
TRIREME_INSTANTIATE(float)
#undef TRIREME_INSTANTIATE

}  // namespace trireme::kernels
