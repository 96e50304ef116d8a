// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

#include "src/comm/comm_tuning.h"

namespace trireme {

/// The choices of a run that came from measuring. They are kept in the run folder, for people, and in each
/// checkpoint, so that a resumed run computes the same bits.
struct RunTuning {
  std::string comm;      ///< the communicator of the gradients
  std::string topology;  ///< NodeTopology::text of the ranks that measured
  CommTuning messages;
  std::string engines;  ///< of convolutions, as CudaDeviceOptions::engine_choices; empty without any

  friend bool operator==(const RunTuning&, const RunTuning&) = default;
};

/// A JSON object, as in tuning.json.
std::string run_tuning_text(const RunTuning& tuning);
/// Error (65) on anything that is not such an object.
RunTuning parse_run_tuning(std::string_view text);
/// 66 if there is no such file, 65 if it holds something else.
RunTuning read_run_tuning(const std::string& path);

}  // namespace trireme
