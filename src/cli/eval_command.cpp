// SPDX-License-Identifier: Apache-2.0
#include "src/cli/command.h"
#include "src/cli/eval_settings.h"
#include "src/cli/failure.h"
#include "src/core/log.h"
#include "src/train/device_names.h"
#include "src/train/flags.h"

namespace trireme {

const std::vector<SettingOf<EvalConfig>>& eval_settings() {
  using C = EvalConfig;
  static const std::vector<SettingOf<EvalConfig>> table = [] {
    std::vector<SettingOf<EvalConfig>> rows;
    add_group<C>(rows, "Input and output",
                 {setting("data", &C::data, Text{"FILE"}, "",
                          "packed file(s), comma-separated or a quoted glob, or synthetic:HxWxC:classes[:N]"),
                  setting("checkpoint", &C::checkpoint, Text{"PATH"}, "",
                          "a checkpoint file, or the folder of a run: its best, else its latest"),
                  setting("image-size", &C::image_size, Integer{1, 1 << 15, "auto"}, "auto",
                          "height and width that the net sees, in pixels; auto: as it was trained"),
                  setting("preload", &C::preload, Text{"none|memory|DIR"}, "none",
                          "stage one copy of the data per node in memory or in a folder"),
                  setting("json", &C::json, Switch{}, "false", "print one JSON object")});
    add_group<C>(
        rows, "Machine",
        {setting("eval-batch", &C::eval_batch, Integer{1, 1 << 24}, "100",
                 "pictures per rank that are evaluated at once"),
         setting("device", &C::device, Text{"auto|cpu|cuda[:N]", check_device_name}, "auto", "what computes"),
         setting("precision", &C::precision, precision_choice(), "auto",
                 "of activations and products on GPUs; auto: bf16 where the GPU has it, else fp32"),
         setting("engine", &C::engine, engine_choice(), "native", "what computes convolutions on GPUs"),
         setting("ranks-per-gpu", &C::ranks_per_gpu, Integer{1, 64}, "1", "ranks that may share a GPU"),
         setting("comm", &C::comm, Choice{{"auto", "mpi"}}, "auto", "what sums counts over the ranks"),
         setting("threads", &C::threads, Integer{1, 4096, "auto"}, "auto", "threads per rank that compute"),
         setting("loader-threads", &C::loader_threads, Integer{1, 1024, "auto"}, "auto",
                 "threads per rank that read pictures"),
         setting("timeout", &C::timeout_seconds, Duration{}, "10min",
                 "longest wait for another rank or for data: 600, 90s, 10min, 2h"),
         setting("startup-timeout", &C::startup_timeout_seconds, Duration{}, "10min",
                 "the same before the evaluation begins"),
         setting("staging-timeout", &C::staging_timeout_seconds, Duration{}, "1h",
                 "the same for opening the data with --preload"),
         setting("expect-ranks", &C::expect_ranks, Integer{1, 1 << 24, "any"}, "any",
                 "fail at once if there are fewer ranks")});
    return rows;
  }();
  return table;
}

EvalConfig read_eval_config(const std::vector<std::string>& arguments) {
  const CommandLine line = read_flags(arguments, infos_of(eval_settings()));
  if (!line.positionals.empty())
    throw make_error(Status::usage, "unexpected argument '{}'", line.positionals.front())
        .hint("the data is given as --data FILE, the run as --checkpoint PATH");
  EvalConfig config;
  apply_defaults(eval_settings(), config);
  apply_flags(eval_settings(), line, config);
  if (config.data.empty()) throw Error(Status::usage, "missing --data FILE");
  if (config.checkpoint.empty()) throw Error(Status::usage, "missing --checkpoint PATH");
  return config;
}

std::string eval_help() {
  return "usage: trireme eval --data FILE --checkpoint PATH [settings]\n"
         "       mpirun -n 4 trireme eval ...\n\n"
         "Prints how many pictures of a data set a trained network classifies correctly: the same numbers at "
         "any\n"
         "number of ranks.\n\n" +
         settings_help(infos_of(eval_settings()));
}

Status run_eval_command(const Invocation& invocation) {
  const EvalConfig config = read_eval_config(invocation.arguments);
  const auto body = [&](World& world) {
    check_world_size(world, invocation.launch, config.expect_ranks);
    log::setup(world.rank(), world.size());
    return run_evaluation(config, world, invocation.launch, invocation.accelerator);
  };
  return run_with_world(invocation, body, std::chrono::duration<double>(config.startup_timeout_seconds));
}

}  // namespace trireme
