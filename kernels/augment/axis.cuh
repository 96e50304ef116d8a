// SPDX-License-Identifier: Apache-2.0
// How elements along one axis of the result are weighted sums of the source's: a triangle filter whose
// support grows with the factor of shrinking (that is the antialiasing), weights in 22-bit fixed point, as
// Pillow has it. An axis that keeps its size gets the single weight 1, which copies levels exactly.
#pragma once

#include "kernels/simt/simt.h"

namespace trireme::kernels {

constexpr int kWeightBits = 22;
constexpr int kHalfLevel = 1 << (kWeightBits - 1);

/// Of each result element: its first source element, how many it takes, and `stride` places for their
/// weights. In shared memory.
struct Axis {
  int* first;
  int* taps;
  int* weights;
  int stride;
};

/// Most taps of an element whose axis shrinks by `scale`.
inline int most_taps(double scale) {
  const int support = static_cast<int>(scale) + 2;
  return 2 * support + 1;
}

/// The nearest integer, halves upwards.
__device__ inline int nearest(double value) {
  return static_cast<int>(floor(value + 0.5));
}

__device__ inline double triangle_weight(int element, double center, double per_pixel) {
  const double weight = 1.0 - fabs((element - center + 0.5) * per_pixel);
  return weight > 0.0 ? weight : 0.0;
}

/// Plans entry i: element `position` of an axis that goes from `source` to `full` elements.
__device__ inline void plan_resize(const Axis& axis, int i, int position, int source, int full) {
  const double scale = static_cast<double>(source) / full;
  const double support = scale > 1.0 ? scale : 1.0;  // the triangle's half-width
  const double per_pixel = 1.0 / support;
  const double center = (position + 0.5) * scale;
  const int lowest = nearest(center - support), highest = nearest(center + support);
  const int first = lowest > 0 ? lowest : 0;
  const int taps = (highest < source ? highest : source) - first;
  double total = 0;
  for (int tap = 0; tap < taps; ++tap) total += triangle_weight(tap + first, center, per_pixel);
  for (int tap = 0; tap < taps; ++tap)
    axis.weights[i * axis.stride + tap] =
        nearest(triangle_weight(tap + first, center, per_pixel) / total * (1 << kWeightBits));
  axis.first[i] = first;
  axis.taps[i] = taps;
}

/// Plans entry i as a copy of element `position`; beyond the source nothing is taken, which gives level 0.
__device__ inline void plan_copy(const Axis& axis, int i, int position, int source) {
  const bool is_inside = position >= 0 && position < source;
  axis.first[i] = position < 0 ? 0 : is_inside ? position : source;
  axis.taps[i] = is_inside ? 1 : 0;
  axis.weights[i * axis.stride] = 1 << kWeightBits;
}

/// The source elements that entries [0, count) touch: positions ascend.
__device__ inline int axis_begin(const Axis& axis) {
  return axis.first[0];
}
__device__ inline int axis_end(const Axis& axis, int count) {
  return axis.first[count - 1] + axis.taps[count - 1];
}

__device__ inline int to_level(int sum) {
  const int level = sum >> kWeightBits;
  return level < 0 ? 0 : level > 255 ? 255 : level;
}

}  // namespace trireme::kernels
