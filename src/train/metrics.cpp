// SPDX-License-Identifier: Apache-2.0
#include "src/train/metrics.h"

#include <fmt/format.h>

#include <cmath>
#include <utility>

#include "src/core/log.h"

namespace trireme {

std::string Metrics::rate_text(double images_per_second) const {
  return fmt::format("images/s={:.0f}{}", images_per_second, synthetic_ ? " (synthetic)" : "");
}

std::string Metrics::step_text(const StepReport& r) const {
  return fmt::format("epoch {} step {}/{} loss={:.4f} lr={:.4f} {}", r.epoch, r.step_in_epoch,
                     steps_per_epoch_, r.loss, r.learning_rate, rate_text(r.images_per_second));
}

void Metrics::log(std::string_view event, Json members) {
  if (log_ == nullptr) return;
  if (synthetic_ && members.contains("images_per_second")) members["synthetic"] = true;
  log_->write(event, members);
}

void Metrics::say(std::string_view text) {
  if (console_ != nullptr) console_->line(text);
}

void Metrics::start(const Json& members) {
  log("start", members);
}

void Metrics::step(const StepReport& r) {
  if (console_ != nullptr && !console_->is_terminal()) say(step_text(r));
  log("step", {{"step", r.step},
               {"epoch", r.epoch},
               {"loss", r.loss},
               {"lr", r.learning_rate},
               {"images_per_second", r.images_per_second}});
}

void Metrics::progress(const StepReport& r) {
  if (console_ != nullptr && console_->is_terminal())
    console_->progress(fmt::format("{}, {} left", step_text(r), duration_for_people(r.seconds_left)));
}

void Metrics::epoch(const EpochReport& r) {
  const std::string hidden = std::isfinite(r.comm_hidden_share)
                                 ? fmt::format(" comm_hidden={:.0f}%", 100 * r.comm_hidden_share)
                                 : "";
  const std::string skipped =
      r.skipped_steps ? fmt::format(" skipped_steps={} loss_scale={:g}", *r.skipped_steps, r.loss_scale) : "";
  say(fmt::format("epoch {} train_loss={:.4f} {} data_wait={:.1f}% comm_wait={:.1f}%{}{} ({})", r.epoch,
                  r.train_loss, rate_text(r.images_per_second), 100 * r.data_wait_share,
                  100 * r.comm_wait_share, hidden, skipped, duration_for_people(r.seconds)));
  Json members{{"epoch", r.epoch},
               {"step", r.step},
               {"train_loss", r.train_loss},
               {"images_per_second", r.images_per_second},
               {"data_wait_share", r.data_wait_share},
               {"comm_wait_share", r.comm_wait_share},
               {"comm_hidden_share", r.comm_hidden_share},
               {"seconds", r.seconds}};
  if (r.skipped_steps) {
    members["skipped_steps"] = *r.skipped_steps;
    members["loss_scale"] = r.loss_scale;
  }
  log("epoch", std::move(members));
}

void Metrics::eval(std::int64_t epoch, std::int64_t step, const EvalResult& result) {
  say(fmt::format("epoch {} eval {}", epoch, result.text()));
  Json members{{"epoch", epoch}, {"step", step}};
  members.update(result.json());
  log("eval", std::move(members));
}

void Metrics::checkpoint(std::int64_t step, const std::string& path, double seconds, bool is_best) {
  log("checkpoint", {{"step", step}, {"path", path}, {"seconds", seconds}, {"best", is_best}});
}

void Metrics::warning(const std::string& text) {
  if (console_ == nullptr) return;
  log::warn("{}", text);
  log("warning", {{"message", text}});
}

void Metrics::end(Status status, std::int64_t step, double seconds) {
  log("end", {{"status", static_cast<int>(status)}, {"step", step}, {"seconds", seconds}});
}

}  // namespace trireme
