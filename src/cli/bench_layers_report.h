// SPDX-License-Identifier: Apache-2.0
// The table of `trireme bench layers` and its JSON form.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "src/cli/bench_layers_list.h"
#include "src/train/json_log.h"

namespace trireme {

/// What a card can do at most.
struct Ceilings {
  double flops_per_second = 0, bytes_per_second = 0;
  /// Seconds that a pass takes at least.
  double seconds(double flops, double bytes) const;
};

/// One pass of one layer.
struct LayerRow {
  BenchLayer layer;
  std::string pass;  ///< "forward", "backward data", "backward weights"
  double flops = 0, bytes = 0;
  std::optional<double> native, cudnn;  ///< seconds, where it was measured
  std::string wrong;                    ///< what the comparison found; empty: nothing
};

struct LayersReport {
  std::string model, device, precision;
  std::int64_t batch = 0;
  Ceilings ceilings;
  std::string cudnn_note;  ///< its version, or why it is not there
  std::vector<LayerRow> rows;
};

std::string layers_heading(const LayersReport& report);
std::string layers_row(const LayerRow& row, const Ceilings& ceilings);
/// All layers of the network together, each as often as it is there.
std::string layers_footing(const LayersReport& report);
Json layers_json(const LayersReport& report);

}  // namespace trireme
