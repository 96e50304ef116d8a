// SPDX-License-Identifier: Apache-2.0
// The oracle for optimizer steps of one segment, in float64 without intermediate rounding.
#pragma once

#include <cmath>
#include <cstdint>

namespace trireme::reference {

/// Sum of squares.
template <typename T>
double squared_norm(const T* values, std::int64_t count) {
  double sum = 0;
  for (std::int64_t i = 0; i < count; ++i)
    sum += static_cast<double>(values[i]) * static_cast<double>(values[i]);
  return sum;
}

struct SgdStep {
  double rate, momentum, decay;
  bool nesterov;
  double gradient_factor, ratio;
};

/// d = ratio (factor g + decay p);  v = momentum v + d;  p = p - rate (nesterov ? d + momentum v : v).
inline void sgd_step(double* p, const double* g, double* v, std::int64_t count, const SgdStep& s) {
  for (std::int64_t i = 0; i < count; ++i) {
    const double d = s.ratio * (s.gradient_factor * g[i] + s.decay * p[i]);
    v[i] = s.momentum * v[i] + d;
    p[i] -= s.rate * (s.nesterov ? d + s.momentum * v[i] : v[i]);
  }
}

/// LARS: how much larger or smaller than the rate a segment's steps are.
inline double lars_ratio(double parameter_norm, double gradient_norm, double trust, double decay,
                         double epsilon) {
  if (parameter_norm == 0 || gradient_norm == 0) return 1;
  return trust * parameter_norm / (gradient_norm + decay * parameter_norm + epsilon);
}

struct AdamWStep {
  double rate, beta1, beta2, epsilon, decay, gradient_factor;
  std::int64_t t;  ///< 1 for the first step
};

/// p = (1 - rate decay) p;  m, v: moving means of g and g^2;  p = p - rate m^ / (sqrt(v^) + epsilon) with m^
/// = m / (1 - beta1^t) and v^ = v / (1 - beta2^t).
inline void adamw_step(double* p, const double* g, double* m, double* v, std::int64_t count,
                       const AdamWStep& s) {
  const double t = static_cast<double>(s.t);
  for (std::int64_t i = 0; i < count; ++i) {
    const double gradient = s.gradient_factor * g[i];
    p[i] *= 1 - s.rate * s.decay;
    m[i] = s.beta1 * m[i] + (1 - s.beta1) * gradient;
    v[i] = s.beta2 * v[i] + (1 - s.beta2) * gradient * gradient;
    const double mean = m[i] / (1 - std::pow(s.beta1, t)), square = v[i] / (1 - std::pow(s.beta2, t));
    p[i] -= s.rate * mean / (std::sqrt(square) + s.epsilon);
  }
}

}  // namespace trireme::reference
