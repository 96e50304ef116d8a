// SPDX-License-Identifier: Apache-2.0
#include "bench/kernel_report/network_report.h"

#include <array>

#include "bench/kernel_report/emulated_network.h"
#include "models/models.h"
#include "src/graph/fusion.h"

namespace trireme::bench {

NetworkReport report_network(const std::string& network, std::int64_t batch) {
  constexpr std::array kFusions = {Fusion::conv_relu, Fusion::batch_norm_relu, Fusion::add_relu};
  ModelOptions options;
  options.image = Shape({224, 224, 3});
  options.num_classes = 1000;
  const Graph graph = fuse(build_model(network, options), kFusions);
  return {network, batch, EmulatedNetwork(graph, batch).run()};
}

}  // namespace trireme::bench
