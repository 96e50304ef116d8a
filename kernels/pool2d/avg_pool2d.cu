// SPDX-License-Identifier: Apache-2.0
// A mean over `size` elements is linear: each of them weighs 1 / size, and gets that share of the output's
// gradient.
#include "kernels/pool2d/windows.cuh"

namespace trireme::kernels {
namespace {

constexpr int kColumnsAtOnce = 4;  // loads in flight in one thread

template <typename T, typename Axis>
__global__ void avg_pool2d_forward_window_kernel(T* y, const T* x, Windows<Axis> windows) {
  constexpr int kVector = kVectorSize<T>;
  const Axis &h = windows.h, &w = windows.w;
  const auto at = PixelVector::of<T>(h.out, w.out, windows.pitch);
  if (!at.is_inside) return;
  float sums[kVector] = {};
  visit_window<kColumnsAtOnce>(x, at, windows, [&sums](const simt::Vector16<T>& vector, int, int) {
    SIMT_UNROLL
    for (int v = 0; v < kVector; ++v) sums[v] += to_float(vector[v]);
  });
  const float share = 1.0F / static_cast<float>(h.size(at.h) * w.size(at.w));
  SIMT_UNROLL
  for (int v = 0; v < kVector; ++v) sums[v] *= share;
  simt::store16(y + at.index(at.h, at.w, h.out, w.out, windows.pitch), pack<T>(sums));
}

template <typename T, typename Axis>
__global__ void avg_pool2d_backward_gather_kernel(T* dx, const T* dy, Windows<Axis> windows) {
  constexpr int kVector = kVectorSize<T>;
  const Axis &h = windows.h, &w = windows.w;
  const auto at = PixelVector::of<T>(h.in, w.in, windows.pitch);
  if (!at.is_inside) return;
  float sums[kVector] = {};
  const int past_h = h.past_output(at.h), first_w = w.first_output(at.w), past_w = w.past_output(at.w);
  for (int row = h.first_output(at.h); row < past_h; ++row)
    for (int column = first_w; column < past_w; ++column) {
      const simt::Vector16<T> gradients =
          simt::load16(dy + at.index(row, column, h.out, w.out, windows.pitch));
      const float share = 1.0F / static_cast<float>(h.size(row) * w.size(column));
      SIMT_UNROLL
      for (int v = 0; v < kVector; ++v) sums[v] = fmaf(share, to_float(gradients[v]), sums[v]);
    }
  simt::store16(dx + at.index(at.h, at.w, h.in, w.in, windows.pitch), pack<T>(sums));
}

template <typename T, typename Axis>
void forward(T* y, const T* x, const Windows<Axis>& windows, cudaStream_t stream) {
  const PixelLaunch launch =
      launch_of_pixels(windows.batch, windows.h.out, windows.w.out, windows.pitch, kVectorSize<T>);
  SIMT_LAUNCH((avg_pool2d_forward_window_kernel<T, Axis>), launch.grid, launch.threads, 0, stream, y, x,
              windows);
}

template <typename T, typename Axis>
void backward(T* dx, const T* dy, const Windows<Axis>& windows, cudaStream_t stream) {
  const PixelLaunch launch =
      launch_of_pixels(windows.batch, windows.h.in, windows.w.in, windows.pitch, kVectorSize<T>);
  SIMT_LAUNCH((avg_pool2d_backward_gather_kernel<T, Axis>), launch.grid, launch.threads, 0, stream, dx, dy,
              windows);
}

/// Checked.
Windows<AdaptiveAxis> adaptive_windows(const AdaptivePool2dShape& s, int vector) {
  if (s.batch < 1 || s.in_h < 1 || s.in_w < 1 || s.out_h < 1 || s.out_w < 1 || s.pitch < 1 ||
      s.pitch % vector != 0)
    throw std::invalid_argument("adaptive pooling: extents are positive, pitches whole 16-byte vectors");
  return {{s.in_h, s.out_h}, {s.in_w, s.out_w}, s.batch, s.pitch};
}

}  // namespace

template <typename T>
void avg_pool2d_forward(T* y, const T* x, const Pool2dShape& shape, bool count_include_pad,
                        cudaStream_t stream) {
  forward(y, x, fixed_windows(shape, count_include_pad, kVectorSize<T>), stream);
}
template <typename T>
void avg_pool2d_backward(T* dx, const T* dy, const Pool2dShape& shape, bool count_include_pad,
                         cudaStream_t stream) {
  backward(dx, dy, fixed_windows(shape, count_include_pad, kVectorSize<T>), stream);
}
template <typename T>
void adaptive_avg_pool2d_forward(T* y, const T* x, const AdaptivePool2dShape& shape, cudaStream_t stream) {
  forward(y, x, adaptive_windows(shape, kVectorSize<T>), stream);
}
template <typename T>
void adaptive_avg_pool2d_backward(T* dx, const T* dy, const AdaptivePool2dShape& shape, cudaStream_t stream) {
  backward(dx, dy, adaptive_windows(shape, kVectorSize<T>), stream);
}

#define TRIREME_INSTANTIATE(T)                                                                          \
  template void avg_pool2d_forward<T>(T*, const T*, const Pool2dShape&, bool, cudaStream_t);            \
  template void avg_pool2d_backward<T>(T*, const T*, const Pool2dShape&, bool, cudaStream_t);           \
  template void adaptive_avg_pool2d_forward<T>(T*, const T*, const AdaptivePool2dShape&, cudaStream_t); \
  template void adaptive_avg_pool2d_backward<T>(T*, const T*, const AdaptivePool2dShape&, cudaStream_t);
TRIREME_INSTANTIATE(BFloat16)
TRIREME_INSTANTIATE(Half)
TRIREME_INSTANTIATE(float)
#undef TRIREME_INSTANTIATE

}  // namespace trireme::kernels
