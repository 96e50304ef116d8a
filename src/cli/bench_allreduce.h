// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "src/cli/bench_rounds.h"
#include "src/train/setting.h"

namespace trireme {

/// What `trireme bench allreduce` is asked for.
struct AllReduceBenchConfig {
  std::int64_t begin_bytes = 0, end_bytes = 0;  ///< end 0: as far as the nodes' memory allows
  std::int64_t factor = 0;
  BenchRounds rounds;
  std::vector<std::string> communicators;  ///< none: all that can be used
  double timeout_seconds = 0;
  bool json = false;
};

/// Its settings.
const std::vector<SettingOf<AllReduceBenchConfig>>& allreduce_bench_settings();
/// Reads its command line; status 64 if it is wrong.
AllReduceBenchConfig read_allreduce_bench(const std::vector<std::string>& arguments);

}  // namespace trireme
