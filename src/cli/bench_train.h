// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "src/comm/world.h"
#include "src/train/setting.h"

namespace trireme {

/// What `trireme bench train` is asked for.
struct TrainBenchConfig {
  std::string model;
  std::int64_t batch = 0, image_size = 0, classes = 0, steps = 0, warm_up = 0;
  std::string device, precision, engine;
  bool cuda_graph = false, with_loader = false;
  int threads = 0, loader_threads = 0;
  std::string json;  ///< a file; empty: none
};

/// Its settings.
const std::vector<SettingOf<TrainBenchConfig>>& train_bench_settings();
/// Reads its command line; status 64 if it is wrong.
TrainBenchConfig read_train_bench(const std::vector<std::string>& arguments);

}  // namespace trireme
