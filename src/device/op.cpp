// SPDX-License-Identifier: Apache-2.0
#include "src/device/op.h"

#include <array>

namespace trireme {

std::string_view op_name(const OpAttributes& op) {
  static constexpr std::array<std::string_view, std::variant_size_v<OpAttributes>> kNames = {
      "input",
      "conv2d",
      "batch_norm",
      "relu",
      "max_pool",
      "adaptive_avg_pool",
      "linear",
      "dropout",
      "add",
      "flatten",
      "softmax_cross_entropy"};
  return kNames[op.index()];
}

}  // namespace trireme
