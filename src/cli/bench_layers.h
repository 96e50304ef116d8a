// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "src/train/setting.h"

namespace trireme {

/// What `trireme bench layers` is asked for.
struct LayersBenchConfig {
  std::string model;
  std::string only;  ///< part of the names of layers; empty: all
  std::int64_t batch = 0, image_size = 0, classes = 0;
  std::string device, precision;
  double seconds = 0;  ///< for each pass
  double peak_teraflops = 0, bandwidth_gigabytes = 0;
  int threads = 0;
  std::string json;  ///< a file; empty: none
};

/// Its settings.
const std::vector<SettingOf<LayersBenchConfig>>& layers_bench_settings();
/// Reads its command line; status 64 if it is wrong.
LayersBenchConfig read_layers_bench(const std::vector<std::string>& arguments);

}  // namespace trireme
