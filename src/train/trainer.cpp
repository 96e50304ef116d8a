// SPDX-License-Identifier: Apache-2.0
// The training loop. A step is: each micro-batch is loaded, goes forward and backward, and backward announces
// gradients as they become ready, so that the exchange sends them while the rest is computed; the exchange
// then updates the parameters. Beside it each step sends a small record, by which all ranks know the same
// loss and agree to stop. Evaluation, checkpoints and the stop happen between steps.
#include "src/train/trainer.h"

#include <cmath>
#include <utility>

#include "src/exchange/allreduce_exchange.h"
#include "src/exchange/narrow_wire.h"
#include "src/io/atomic_file.h"
#include "src/train/wait_limits.h"

namespace trireme {
namespace {

bool is_narrow(const TrainConfig& config) {
  return wire_type(config.wire) != DType::f32;
}

CommunicatorOptions communicator_options(const TrainConfig& config, const RunSetup& setup,
                                         const FlatLayout& layout, const GpuAccess& gpu) {
  CommunicatorOptions options{config.comm};
  options.gpu = gpu.get();
  if (setup.tuning) options.tuning = setup.tuning->messages;
  options.wire = wire_type(config.wire);
  // What ranks may read from each other: the gradients, or what a narrow wire makes of them.
  options.window_bytes = is_narrow(config) ? narrow_wire_bytes(setup.graph, layout) : layout.bytes();
  return options;
}

BufferSource& gradient_memory(const TrainConfig& config, Communicator& communicator, Device& device) {
  return is_narrow(config) ? static_cast<BufferSource&>(device) : communicator;
}

std::unique_ptr<CommunicatorSum> make_group_sum(const Communication& communication, Stream& stream) {
  if (communication.passes == nullptr) return nullptr;
  return std::make_unique<CommunicatorSum>(*communication.passes, stream);
}

/// Parameters after whose gradient a bucket is complete.
std::vector<ParamId> ends_of_buckets(const FlatLayout& layout, const BucketPlan& plan) {
  std::vector<ParamId> ends;
  for (const BucketPlan::Bucket& bucket : plan.buckets)
    ends.push_back(layout.entries[bucket.last_entry].parameter);
  return ends;
}

BucketPlan bucket_plan(const TrainConfig& config, const RunSetup& setup, const FlatLayout& layout) {
  return {setup.graph, layout, bucket_bytes(config)};
}

/// Null on an fp32 wire.
std::unique_ptr<WirePacker> make_wire_packer(const Compute& compute, const TrainConfig& config,
                                             Device& device) {
  if (!is_narrow(config)) return nullptr;
  if (compute.kind == DeviceKind::cpu) return make_host_wire_packer(wire_type(config.wire));
  return compute.accelerator->make_wire_packer(wire_type(config.wire), device);
}

std::optional<RunTuning> resumed_tuning(const RunSetup& setup) {
  if (!setup.resumed || !setup.resumed->state.tuning) return std::nullopt;
  return parse_run_tuning(*setup.resumed->state.tuning);
}

OptimizerOptions optimizer_options(const TrainConfig& config) {
  OptimizerOptions options;
  options.momentum = config.momentum;
  options.nesterov = config.nesterov;
  options.weight_decay = config.weight_decay;
  options.decay_norm_and_bias = config.decay_norm_and_bias;
  return options;
}

LoaderOptions loader_options(const TrainConfig& config, const CoreBinding& cores, const RunSetup& setup,
                             const BatchPixels& pixels) {
  LoaderOptions options;
  options.pixels = pixels.format;
  options.threads = choose_loader_threads(config.loader_threads, cores.plan());
  options.rows = setup.batches.distinct_rows().front();
  options.limit = data_limit(step_limit(config));
  return options;
}

}  // namespace

Trainer::Trainer(const TrainConfig& config, const World& world, const CoreBinding& cores,
                 const Compute& compute, RunSetup& setup, const StopRequest& stop_request)
    : config_(config),
      world_(world),
      cores_(cores),
      compute_(compute),
      setup_(setup),
      stop_request_(stop_request),
      device_(make_device(compute, cores.plan())),
      stream_(device_->compute_stream()),
      copy_stream_(device_->make_stream()),
      copied_(device_->make_event()),
      train_pixels_(choose_batch_pixels(*device_, setup.train->info(), setup.transform)),
      eval_pixels_(choose_batch_pixels(*device_, (setup.validation ? setup.validation : setup.train)->info(),
                                       for_evaluation(setup.transform))),
      layout_(setup.graph),
      gpu_access_(compute, *device_),
      communication_(communicator_options(config, setup, layout_, gpu_access_), world.all(),
                     startup_limit(config), cores, config.sync_bn, resumed_tuning(setup)),
      group_sum_(make_group_sum(communication_, host_stream_)),
      programs_(setup.graph, layout_, *device_, gradient_memory(config, *communication_.gradients, *device_),
                program_options()),
      wire_packer_(make_wire_packer(compute, config, *device_)),
      optimizer_(make_sgd(compute, setup.graph, layout_, optimizer_options(config), *device_)),
      exchange_(std::make_unique<AllReduceExchange>(
          setup.graph, layout_, bucket_plan(config, setup, layout_), *communication_.gradients, *optimizer_,
          programs_.parameters(), programs_.gradients(), stream_, exchange_options())),
      scalars_(*communication_.scalars),
      sampler_(setup.train->info().num_samples, config.seed, setup.order),
      eval_cadence_(config.eval_every, setup.batches.steps_per_epoch()),
      checkpoint_cadence_(config.checkpoint_every, setup.batches.steps_per_epoch()) {
  communication_.tuning.engines = compute.cuda.engine_choices;
  std::vector<std::string> names;
  for (const Parameter& parameter : setup.graph.parameters()) names.push_back(parameter.name);
  activity().name_layers(std::move(names));
  make_loaders();
  exchange_alone_ = exchange_->measure_alone();
  restore_or_draw_parameters();
}

AllReduceExchangeOptions Trainer::exchange_options() {
  AllReduceExchangeOptions options{config_.clip_norm, config_.nan_guard, wire_type(config_.wire)};
  if (wire_packer_) options.wire_memory = WireMemory{wire_packer_.get(), device_.get()};
  options.skips_overflows = optimizer_->loss_scale().has_value();
  return options;
}

Programs::Options Trainer::program_options() {
  Programs::Options options;
  options.train_rows = setup_.batches.distinct_rows();
  options.eval_rows = setup_.validation ? config_.eval_batch : 0;
  options.seed = config_.seed;
  options.group = group_sum_.get();
  options.train_input = train_pixels_.input;
  options.eval_input = eval_pixels_.input;
  options.recording = {config_.cuda_graph, ends_of_buckets(layout_, bucket_plan(config_, setup_, layout_))};
  return options;
}

void Trainer::make_loaders() {
  const CoreBinding::HelperScope on_helper_cores(cores_);
  const LoaderOptions loading = loader_options(config_, cores_, setup_, train_pixels_);
  loader_ = std::make_unique<Loader>(*setup_.train, sampler_, Transform(setup_.transform), loading,
                                     device_->host_memory());
  if (!setup_.validation) return;
  const Evaluator::Options evaluation{config_.eval_batch,
                                      world_.rank(),
                                      world_.size(),
                                      loading.threads,
                                      data_limit(evaluation_limit(config_)),
                                      eval_pixels_.format};
  evaluator_ = std::make_unique<Evaluator>(*setup_.validation, setup_.transform, evaluation, *device_);
}

Trainer::~Trainer() = default;

Status Trainer::run(Metrics& metrics) {
  metrics_ = &metrics;
  try {
    return train();
  } catch (const Error& error) {
    communication_.thread->give_up(error);
    report_failure(error.status());
    throw;
  }
}

Status Trainer::train() {
  communication_.thread->set_limit(step_limit(config_));
  communication_.thread->keep_flight([path = fmt::format("{}/flight-{}.json", config_.output, world_.rank())](
                                         const std::string& flight) { write_text_atomically(path, flight); });
  if (world_.rank() == 0) store_.emplace(config_.output, static_cast<int>(config_.keep));
  report_start();
  report_exchange();
  const bool missed_evaluation = eval_cadence_.due_at(position_.step) && !known_top1_;
  if (evaluator_ && missed_evaluation) evaluate();
  while (!done()) {
    start_epoch();
    for (const std::int64_t epoch = position_.epoch; position_.epoch == epoch && !done();) {
      const Stopwatch clock;
      const StepTotals totals = train_step();
      account(totals, clock.seconds());
      report_step(totals);
      report_recording();
      if (position_.step_in_epoch == setup_.batches.steps_per_epoch()) finish_epoch();
      act_between_steps(totals);
    }
  }
  const bool evaluates = evaluator_ && config_.eval_every.unit != Interval::Unit::never;
  if (!stopping_ && evaluates && !known_top1_) evaluate();
  save();
  activity().set(Doing::ending);
  const Status status = stopping_ ? Status::stopped : Status::ok;
  report_end(status);
  return status;
}

bool Trainer::done() const {
  return position_.step >= setup_.last_step || stopping_ || target_reached_;
}

/// Begins to prefetch the rest of the epoch, up to the run's last step.
void Trainer::start_epoch() {
  const std::int64_t steps_left = setup_.last_step - position_.step;
  const std::int64_t end = std::min(setup_.batches.steps_per_epoch(), position_.step_in_epoch + steps_left);
  const std::int64_t parts = config_.accumulate;
  loader_->start(static_cast<std::uint32_t>(position_.epoch), position_.step_in_epoch * parts, end * parts,
                 [batches = setup_.batches, parts](std::int64_t index) {
                   const SampleRange range = batches.micro_batch(index / parts, index % parts);
                   return Loader::Request{range, BatchPlan::rows_of(range)};
                 });
}

StepTotals Trainer::train_step() {
  record_ = {};
  for (std::int64_t part = 0; part < config_.accumulate; ++part) compute_gradients(part);
  activity().set(Doing::waiting_for_gradients);
  scalars_.submit(record_, flags(), host_stream_);
  bool gradient_is_finite = true;
  try {
    exchange_->finish_step(setup_.schedule.learning_rate(position_.step));
  } catch (const NonFiniteGradient&) {
    gradient_is_finite = false;
  }
  const StepTotals totals = scalars_.wait(host_stream_);
  if (config_.nan_guard && (!gradient_is_finite || totals.non_finite > 0)) fail_not_finite(totals);
  return totals;
}

void Trainer::compute_gradients(std::int64_t part) {
  scales_.global_samples = setup_.batches.step(position_.step_in_epoch).size();
  scales_.accumulate = part > 0;
  scales_.last_micro_batch = part == config_.accumulate - 1;
  scales_.epoch = static_cast<std::uint32_t>(position_.epoch);
  activity().set(Doing::waiting_for_data, position_.step);
  const Loader::BatchPtr batch = loader_->next();
  activity().set(Doing::forward);
  TRIREME_ASSERT(batch != nullptr, "the loader was started for every batch of the epoch");
  program_ = &programs_.train(batch->images.shape[0]);
  program_->zero_record();
  program_->load(host_batch(*batch), *copy_stream_, *copied_);
  program_->forward(scales_, [this](ParamId p) { exchange_->parameter_needed(p); });
  activity().set(Doing::backward);
  program_->backward(scales_, [this](ParamId p) {
    activity().announce(static_cast<std::size_t>(p));
    exchange_->gradient_ready(p);
  });
  const StepRecord own = program_->read_record();
  record_.loss_sum += own.loss_sum;
  record_.loss_fixed += own.loss_fixed;
  record_.samples += own.samples;
  record_.top1 += own.top1;
  copied_->synchronize();  // the batch goes back to the loader
}

StepFlags Trainer::flags() const {
  const bool has_the_clock = world_.rank() == 0;
  return {stop_request_.pending(), has_the_clock && eval_cadence_.due_by_clock(),
          has_the_clock && checkpoint_cadence_.due_by_clock()};
}

void Trainer::account(const StepTotals& totals, double seconds) {
  ++position_.step;
  activity().set(Doing::training, position_.step);
  ++position_.step_in_epoch;
  position_.samples += totals.samples;
  position_.epoch_samples += totals.samples;
  position_.epoch_loss_sum += totals.loss() * static_cast<double>(totals.samples);
  train_seconds_ += seconds;
  trained_samples_ += totals.samples;
  ++trained_steps_;
  known_top1_.reset();
  best_is_current_ = false;
}

void Trainer::finish_epoch() {
  const Rates epoch_rates = rates() - at_epoch_start_;
  at_epoch_start_ = rates();
  EpochReport report{position_.epoch + 1,
                     position_.step,
                     position_.epoch_loss_sum / static_cast<double>(position_.epoch_samples),
                     epoch_rates.seconds,
                     epoch_rates.images_per_second(),
                     epoch_rates.data_wait_share(),
                     epoch_rates.comm_wait_share(),
                     epoch_rates.comm_hidden_share(exchange_alone_)};
  if (const std::optional<LossScale> scale = optimizer_->loss_scale()) {
    report.skipped_steps = scale->skipped - std::exchange(skipped_at_epoch_start_, scale->skipped);
    report.loss_scale = static_cast<double>(scale->scale);
  }
  metrics_->epoch(report);
  constexpr double kMuchWaiting = 0.2;
  if (epoch_rates.data_wait_share() > kMuchWaiting)
    metrics_->warning(
        fmt::format("{:.0f} % of the epoch's time went by waiting for data: --preload, more "
                    "--loader-threads or smaller pictures in the packed file would help",
                    100 * epoch_rates.data_wait_share()));
  ++position_.epoch;
  position_.step_in_epoch = 0;
  position_.epoch_loss_sum = 0;
  position_.epoch_samples = 0;
}

/// What all ranks have agreed on or know from the step's number. A stop comes first: saving must fit into the
/// time that is left, and an evaluation that was due is made up for after resuming.
void Trainer::act_between_steps(const StepTotals& totals) {
  stopping_ = totals.stop;
  if (stopping_) return;
  const bool evaluates = evaluator_ && (eval_cadence_.due_at(position_.step) || totals.eval_due);
  if (evaluates) evaluate();
  if (stopping_) return;
  const bool keeps_best = best_is_current_ && config_.checkpoint_every.unit != Interval::Unit::never;
  if (checkpoint_cadence_.due_at(position_.step) || totals.checkpoint_due || keeps_best) save();
}

}  // namespace trireme
