// SPDX-License-Identifier: Apache-2.0
// Linear layers of an emulated network: their products are those of convolutions over one pixel, and so are
// the counts.
#include "bench/kernel_report/emulated_network.h"

namespace trireme::bench {
namespace {

Conv2dOp as_convolution(const LinearOp& op) {
  Conv2dOp convolution;
  convolution.out_channels = op.out_features;
  convolution.kernel_h = convolution.kernel_w = 1;
  convolution.bias = op.bias;
  return convolution;
}

}  // namespace

void EmulatedNetwork::forward_linear(const Node& node, const LinearOp& op) {
  forward_convolution(node, as_convolution(op));
}

void EmulatedNetwork::backward_linear(const Node& node, const LinearOp& op) {
  backward_convolution(node, as_convolution(op));
}

}  // namespace trireme::bench
