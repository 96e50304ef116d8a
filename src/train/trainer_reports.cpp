// SPDX-License-Identifier: Apache-2.0
// What a run tells people and its log.
#include <fmt/ranges.h>

#include <cmath>
#include <filesystem>

#include "src/io/atomic_file.h"
#include "src/train/device_names.h"
#include "src/train/trainer.h"

namespace trireme {

Rates Trainer::rates() const {
  const double sum_wait = group_sum_ ? group_sum_->wait_seconds() : 0;
  const double exchange_wait = exchange_->wait_seconds();
  return {train_seconds_, loader_->wait_seconds(), exchange_wait + scalars_.wait_seconds() + sum_wait,
          exchange_wait,  trained_samples_,        trained_steps_};
}

namespace {

/// The settings that are not the defaults, as on the command line.
std::string changed_settings(const TrainConfig& config) {
  const TrainConfig defaults = default_train_config();
  std::string text;
  for (const Setting& setting : train_settings())
    if (setting.get(config) != setting.get(defaults))
      text += fmt::format(" {}={}", setting.name, setting.get(config));
  return text;
}

Json accelerator_json(const AcceleratorFacts& facts) {
  if (facts.gpus.empty()) return nullptr;
  return {{"driver", facts.driver},
          {"runtime", facts.runtime},
          {"cudnn", facts.cudnn},
          {"nccl", facts.nccl},
          {"emulated", facts.is_emulated}};
}

}  // namespace

std::vector<std::string> Trainer::devices() const {
  return compute_.gpus.empty() ? std::vector{device_->description()} : compute_.gpus;
}

void Trainer::report_start() {
  const DatasetInfo& info = setup_.train->info();
  const BatchPlan& batches = setup_.batches;
  metrics_->say(fmt::format("device: {}", fmt::join(devices(), ", ")));
  metrics_->say(fmt::format("settings:{} (all: config.ini)", changed_settings(config_)));
  metrics_->say(fmt::format("{}: {} parameters, {} classes, {}x{}x{}", config_.model,
                            setup_.graph.num_trainable(), info.num_classes(), setup_.image_size,
                            setup_.image_size, info.channels()));
  metrics_->say(fmt::format("{} training samples ({}), {} steps of {} per epoch, augmentation {}",
                            info.num_samples, info.name, batches.steps_per_epoch(), batches.global_batch,
                            augment_name(setup_.transform.augment)));
  if (batches.dropped_samples() > 0)
    metrics_->say(
        fmt::format("the last {} samples of each epoch's order, less than a batch, are dropped (--last-batch "
                    "keep trains on them)",
                    batches.dropped_samples()));
  if (!setup_.validation) metrics_->say("no --val: nothing is evaluated");
  if (position_.step > 0)
    metrics_->say(fmt::format("resumed from {} at step {}", saved_path_, position_.step));
  if (!setup_.settings_changed.empty())
    metrics_->say("resumed with other settings than saved: " + setup_.settings_changed);
  if (!setup_.residuals_on_resume.empty()) metrics_->say(setup_.residuals_on_resume);
  if (position_.step == 0 && config_.resume == "auto")
    metrics_->say("--resume auto: no checkpoint yet, the run begins");
  if (const TimeLimit& limit = stop_request_.limit(); limit.seconds > 0)
    metrics_->say(
        fmt::format("stops by itself after {} ({})", duration_for_people(limit.seconds), limit.decided_by));
  if (compute_.kind == DeviceKind::cuda && parse_engine(config_.engine) == Engine::automatic &&
      !compute_.facts.has_cudnn)
    metrics_->say(
        fmt::format("--engine auto: our kernels compute all convolutions, since {}", compute_.facts.cudnn));
  if (config_.memory_report) metrics_->say(programs_.memory_report());

  Json settings = Json::object();
  for (const Setting& setting : train_settings()) settings[setting.name] = setting.get(config_);
  metrics_->start({{"settings", settings},
                   {"ranks", world_.size()},
                   {"hosts", setup_.hosts},
                   {"devices", devices()},
                   {"precision", precision_name(compute_.cuda.precision)},
                   {"accelerator", accelerator_json(compute_.facts)},
                   {"comm", communication_.gradients->name()},
                   {"exchange_alone_seconds", exchange_alone_},
                   {"threads", cores_.plan().threads},
                   {"parameters", setup_.graph.num_trainable()},
                   {"steps_per_epoch", batches.steps_per_epoch()},
                   {"global_batch", batches.global_batch},
                   {"resumed_step", position_.step}});
}

/// Once, after the first steps: whether they are recorded.
void Trainer::report_recording() {
  if (told_recording_ || !config_.cuda_graph) return;
  const std::string obstacle = programs_.recording_obstacle();
  if (obstacle.empty()) return;
  told_recording_ = true;
  metrics_->warning(
      fmt::format("--cuda-graph cannot be used: {}; steps are started kernel by kernel", obstacle));
}

/// What sums the gradients, and the choices that were measured for it.
void Trainer::report_exchange() {
  if (world_.rank() == 0 && (world_.size() > 1 || !communication_.tuning.engines.empty()))
    write_text_atomically((std::filesystem::path(config_.output) / "tuning.json").string(),
                          run_tuning_text(communication_.tuning) + "\n");
  if (world_.size() == 1) return;
  const CommunicatorChoice& choice = communication_.choice;
  if (!choice.obstacle.empty())
    metrics_->warning(fmt::format("--comm {} cannot be used: {}; the gradients go by {}", config_.comm,
                                  choice.obstacle, choice.kind));
  const std::string alone =
      exchange_alone_ > 0 ? fmt::format("; one exchange alone takes {:.3g} ms", 1e3 * exchange_alone_) : "";
  metrics_->say(fmt::format("gradients of {:.1f} MiB: {}{}", static_cast<double>(layout_.bytes()) / 0x1p20,
                            communication_.gradients->description(), alone));
}

void Trainer::report_step(const StepTotals& totals) {
  constexpr double kProgressSeconds = 0.2;
  const bool logs = position_.step % config_.log_every == 0;
  const bool moves = progress_clock_.seconds() >= kProgressSeconds;
  if (!logs && !moves) return;
  const Rates since = rates() - at_last_report_;
  const double steps_left = static_cast<double>(setup_.last_step - position_.step);
  const Rates whole = rates();
  const double seconds_per_image = whole.samples > 0 ? whole.seconds / static_cast<double>(whole.samples) : 0;
  const StepReport report{position_.step,
                          position_.epoch + 1,
                          position_.step_in_epoch,
                          totals.loss(),
                          setup_.schedule.learning_rate(position_.step - 1),
                          since.images_per_second(),
                          steps_left * seconds_per_image * static_cast<double>(setup_.batches.global_batch)};
  if (moves) {
    metrics_->progress(report);
    progress_clock_.restart();
  }
  if (!logs) return;
  metrics_->step(report);
  at_last_report_ = rates();
}

void Trainer::report_end(Status status) {
  if (target_reached_)
    metrics_->say(
        fmt::format("--target-accuracy {} reached at step {}", config_.target_accuracy, position_.step));
  if (status == Status::stopped) {
    const std::string reason = stop_request_.reason();
    metrics_->say(fmt::format("stopped after step {} ({}), the state is saved; --resume auto goes on",
                              position_.step, reason.empty() ? "asked for on another rank" : reason));
  }
  if (known_top1_)
    metrics_->say(fmt::format("test accuracy {:.2f} % (top1={:.4f}), best {:.2f} %", 100 * *known_top1_,
                              *known_top1_, 100 * best_top1_.value_or(*known_top1_)));
  metrics_->say(fmt::format("run folder {}: log.jsonl, config.ini, {}", config_.output,
                            std::filesystem::path(saved_path_).lexically_relative(config_.output).string()));
  metrics_->end(status, position_.step, run_clock_.seconds());
}

void Trainer::report_failure(Status status) noexcept {
  try {
    metrics_->end(status, position_.step, run_clock_.seconds());
  } catch (...) {  // what ended the run matters more than a log that cannot be written
  }
}

}  // namespace trireme
