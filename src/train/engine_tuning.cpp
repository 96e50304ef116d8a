// SPDX-License-Identifier: Apache-2.0
#include "src/train/engine_tuning.h"

#include "src/graph/program.h"
#include "src/train/batch_pixels.h"
#include "src/train/device_names.h"
#include "src/train/evaluator.h"
#include "src/train/wait_limits.h"

namespace trireme {
namespace {

std::string known_choices(const RunSetup& setup) {
  if (setup.tuning) return setup.tuning->engines;
  if (setup.resumed && setup.resumed->state.tuning)
    return parse_run_tuning(*setup.resumed->state.tuning).engines;
  return "";
}

/// Plans the run's programs on a device of their own: planning is what measures.
std::string measure(const TrainConfig& config, const CorePlan& cores, const RunSetup& setup,
                    const Compute& compute) {
  const auto device = make_device(compute, cores);
  const DatasetInfo& info = setup.train->info();
  for (const std::int64_t rows : setup.batches.distinct_rows())
    const ProgramPlan plan(setup.graph, *device, rows, Mode::train,
                           choose_batch_pixels(*device, info, setup.transform).input);
  if (setup.validation)
    const ProgramPlan plan(
        setup.graph, *device, config.eval_batch, Mode::eval,
        choose_batch_pixels(*device, setup.validation->info(), for_evaluation(setup.transform)).input);
  return compute.accelerator->engine_choices(*device);
}

}  // namespace

std::string choose_engines(const TrainConfig& config, const World& world, const CorePlan& cores,
                           const RunSetup& setup, const Compute& compute) {
  const bool chooses = compute.kind == DeviceKind::cuda && compute.facts.has_cudnn &&
                       parse_engine(config.engine) == Engine::automatic;
  if (!chooses) return "";
  std::string choices;
  if (world.rank() == 0) {
    choices = known_choices(setup);
    if (choices.empty()) choices = measure(config, cores, setup, compute);
  }
  return world.all().broadcast_text(choices, 0, startup_limit(config).timeout,
                                    "rank 0 to have tried the engines of convolutions");
}

}  // namespace trireme
