// SPDX-License-Identifier: Apache-2.0
#include "kernels/reference/linear.h"

namespace trireme::reference {
namespace {

/// sum over i < count of term(i), in float64
template <typename Term>
double sum_of(std::int64_t count, const Term& term) {
  double sum = 0;
  for (std::int64_t i = 0; i < count; ++i) sum += term(i);
  return sum;
}

template <typename T>
double product(T a, T b) {
  return static_cast<double>(a) * static_cast<double>(b);
}

/// Calls body(matrix element, picture element) for every element of both orders.
template <typename Body>
void for_each_pair(std::int64_t batch, std::int64_t h, std::int64_t w, std::int64_t c, const Body& body) {
  for (std::int64_t n = 0; n < batch; ++n)
    for (std::int64_t y = 0; y < h; ++y)
      for (std::int64_t x = 0; x < w; ++x)
        for (std::int64_t k = 0; k < c; ++k)
          body(((n * c + k) * h + y) * w + x, ((n * h + y) * w + x) * c + k);
}

}  // namespace

template <typename T>
void linear_forward(T* y, const T* x, const T* weight, const T* bias, const LinearShape& s) {
  for (std::int64_t n = 0; n < s.batch; ++n)
    for (std::int64_t o = 0; o < s.out; ++o) {
      const double start = bias == nullptr ? 0 : static_cast<double>(bias[o]);
      y[n * s.out + o] = static_cast<T>(start + sum_of(s.in, [&](std::int64_t i) {
                                          return product(x[n * s.in + i], weight[o * s.in + i]);
                                        }));
    }
}

// y[n,o] holds x[n,i] once, with factor weight[o,i]: dx[n,i] = sum_o dy[n,o] weight[o,i].
template <typename T>
void linear_backward_data(T* dx, const T* dy, const T* weight, const LinearShape& s) {
  for (std::int64_t n = 0; n < s.batch; ++n)
    for (std::int64_t i = 0; i < s.in; ++i)
      dx[n * s.in + i] = static_cast<T>(
          sum_of(s.out, [&](std::int64_t o) { return product(dy[n * s.out + o], weight[o * s.in + i]); }));
}

// Every sample holds weight[o,i] once, with factor x[n,i]: dweight[o,i] = sum_n dy[n,o] x[n,i], dbias[o] =
// sum_n dy[n,o].
template <typename T>
void linear_backward_weights(T* dweight, T* dbias, const T* x, const T* dy, const LinearShape& s) {
  for (std::int64_t o = 0; o < s.out; ++o) {
    for (std::int64_t i = 0; i < s.in; ++i)
      dweight[o * s.in + i] = static_cast<T>(
          sum_of(s.batch, [&](std::int64_t n) { return product(dy[n * s.out + o], x[n * s.in + i]); }));
    if (dbias != nullptr)
      dbias[o] = static_cast<T>(
          sum_of(s.batch, [&](std::int64_t n) { return static_cast<double>(dy[n * s.out + o]); }));
  }
}

template <typename T>
void flatten_forward(T* y, const T* x, std::int64_t batch, std::int64_t h, std::int64_t w, std::int64_t c) {
  for_each_pair(batch, h, w, c, [&](std::int64_t matrix, std::int64_t picture) { y[matrix] = x[picture]; });
}

template <typename T>
void flatten_backward(T* dx, const T* dy, std::int64_t batch, std::int64_t h, std::int64_t w,
                      std::int64_t c) {
  for_each_pair(batch, h, w, c, [&](std::int64_t matrix, std::int64_t picture) { dx[picture] = dy[matrix]; });
}

template void linear_forward(float*, const float*, const float*, const float*, const LinearShape&);
template void linear_forward(double*, const double*, const double*, const double*, const LinearShape&);
template void linear_backward_data(float*, const float*, const float*, const LinearShape&);
template void linear_backward_data(double*, const double*, const double*, const LinearShape&);
template void linear_backward_weights(float*, float*, const float*, const float*, const LinearShape&);
template void linear_backward_weights(double*, double*, const double*, const double*, const LinearShape&);
template void flatten_forward(float*, const float*, std::int64_t, std::int64_t, std::int64_t, std::int64_t);
template void flatten_forward(double*, const double*, std::int64_t, std::int64_t, std::int64_t, std::int64_t);
template void flatten_backward(float*, const float*, std::int64_t, std::int64_t, std::int64_t, std::int64_t);
template void flatten_backward(double*, const double*, std::int64_t, std::int64_t, std::int64_t,
                               std::int64_t);

}  // namespace trireme::reference
