// SPDX-License-Identifier: Apache-2.0
#include "bench/kernel_report/emulated_network.h"
namespace trireme::bench {
void EmulatedNetwork::forward_linear(const Node& node, const LinearOp& op) {
  forward_convolution(node, Conv2dOp{op.out_features, 1, 1, 1, 1, 0, 0, op.bias, false});
}
void EmulatedNetwork::backward_linear(const Node& node, const LinearOp& op) {
  backward_convolution(node, Conv2dOp{op.out_features, 1, 1, 1, 1, 0, 0, op.bias, false});
}
}  // namespace trireme::bench
