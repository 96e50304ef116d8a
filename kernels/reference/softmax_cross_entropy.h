// SPDX-License-Identifier: Apache-2.0
// The oracle for the loss: softmax cross-entropy with label smoothing, and where the label ranks.
#pragma once

#include <cstdint>

namespace trireme::reference {

struct SoftmaxCrossEntropyShape {
  std::int64_t batch, classes;
  std::int64_t valid;  ///< rows from here on are padding: loss 0, gradient 0
  double label_smoothing;
  const double* class_weights = nullptr;  ///< w, [classes]; null: all one
};

/// loss[n] = -sum_j w_j t_j log softmax(z_n)_j with t_j = (1-s) [j = label] + s/classes.
template <typename T>
void softmax_cross_entropy_forward(T* loss, const T* logits, const std::int32_t* labels,
                                   const SoftmaxCrossEntropyShape& shape);
/// dlogits of scale * sum of the losses; written.
template <typename T>
void softmax_cross_entropy_backward(T* dlogits, const T* logits, const std::int32_t* labels, double scale,
                                    const SoftmaxCrossEntropyShape& shape);
/// Whether fewer than k classes are better than the label: larger, or equal and of a lower class. False for
/// rows that hold NaN.
template <typename T>
bool is_in_top(const T* row, std::int64_t classes, std::int32_t label, std::int64_t k);

}  // namespace trireme::reference
