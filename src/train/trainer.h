// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "data/loader.h"
#include "src/comm/communicator_sum.h"
#include "src/comm/world.h"
#include "src/device/inline_stream.h"
#include "src/exchange/allreduce_exchange.h"
#include "src/optim/optimizer.h"
#include "src/train/batch_pixels.h"
#include "src/train/cadence.h"
#include "src/train/communication.h"
#include "src/train/core_binding.h"
#include "src/train/evaluator.h"
#include "src/train/metrics.h"
#include "src/train/programs.h"
#include "src/train/rates.h"
#include "src/train/run_setup.h"
#include "src/train/step_scalars.h"
#include "src/train/stop_request.h"

namespace trireme {

/// One training run on one rank: memory, programs and threads of a RunSetup, and the loop over them.
/// Collective: every rank makes one and runs it.
class Trainer {
 public:
  /// All references must outlive it. `setup.resumed` is used up.
  Trainer(const TrainConfig& config, const World& world, const CoreBinding& cores, const Compute& compute,
          RunSetup& setup, const StopRequest& stop_request);
  ~Trainer();

  /// Trains to the end, or until all ranks have agreed to stop and the state is saved. The run folder must be
  /// there.
  /// An Error is logged as the run's end before it goes on.
  Status run(Metrics& metrics);

 private:
  // trainer.cpp: the loop
  Status train();
  Activity& activity() { return communication_.thread->activity(); }
  Programs::Options program_options();
  AllReduceExchangeOptions exchange_options();
  void make_loaders();
  void start_epoch();
  StepTotals train_step();
  void compute_gradients(std::int64_t part);
  void account(const StepTotals& totals, double seconds);
  void finish_epoch();
  void act_between_steps(const StepTotals& totals);
  bool done() const;
  StepFlags flags() const;
  // trainer_reports.cpp: what the log is told
  void report_start();
  std::vector<std::string> devices() const;
  void report_exchange();
  void report_recording();
  void report_step(const StepTotals& totals);
  void report_end(Status status);
  void report_failure(Status status) noexcept;
  Rates rates() const;
  // trainer_state.cpp: evaluation, checkpoints, and faults
  void restore_or_draw_parameters();
  void evaluate();
  void save();
  void check_parameters_are_equal();
  Checkpoint state();
  std::vector<NamedTensor> named(const float* values, bool statistics);
  void broadcast_parameters();
  [[noreturn]] void fail_not_finite(const StepTotals& totals);
  // trainer_residuals.cpp: what compression owes, between ranks and checkpoints
  void restore_residuals();
  void fill_residual(const std::string& path, std::int64_t saved_rank, float* values);
  float* gather_residual(int rank);
  void add_to(float* values, float* more);

  const TrainConfig& config_;
  const World& world_;
  const CoreBinding& cores_;
  const Compute& compute_;
  RunSetup& setup_;
  const StopRequest& stop_request_;
  Metrics* metrics_ = nullptr;

  std::unique_ptr<Device> device_;
  Stream& stream_;            ///< the device's, of all that is computed
  InlineStream host_stream_;  ///< of collectives over host memory
  std::unique_ptr<Stream> copy_stream_;
  std::unique_ptr<Event> copied_;
  BatchPixels train_pixels_, eval_pixels_;
  FlatLayout layout_;
  GpuAccess gpu_access_;
  Communication communication_;
  std::unique_ptr<CommunicatorSum> group_sum_;  ///< null without --sync-bn and on one rank
  Programs programs_;
  std::unique_ptr<WirePacker> wire_packer_;  ///< null on an fp32 wire
  std::unique_ptr<Optimizer> optimizer_;
  std::unique_ptr<GradientExchange> exchange_;
  StepScalars scalars_;
  Sampler sampler_;
  std::unique_ptr<Loader> loader_;
  std::unique_ptr<Evaluator> evaluator_;  ///< null without --val
  std::optional<CheckpointStore> store_;  ///< rank 0 only

  TrainingPosition position_;
  Program* program_ = nullptr;  ///< of the last micro-batch
  StepScales scales_;
  StepRecord record_;  ///< of this rank's micro-batches of the step
  Cadence eval_cadence_, checkpoint_cadence_;
  std::optional<double> known_top1_;  ///< of the current parameters, perhaps from the checkpoint
  std::optional<double> best_top1_;   ///< of the run
  bool best_is_current_ = false, best_is_saved_ = false;
  std::int64_t saved_step_ = -1;
  std::string saved_path_;
  bool stopping_ = false, target_reached_ = false;
  bool told_recording_ = false;
  std::int64_t skipped_at_epoch_start_ = 0;

  double train_seconds_ = 0;
  double exchange_alone_ = 0;  ///< seconds of one exchange while nothing else runs; 0: one rank
  std::int64_t trained_samples_ = 0, trained_steps_ = 0;
  Rates at_epoch_start_, at_last_report_;
  Stopwatch run_clock_, progress_clock_;
};

}  // namespace trireme
