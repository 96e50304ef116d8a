// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "src/core/error.h"
#include "src/train/console.h"
#include "src/train/eval_result.h"
#include "src/train/json_log.h"

namespace trireme {

/// One finished training step as the log shows it.
struct StepReport {
  std::int64_t step = 0;           ///< finished steps of the run
  std::int64_t epoch = 0;          ///< from 1
  std::int64_t step_in_epoch = 0;  ///< finished ones
  double loss = 0, learning_rate = 0, images_per_second = 0;
  double seconds_left = 0;  ///< of the whole run, training only
};

struct EpochReport {
  std::int64_t epoch = 0, step = 0;  ///< epoch from 1
  double train_loss = 0, seconds = 0, images_per_second = 0;
  double data_wait_share = 0, comm_wait_share = 0;  ///< of the seconds
  double comm_hidden_share = 0;                     ///< Rates::comm_hidden_share; NaN without communication
  std::optional<std::int64_t> skipped_steps = {};   ///< of the epoch, where the loss is scaled
  double loss_scale = 1;                            ///< at its end
};

/// Tells people and machines how a run goes: lines on the console and objects in log.jsonl. Rank 0 has one;
/// the other ranks have one without outputs, which is silent.
class Metrics {
 public:
  /// Null outputs: silent. `synthetic` marks every rate, so that nobody takes it for one of real data.
  Metrics(Console* console, JsonLog* log, bool synthetic, std::int64_t steps_per_epoch)
      : console_(console), log_(log), synthetic_(synthetic), steps_per_epoch_(steps_per_epoch) {}

  void start(const Json& members);
  /// Every --log-every steps.
  void step(const StepReport& report);
  /// Every step: moves the progress line of a terminal.
  void progress(const StepReport& report);
  void epoch(const EpochReport& report);
  void eval(std::int64_t epoch, std::int64_t step, const EvalResult& result);
  void checkpoint(std::int64_t step, const std::string& path, double seconds, bool is_best);
  void warning(const std::string& text);
  void end(Status status, std::int64_t step, double seconds);
  /// A line for people only.
  void say(std::string_view text);

 private:
  std::string rate_text(double images_per_second) const;
  void log(std::string_view event, Json members);
  std::string step_text(const StepReport& report) const;

  Console* console_;
  JsonLog* log_;
  bool synthetic_;
  std::int64_t steps_per_epoch_;
};

}  // namespace trireme
