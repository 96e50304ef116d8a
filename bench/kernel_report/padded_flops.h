// SPDX-License-Identifier: Apache-2.0
// Flops of matrix products as they run: whole tiles, of which edges are padding.
#pragma once

#include "kernels/conv2d/conv2d.h"

namespace trireme::bench {

double padded_forward_flops(const kernels::Conv2dShape& shape, kernels::TileShape tile);
/// The phases of a strided convolution are products of their own.
double padded_backward_data_flops(const kernels::Conv2dShape& shape, kernels::TileShape tile);
/// Parts along k begin and end with whole steps, so their number changes nothing.
double padded_backward_weights_flops(const kernels::Conv2dShape& shape, kernels::TileShape tile);

}  // namespace trireme::bench
