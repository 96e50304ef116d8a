// SPDX-License-Identifier: Apache-2.0
#include "kernels/reference/conv2d.h"

#include <vector>

namespace trireme::reference {
namespace {

/// Calls body(output, input, weight) with the element offsets of every product of the convolution.
template <typename Body>
void for_each_product(const Conv2dShape& s, const Body& body) {
  const std::int64_t out_h = s.out_h(), out_w = s.out_w();
  for (std::int64_t n = 0; n < s.batch; ++n)
    for (std::int64_t oh = 0; oh < out_h; ++oh)
      for (std::int64_t ow = 0; ow < out_w; ++ow)
        for (std::int64_t o = 0; o < s.out_channels; ++o)
          for (std::int64_t kh = 0; kh < s.kernel_h; ++kh)
            for (std::int64_t kw = 0; kw < s.kernel_w; ++kw) {
              const std::int64_t h = oh * s.stride_h - s.pad_h + kh, w = ow * s.stride_w - s.pad_w + kw;
              if (h < 0 || h >= s.in_h || w < 0 || w >= s.in_w) continue;
              for (std::int64_t i = 0; i < s.in_channels; ++i)
                body(((n * out_h + oh) * out_w + ow) * s.out_channels + o,
                     ((n * s.in_h + h) * s.in_w + w) * s.in_channels + i,
                     ((o * s.kernel_h + kh) * s.kernel_w + kw) * s.in_channels + i);
            }
}

template <typename T>
void store(T* to, const std::vector<double>& sums) {
  for (std::size_t i = 0; i < sums.size(); ++i) to[i] = static_cast<T>(sums[i]);
}

std::vector<double> zeros(std::int64_t count) {
  return std::vector<double>(static_cast<std::size_t>(count));
}

}  // namespace

template <typename T>
void conv2d_forward(T* y, const T* x, const T* weight, const T* bias, const Conv2dShape& s) {
  std::vector<double> sums = zeros(s.batch * s.out_h() * s.out_w() * s.out_channels);
  if (bias != nullptr)
    for (std::size_t i = 0; i < sums.size(); ++i)
      sums[i] = static_cast<double>(bias[i % static_cast<std::size_t>(s.out_channels)]);
  for_each_product(s, [&](std::int64_t out, std::int64_t in, std::int64_t w) {
    sums[static_cast<std::size_t>(out)] += static_cast<double>(x[in]) * static_cast<double>(weight[w]);
  });
  store(y, sums);
}

// The loss depends on x[in] through every product x[in] w[k] that is added to some y[out], so
//   dx[in] = sum over those products of dy[out] w[k].
template <typename T>
void conv2d_backward_data(T* dx, const T* dy, const T* weight, const Conv2dShape& s) {
  std::vector<double> sums = zeros(s.batch * s.in_h * s.in_w * s.in_channels);
  for_each_product(s, [&](std::int64_t out, std::int64_t in, std::int64_t w) {
    sums[static_cast<std::size_t>(in)] += static_cast<double>(dy[out]) * static_cast<double>(weight[w]);
  });
  store(dx, sums);
}

// The same products seen from the weight: dw[k] = sum dy[out] x[in]. The bias is added once to every output
// of its channel: db[o] = sum over n, oh, ow of dy[n,oh,ow,o].
template <typename T>
void conv2d_backward_weights(T* dweight, T* dbias, const T* x, const T* dy, const Conv2dShape& s) {
  std::vector<double> sums = zeros(s.out_channels * s.kernel_h * s.kernel_w * s.in_channels);
  for_each_product(s, [&](std::int64_t out, std::int64_t in, std::int64_t w) {
    sums[static_cast<std::size_t>(w)] += static_cast<double>(dy[out]) * static_cast<double>(x[in]);
  });
  store(dweight, sums);
  if (dbias == nullptr) return;
  std::vector<double> bias_sums = zeros(s.out_channels);
  for (std::int64_t i = 0; i < s.batch * s.out_h() * s.out_w() * s.out_channels; ++i)
    bias_sums[static_cast<std::size_t>(i % s.out_channels)] += static_cast<double>(dy[i]);
  store(dbias, bias_sums);
}

template void conv2d_forward(float*, const float*, const float*, const float*, const Conv2dShape&);
template void conv2d_forward(double*, const double*, const double*, const double*, const Conv2dShape&);
template void conv2d_backward_data(float*, const float*, const float*, const Conv2dShape&);
template void conv2d_backward_data(double*, const double*, const double*, const Conv2dShape&);
template void conv2d_backward_weights(float*, float*, const float*, const float*, const Conv2dShape&);
template void conv2d_backward_weights(double*, double*, const double*, const double*, const Conv2dShape&);

}  // namespace trireme::reference
