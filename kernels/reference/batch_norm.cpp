// SPDX-License-Identifier: Apache-2.0
#include "kernels/reference/batch_norm.h"

#include <cmath>

namespace trireme::reference {
namespace {

template <typename T>
double wide(T value) {
  return static_cast<double>(value);
}

/// Mean over a channel of value(index of the element).
template <typename Value>
double channel_mean(const BatchNormShape& s, std::int64_t channel, const Value& value) {
  double sum = 0;
  for (std::int64_t row = 0; row < s.values; ++row) sum += value(row * s.channels + channel);
  return sum / static_cast<double>(s.values);
}

}  // namespace

template <typename T>
void batch_norm_forward_training(T* y, T* mean, T* variance, const T* x, const T* scale, const T* shift,
                                 const BatchNormShape& s) {
  for (std::int64_t c = 0; c < s.channels; ++c) {
    const double centre = channel_mean(s, c, [&](std::int64_t i) { return wide(x[i]); });
    mean[c] = static_cast<T>(centre);
    variance[c] = static_cast<T>(
        channel_mean(s, c, [&](std::int64_t i) { return (wide(x[i]) - centre) * (wide(x[i]) - centre); }));
  }
  batch_norm_forward_inference(y, x, scale, shift, mean, variance, s);
}

template <typename T>
void batch_norm_forward_inference(T* y, const T* x, const T* scale, const T* shift, const T* mean,
                                  const T* variance, const BatchNormShape& s) {
  for (std::int64_t i = 0; i < s.values * s.channels; ++i) {
    const std::int64_t c = i % s.channels;
    const double normal = (wide(x[i]) - wide(mean[c])) / std::sqrt(wide(variance[c]) + s.epsilon);
    y[i] = static_cast<T>(normal * wide(scale[c]) + wide(shift[c]));
  }
}

// Within a channel of M values let r = 1 / sqrt(variance + epsilon), xhat = (x - mean) r, y = scale xhat +
// shift.
//   dshift = sum dy,  dscale = sum dy xhat,  dxhat = scale dy.
// xhat depends on x directly, through mean and through variance:
//   dvariance = sum dxhat (x - mean) * (-r^3 / 2) = -(r^2 / 2) sum dxhat xhat
//   dmean     = -r sum dxhat                       (the part through variance vanishes: sum (x - mean) = 0)
//   dx        = r dxhat + dvariance 2 (x - mean) / M + dmean / M
//             = r scale (dy - mean(dy) - xhat mean(dy xhat)).
template <typename T>
void batch_norm_backward(T* dx, T* dscale, T* dshift, const T* dy, const T* x, const T* scale, const T* mean,
                         const T* variance, const BatchNormShape& s) {
  for (std::int64_t c = 0; c < s.channels; ++c) {
    const double r = 1.0 / std::sqrt(wide(variance[c]) + s.epsilon);
    const auto normal = [&](std::int64_t i) { return (wide(x[i]) - wide(mean[c])) * r; };
    const double mean_dy = channel_mean(s, c, [&](std::int64_t i) { return wide(dy[i]); });
    const double mean_dy_normal = channel_mean(s, c, [&](std::int64_t i) { return wide(dy[i]) * normal(i); });
    dshift[c] = static_cast<T>(mean_dy * static_cast<double>(s.values));
    dscale[c] = static_cast<T>(mean_dy_normal * static_cast<double>(s.values));
    for (std::int64_t row = 0; row < s.values; ++row) {
      const std::int64_t i = row * s.channels + c;
      dx[i] = static_cast<T>(r * wide(scale[c]) * (wide(dy[i]) - mean_dy - normal(i) * mean_dy_normal));
    }
  }
}

template void batch_norm_forward_training(float*, float*, float*, const float*, const float*, const float*,
                                          const BatchNormShape&);
template void batch_norm_forward_training(double*, double*, double*, const double*, const double*,
                                          const double*, const BatchNormShape&);
template void batch_norm_forward_inference(float*, const float*, const float*, const float*, const float*,
                                           const float*, const BatchNormShape&);
template void batch_norm_forward_inference(double*, const double*, const double*, const double*,
                                           const double*, const double*, const BatchNormShape&);
template void batch_norm_backward(float*, float*, float*, const float*, const float*, const float*,
                                  const float*, const float*, const BatchNormShape&);
template void batch_norm_backward(double*, double*, double*, const double*, const double*, const double*,
                                  const double*, const double*, const BatchNormShape&);

}  // namespace trireme::reference
