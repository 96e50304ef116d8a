// SPDX-License-Identifier: Apache-2.0
// What the two passes of backward over the activation share. With n rows, r = 1 / deviation, xhat = r (x -
// mean), y = scale xhat + shift (+ residual), z = relu(y) and g = dz where y > 0, else 0 (g = dz without
// ReLU):
//
//   dresidual = g,   dshift = sum g,   dscale = sum g xhat,   dxhat = scale g.
//
// xhat depends on x directly, through the mean and through the variance (sum (x - mean)^2 / n):
//   dvariance = sum dxhat (x - mean) (-r^3 / 2),   dmean = -r sum dxhat   (the variance's own way through the
//   mean
//                                                                          is a multiple of sum (x - mean) =
//                                                                          0)
//   dx = r dxhat + 2 (x - mean) dvariance / n + dmean / n
//      = scale r (g - offset - slope (x - mean)),   offset = sum g / n,   slope = r^2 sum g (x - mean) / n.
//
// So backward is one pass that adds up g and g (x - mean) by channel, and one that makes dx. Each reads x and
// dz. The sign of y costs no memory where y is a function of x alone. With a residual it takes the bits that
// forward kept; then the first pass writes g, which the residual needs anyhow, and the second one reads that
// and not dz and bits.
#pragma once

#include "kernels/batch_norm/normalize.cuh"
#include "kernels/batch_norm/row_tiles.cuh"

namespace trireme::kernels {

template <typename T>
struct GradientPointers {
  explicit GradientPointers(const BatchNormGradientInputs<T>& inputs)
      : x(inputs.x),
        dy(inputs.dy),
        signs(inputs.signs),
        masked_dy(inputs.masked_dy),
        factors(inputs.factors) {}

  const T *x, *dy;
  const std::uint8_t* signs;
  T* masked_dy;
  FactorPointers factors;

  template <typename Visit>
  __host__ __device__ void visit_pointers(Visit visit) const {
    visit(x), visit(dy), visit(signs), visit(masked_dy);
    factors.visit_pointers(visit);
  }
};

/// Whether forward stored a positive number: it was rounded to T, which may make zero of a tiny one.
template <typename T>
__device__ __forceinline__ bool is_positive_as_stored(float value) {
  return to_float(from_float<T>(value)) > 0;
}

}  // namespace trireme::kernels
