// SPDX-License-Identifier: Apache-2.0
#include "kernels/reference/pool2d.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

namespace trireme::reference {
namespace {

/// Calls body(output element, n, oh, ow, c) for every output element.
template <typename Body>
void for_each_output(std::int64_t batch, std::int64_t out_h, std::int64_t out_w, std::int64_t channels,
                     const Body& body) {
  std::int64_t i = 0;
  for (std::int64_t n = 0; n < batch; ++n)
    for (std::int64_t oh = 0; oh < out_h; ++oh)
      for (std::int64_t ow = 0; ow < out_w; ++ow)
        for (std::int64_t c = 0; c < channels; ++c) body(i++, n, oh, ow, c);
}

/// Calls body(output element, input element, elements of the window) for every element of every window.
template <typename Body>
void for_each_share(const AdaptiveAvgPoolShape& s, const Body& body) {
  const auto begin = [](std::int64_t i, std::int64_t in, std::int64_t out) { return i * in / out; };
  const auto end = [](std::int64_t i, std::int64_t in, std::int64_t out) {
    return ((i + 1) * in + out - 1) / out;
  };
  for_each_output(s.batch, s.out_h, s.out_w, s.channels,
                  [&](std::int64_t i, std::int64_t n, std::int64_t oh, std::int64_t ow, std::int64_t c) {
                    const std::int64_t h0 = begin(oh, s.in_h, s.out_h), h1 = end(oh, s.in_h, s.out_h);
                    const std::int64_t w0 = begin(ow, s.in_w, s.out_w), w1 = end(ow, s.in_w, s.out_w);
                    for (std::int64_t h = h0; h < h1; ++h)
                      for (std::int64_t w = w0; w < w1; ++w)
                        body(i, ((n * s.in_h + h) * s.in_w + w) * s.channels + c, (h1 - h0) * (w1 - w0));
                  });
}

template <typename Body>
void for_each_share(const PoolShape& s, bool count_include_pad, const Body& body) {
  for_each_output(
      s.batch, s.out_h(), s.out_w(), s.channels,
      [&](std::int64_t i, std::int64_t n, std::int64_t oh, std::int64_t ow, std::int64_t c) {
        const std::int64_t top = oh * s.stride_h - s.pad_h, left = ow * s.stride_w - s.pad_w;
        const std::int64_t h0 = std::max<std::int64_t>(top, 0), h1 = std::min(top + s.kernel_h, s.in_h);
        const std::int64_t w0 = std::max<std::int64_t>(left, 0), w1 = std::min(left + s.kernel_w, s.in_w);
        const std::int64_t size = count_include_pad ? s.kernel_h * s.kernel_w : (h1 - h0) * (w1 - w0);
        for (std::int64_t h = h0; h < h1; ++h)
          for (std::int64_t w = w0; w < w1; ++w)
            body(i, ((n * s.in_h + h) * s.in_w + w) * s.channels + c, size);
      });
}

}  // namespace

template <typename T>
void max_pool_forward(T* y, std::int64_t* places, const T* x, const PoolShape& s) {
  for_each_output(s.batch, s.out_h(), s.out_w(), s.channels,
                  [&](std::int64_t i, std::int64_t n, std::int64_t oh, std::int64_t ow, std::int64_t c) {
                    y[i] = -std::numeric_limits<T>::infinity();
                    places[i] = -1;
                    for (std::int64_t kh = 0; kh < s.kernel_h; ++kh)
                      for (std::int64_t kw = 0; kw < s.kernel_w; ++kw) {
                        const std::int64_t h = oh * s.stride_h - s.pad_h + kh,
                                           w = ow * s.stride_w - s.pad_w + kw;
                        if (h < 0 || h >= s.in_h || w < 0 || w >= s.in_w) continue;
                        const T value = x[((n * s.in_h + h) * s.in_w + w) * s.channels + c];
                        if (places[i] >= 0 && (value <= y[i] || std::isnan(y[i]))) continue;
                        y[i] = value;
                        places[i] = h * s.in_w + w;
                      }
                  });
}

// Moving any element but the largest changes nothing, so the whole gradient of an output goes to its largest
// element; windows may overlap, so an element may get several.
template <typename T>
void max_pool_backward(T* dx, const T* dy, const std::int64_t* places, const PoolShape& s) {
  std::vector<double> sums(static_cast<std::size_t>(s.batch * s.in_h * s.in_w * s.channels));
  for_each_output(s.batch, s.out_h(), s.out_w(), s.channels,
                  [&](std::int64_t i, std::int64_t n, std::int64_t, std::int64_t, std::int64_t c) {
                    const std::int64_t at = (n * s.in_h * s.in_w + places[i]) * s.channels + c;
                    sums[static_cast<std::size_t>(at)] += static_cast<double>(dy[i]);
                  });
  for (std::size_t i = 0; i < sums.size(); ++i) dx[i] = static_cast<T>(sums[i]);
}

template <typename T>
void avg_pool_forward(T* y, const T* x, const PoolShape& s, bool count_include_pad) {
  std::vector<double> sums(static_cast<std::size_t>(s.batch * s.out_h() * s.out_w() * s.channels));
  for_each_share(s, count_include_pad, [&](std::int64_t out, std::int64_t in, std::int64_t size) {
    sums[static_cast<std::size_t>(out)] += static_cast<double>(x[in]) / static_cast<double>(size);
  });
  for (std::size_t i = 0; i < sums.size(); ++i) y[i] = static_cast<T>(sums[i]);
}

// Each element of a window of `size` elements weighs 1/size in the output, and gets that share of its
// gradient.
template <typename T>
void avg_pool_backward(T* dx, const T* dy, const PoolShape& s, bool count_include_pad) {
  std::vector<double> sums(static_cast<std::size_t>(s.batch * s.in_h * s.in_w * s.channels));
  for_each_share(s, count_include_pad, [&](std::int64_t out, std::int64_t in, std::int64_t size) {
    sums[static_cast<std::size_t>(in)] += static_cast<double>(dy[out]) / static_cast<double>(size);
  });
  for (std::size_t i = 0; i < sums.size(); ++i) dx[i] = static_cast<T>(sums[i]);
}

template <typename T>
void adaptive_avg_pool_forward(T* y, const T* x, const AdaptiveAvgPoolShape& s) {
  std::vector<double> sums(static_cast<std::size_t>(s.batch * s.out_h * s.out_w * s.channels));
  for_each_share(s, [&](std::int64_t out, std::int64_t in, std::int64_t size) {
    sums[static_cast<std::size_t>(out)] += static_cast<double>(x[in]) / static_cast<double>(size);
  });
  for (std::size_t i = 0; i < sums.size(); ++i) y[i] = static_cast<T>(sums[i]);
}

template <typename T>
void adaptive_avg_pool_backward(T* dx, const T* dy, const AdaptiveAvgPoolShape& s) {
  std::vector<double> sums(static_cast<std::size_t>(s.batch * s.in_h * s.in_w * s.channels));
  for_each_share(s, [&](std::int64_t out, std::int64_t in, std::int64_t size) {
    sums[static_cast<std::size_t>(in)] += static_cast<double>(dy[out]) / static_cast<double>(size);
  });
  for (std::size_t i = 0; i < sums.size(); ++i) dx[i] = static_cast<T>(sums[i]);
}

template void max_pool_forward(float*, std::int64_t*, const float*, const PoolShape&);
template void max_pool_forward(double*, std::int64_t*, const double*, const PoolShape&);
template void max_pool_backward(float*, const float*, const std::int64_t*, const PoolShape&);
template void max_pool_backward(double*, const double*, const std::int64_t*, const PoolShape&);
template void avg_pool_forward(float*, const float*, const PoolShape&, bool);
template void avg_pool_forward(double*, const double*, const PoolShape&, bool);
template void avg_pool_backward(float*, const float*, const PoolShape&, bool);
template void avg_pool_backward(double*, const double*, const PoolShape&, bool);
template void adaptive_avg_pool_forward(float*, const float*, const AdaptiveAvgPoolShape&);
template void adaptive_avg_pool_forward(double*, const double*, const AdaptiveAvgPoolShape&);
template void adaptive_avg_pool_backward(float*, const float*, const AdaptiveAvgPoolShape&);
template void adaptive_avg_pool_backward(double*, const double*, const AdaptiveAvgPoolShape&);

}  // namespace trireme::reference
