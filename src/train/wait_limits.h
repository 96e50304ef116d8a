// SPDX-License-Identifier: Apache-2.0
// How long each part of a run may wait for other ranks or for data, by its settings.
#pragma once

#include <algorithm>

#include "data/loader.h"
#include "src/comm/comm_thread.h"
#include "src/train/config.h"

namespace trireme {

inline WaitLimit step_limit(const TrainConfig& config) {
  return {std::chrono::duration<double>(config.timeout_seconds), "--timeout"};
}
inline WaitLimit evaluation_limit(const TrainConfig& config) {
  return {std::chrono::duration<double>(config.evaluation_timeout_seconds), "--evaluation-timeout"};
}
inline WaitLimit saving_limit(const TrainConfig& config) {
  return {std::chrono::duration<double>(config.saving_timeout_seconds), "--saving-timeout"};
}
/// Before the first step, or before an evaluation of its own.
template <typename Config>
WaitLimit startup_limit(const Config& config) {
  return {std::chrono::duration<double>(config.startup_timeout_seconds), "--startup-timeout"};
}
/// For the data to be opened everywhere, which with --preload means copied.
template <typename Config>
std::chrono::duration<double> opening_timeout(const Config& config) {
  const double copying = config.preload == "none" ? 0 : config.staging_timeout_seconds;
  return std::chrono::duration<double>(std::max(config.startup_timeout_seconds, copying));
}

/// The same limit for a loader.
inline DataLimit data_limit(const WaitLimit& limit) {
  return {limit.timeout, limit.setting};
}

}  // namespace trireme
