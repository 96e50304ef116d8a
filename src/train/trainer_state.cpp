// SPDX-License-Identifier: Apache-2.0
// What happens to the state of a run between steps: restored, evaluated, saved, compared over the ranks.
#include <algorithm>
#include <array>

#include "src/comm/scalar_record.h"
#include "src/core/hash.h"
#include "src/graph/initialize.h"
#include "src/train/model_state.h"
#include "src/train/trainer.h"
#include "src/train/wait_limits.h"

namespace trireme {

void Trainer::restore_or_draw_parameters() {
  position_.seed = config_.seed;
  position_.global_batch = setup_.batches.global_batch;
  if (setup_.resumed) {
    const Checkpoint& saved = setup_.resumed->state;
    position_ = saved.position;
    known_top1_ = saved.top1;
    best_top1_ = saved.best_top1;
    saved_step_ = config_.resume == "auto" ? position_.step : -1;  // elsewhere: not in this run's folder yet
    saved_path_ = setup_.resumed->path;
  }
  if (world_.rank() == 0) {
    std::vector<float> flat(layout_.elements);
    const Tensor host = row_of(flat.data(), std::ssize(flat));
    const auto upload = [&](float* values) { device_->copy(row_of(values, host.count()), host, stream_); };
    if (setup_.resumed) {
      const auto& [path, saved] = *setup_.resumed;
      fill_flat(setup_.graph, layout_, saved.parameters, true, path, flat.data());
      upload(programs_.parameters());
      for (const OptimizerState& state : optimizer_->state()) {
        const auto found = saved.optimizer_state.find(state.name);
        if (found == saved.optimizer_state.end())
          throw make_error(Status::configuration, "the checkpoint has no optimizer state '{}'", state.name)
              .at(path);
        std::fill(flat.begin(), flat.end(), 0.0F);
        fill_flat(setup_.graph, layout_, found->second, false, path, flat.data());
        upload(state.values);
      }
    } else {
      initialize_parameters(setup_.graph, layout_, config_.seed, flat.data());
      upload(programs_.parameters());
    }
    stream_.synchronize();
  }
  if (setup_.resumed) restore_residuals();
  optimizer_->set_loss_scale({static_cast<float>(config_.loss_scale), 0, 0});
  if (setup_.resumed && setup_.resumed->state.loss_scale) {
    const Checkpoint& saved = setup_.resumed->state;
    optimizer_->set_loss_scale({static_cast<float>(*saved.loss_scale),
                                static_cast<std::int32_t>(saved.loss_scale_good_steps.value_or(0)),
                                saved.skipped_steps.value_or(0)});
    skipped_at_epoch_start_ = saved.skipped_steps.value_or(0);
  }
  setup_.resumed.reset();
  broadcast_parameters();
}

void Trainer::broadcast_parameters() {
  Communicator& communicator = *communication_.gradients;
  const auto count = static_cast<std::int64_t>(layout_.elements);
  std::vector<float*> buffers{programs_.parameters()};
  for (const OptimizerState& state : optimizer_->state()) buffers.push_back(state.values);
  for (float* values : buffers)
    communicator.wait(communicator.broadcast(row_of(values, count), 0, stream_, "rank 0's parameters"),
                      stream_);
}

void Trainer::check_parameters_are_equal() {
  exchange_->settle();
  std::vector<float> flat(layout_.elements);
  const Tensor host = row_of(flat.data(), std::ssize(flat));
  device_->copy(host, row_of(programs_.parameters(), host.count()), stream_);
  stream_.synchronize();
  check_equal_over_ranks(*communication_.scalars, host_stream_, xxh3(flat.data(), host.bytes()),
                         fmt::format("parameters after step {}", position_.step));
}

/// An evaluation that a stop request broke off counts as not begun, and the run stops: the resumed run makes
/// it up.
void Trainer::evaluate() {
  const WaitLimitScope limit(*communication_.thread, evaluation_limit(config_));
  const ActivityScope doing(activity(), Doing::evaluating);
  check_parameters_are_equal();
  const EvalResult result = evaluator_->run(programs_.eval(), *copy_stream_, *communication_.scalars,
                                            [this] { return stop_request_.pending(); });
  if (result.incomplete > 0) {
    stopping_ = true;
    return;
  }
  known_top1_ = result.top1();
  if (!best_top1_ || *known_top1_ > *best_top1_) {
    best_top1_ = known_top1_;
    best_is_current_ = true;
    best_is_saved_ = false;
  }
  // After an epoch's last step the position is the next epoch's first step.
  const bool between_epochs = position_.step_in_epoch == 0 && position_.step > 0;
  metrics_->eval(position_.epoch + (between_epochs ? 0 : 1), position_.step, result);
  target_reached_ = config_.target_accuracy > 0 && *known_top1_ >= config_.target_accuracy;
  eval_cadence_.restart_clock();
}

/// Flat values of the device by name.
std::vector<NamedTensor> Trainer::named(const float* values, bool statistics) {
  std::vector<float> flat(layout_.elements);
  const Tensor host = row_of(flat.data(), std::ssize(flat));
  device_->copy(host, row_of(const_cast<float*>(values), host.count()), stream_);
  stream_.synchronize();
  return named_tensors(setup_.graph, layout_, flat.data(), statistics);
}

Checkpoint Trainer::state() {
  Checkpoint state;
  state.position = position_;
  state.parameters = named(programs_.parameters(), true);
  for (const OptimizerState& optimizer : optimizer_->state())
    state.optimizer_state[optimizer.name] = named(optimizer.values, false);
  if (!exchange_->residual().empty()) state.residual_ranks = world_.size();
  const DatasetInfo& info = setup_.train->info();
  state.graph_text = setup_.graph.text();
  state.model_name = config_.model;
  state.config_text = config_text(config_);
  state.class_names = info.class_names;
  state.channel_mean = info.channel_mean;
  state.channel_std = info.channel_std;
  state.image_size = setup_.image_size;
  state.channels = info.channels();
  state.crop_ratio = setup_.transform.crop_ratio;
  state.best_top1 = best_top1_;
  state.top1 = known_top1_;
  state.dataset_fingerprint = info.fingerprint;
  if (const std::optional<LossScale> scale = optimizer_->loss_scale()) {
    state.loss_scale = static_cast<double>(scale->scale);
    state.loss_scale_good_steps = scale->good_steps;
    state.skipped_steps = scale->skipped;
  }
  if (world_.size() > 1 || !communication_.tuning.engines.empty())
    state.tuning = run_tuning_text(communication_.tuning);
  return state;
}

void Trainer::save() {
  const bool has_new_best = best_is_current_ && !best_is_saved_;
  if (saved_step_ == position_.step && !has_new_best) return;
  const WaitLimitScope limit(*communication_.thread, saving_limit(config_));
  const ActivityScope doing(activity(), Doing::saving);
  check_parameters_are_equal();
  if (store_) {
    const Stopwatch clock;
    const auto residual_of = [this](std::int64_t rank) {
      return named(gather_residual(static_cast<int>(rank)), false);
    };
    saved_path_ = store_->save(state(), best_is_current_, residual_of);
    metrics_->checkpoint(position_.step, saved_path_, clock.seconds(), best_is_current_);
  } else if (!exchange_->residual().empty()) {
    for (int rank = 0; rank < world_.size(); ++rank) gather_residual(rank);
  }
  wait_for_all_ranks(*communication_.scalars, host_stream_, "rank 0 to have written the checkpoint");
  saved_step_ = position_.step;
  best_is_saved_ = best_is_current_;
  checkpoint_cadence_.restart_clock();
}

/// Only the rank whose own loss is not finite can find the layer where it began; where there is none, the
/// first rank that finds anything speaks.
void Trainer::fail_not_finite(const StepTotals& totals) {
  const bool own_loss = !std::isfinite(record_.loss_sum);
  const std::string found = program_->find_non_finite(scales_).value_or("");
  const std::uint64_t certainty = (own_loss ? 2U : 0U) + (found.empty() ? 0U : 1U);
  Communicator& communicator = *communication_.scalars;
  const std::vector<std::uint64_t> all =
      allgather_u64(communicator, host_stream_, certainty, "who met a value that is not finite");
  const auto speaker = static_cast<int>(std::max_element(all.begin(), all.end()) - all.begin());
  const std::string place =
      broadcast_short_text(communicator, host_stream_, found, speaker, "where a value is not finite");
  const bool wire_overflow = totals.non_finite == 0 && config_.wire == "fp16";
  throw make_error(Status::configuration, "{} is not finite at step {}{}",
                   totals.non_finite > 0 ? "loss" : "gradient", position_.step + 1,
                   place.empty() ? "" : ": first non-finite value in " + place)
      .at(fmt::format("rank {} on {}", speaker, setup_.hosts[static_cast<std::size_t>(speaker)]))
      .hint(fmt::format(
          "{}a lower --lr, --warmup-epochs or --clip-norm often helps; --resume auto goes back to "
          "the last checkpoint",
          wire_overflow ? "--wire fp16 ends at 65504, bf16 reaches as far as fp32; " : ""));
}

}  // namespace trireme
