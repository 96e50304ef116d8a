// SPDX-License-Identifier: Apache-2.0
#include "kernels/reference/softmax_cross_entropy.h"

#include <algorithm>
#include <cmath>
#include <vector>

namespace trireme::reference {
namespace {

/// log softmax(z)_j = (z_j - max) - log sum_k exp(z_k - max)
template <typename T>
std::vector<double> log_softmax(const T* z, std::int64_t classes) {
  const double largest = static_cast<double>(*std::max_element(z, z + classes));
  double sum = 0;
  for (std::int64_t j = 0; j < classes; ++j) sum += std::exp(static_cast<double>(z[j]) - largest);
  std::vector<double> result;
  for (std::int64_t j = 0; j < classes; ++j)
    result.push_back(static_cast<double>(z[j]) - largest - std::log(sum));
  return result;
}

/// w_j t_j
double target(const SoftmaxCrossEntropyShape& s, std::int64_t j, std::int32_t label) {
  const double share =
      s.label_smoothing / static_cast<double>(s.classes) + (j == label ? 1 - s.label_smoothing : 0);
  return s.class_weights == nullptr ? share : s.class_weights[j] * share;
}

}  // namespace

template <typename T>
void softmax_cross_entropy_forward(T* loss, const T* logits, const std::int32_t* labels,
                                   const SoftmaxCrossEntropyShape& s) {
  for (std::int64_t n = 0; n < s.batch; ++n) {
    double sum = 0;
    const std::vector<double> log_p = log_softmax(logits + n * s.classes, s.classes);
    for (std::int64_t j = 0; j < s.classes && n < s.valid; ++j)
      sum -= target(s, j, labels[n]) * log_p[static_cast<std::size_t>(j)];
    loss[n] = static_cast<T>(sum);
  }
}

// d log softmax(z)_k / dz_j = [k = j] - softmax(z)_j, and so with u_k = w_k t_k:
//   dz_j = -sum_k u_k ([k = j] - p_j) = p_j sum_k u_k - u_j.
template <typename T>
void softmax_cross_entropy_backward(T* dlogits, const T* logits, const std::int32_t* labels, double scale,
                                    const SoftmaxCrossEntropyShape& s) {
  for (std::int64_t n = 0; n < s.batch; ++n) {
    const std::vector<double> log_p = log_softmax(logits + n * s.classes, s.classes);
    double target_sum = 0;
    for (std::int64_t k = 0; k < s.classes; ++k) target_sum += target(s, k, labels[n]);
    for (std::int64_t j = 0; j < s.classes; ++j) {
      const double difference =
          target_sum * std::exp(log_p[static_cast<std::size_t>(j)]) - target(s, j, labels[n]);
      dlogits[n * s.classes + j] = n < s.valid ? static_cast<T>(scale * difference) : T{0};
    }
  }
}

template <typename T>
bool is_in_top(const T* row, std::int64_t classes, std::int32_t label, std::int64_t k) {
  std::int64_t better = 0;
  for (std::int64_t j = 0; j < classes; ++j) {
    if (std::isnan(row[j])) return false;
    better += row[j] > row[label] || (row[j] == row[label] && j < label) ? 1 : 0;
  }
  return better < k;
}

template void softmax_cross_entropy_forward(float*, const float*, const std::int32_t*,
                                            const SoftmaxCrossEntropyShape&);
template void softmax_cross_entropy_forward(double*, const double*, const std::int32_t*,
                                            const SoftmaxCrossEntropyShape&);
template void softmax_cross_entropy_backward(float*, const float*, const std::int32_t*, double,
                                             const SoftmaxCrossEntropyShape&);
template void softmax_cross_entropy_backward(double*, const double*, const std::int32_t*, double,
                                             const SoftmaxCrossEntropyShape&);
template bool is_in_top(const float*, std::int64_t, std::int32_t, std::int64_t);
template bool is_in_top(const double*, std::int64_t, std::int32_t, std::int64_t);

}  // namespace trireme::reference
