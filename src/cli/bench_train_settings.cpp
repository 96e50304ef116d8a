// SPDX-License-Identifier: Apache-2.0
#include "src/cli/bench_train.h"
#include "src/cli/bench_train_network.h"
#include "src/cli/command.h"
#include "src/train/device_names.h"
#include "src/train/flags.h"

namespace trireme {
namespace {

using C = TrainBenchConfig;
using Row = SettingOf<C>;

std::vector<Row> step_settings() {
  return {
      setting("model", &C::model, network_choice(), "resnet50", "network that is trained"),
      setting("batch", &C::batch, Integer{1, 1 << 20}, "256", "pictures of a step").with_letter('b'),
      setting("image-size", &C::image_size, Integer{1, 1 << 15}, "224", "height and width, in pixels"),
      setting("classes", &C::classes, Integer{1, 1 << 20}, "1000", "classes that are told apart"),
      setting("steps", &C::steps, Integer{1, 1 << 30}, "20", "steps that are timed").with_letter('n'),
      setting("warmup", &C::warm_up, Integer{1, 1 << 30}, "5", "steps before those").with_letter('w'),
      setting("with-loader", &C::with_loader, Switch{}, "false",
              "new pictures for each step, made and prepared by the loader's threads; otherwise one batch in "
              "memory"),
  };
}

std::vector<Row> machine_settings() {
  return {
      setting("device", &C::device, Text{"auto|cpu|cuda[:N]", check_device_name}, "auto", "what computes"),
      setting("precision", &C::precision, precision_choice(), "auto",
              "of activations and products on GPUs; auto: bf16 where the GPU has it, else fp32"),
      setting("engine", &C::engine, engine_choice(), "native", "what computes convolutions on GPUs"),
      setting("cuda-graph", &C::cuda_graph, Switch{}, "false", "record a step once and start it as a whole"),
      setting("threads", &C::threads, Integer{1, 4096, "auto"}, "auto", "threads of the CPU"),
      setting("loader-threads", &C::loader_threads, Integer{1, 1024, "auto"}, "auto",
              "threads that make batches"),
      setting("json", &C::json, Text{"FILE"}, "", "write all numbers there as one JSON object"),
  };
}

}  // namespace

const std::vector<Row>& train_bench_settings() {
  static const std::vector<Row> table = [] {
    std::vector<Row> rows;
    add_group<C>(rows, "Steps", step_settings());
    add_group<C>(rows, "Machine", machine_settings());
    return rows;
  }();
  return table;
}

TrainBenchConfig read_train_bench(const std::vector<std::string>& arguments) {
  const CommandLine line = read_flags(arguments, infos_of(train_bench_settings()));
  if (!line.positionals.empty())
    throw make_error(Status::usage, "unexpected argument '{}'", line.positionals.front())
        .hint("the network is given as --model resnet50");
  TrainBenchConfig config;
  apply_defaults(train_bench_settings(), config);
  apply_flags(train_bench_settings(), line, config);
  return config;
}

std::string bench_train_help() {
  return "usage: trireme bench train [settings]\n\n"
         "Times whole training steps on synthetic pictures: the copy of the batch to the device, forward, "
         "backward and\n"
         "the update; one rank, so nothing is exchanged. Prints pictures per second, the memory that the "
         "device gave,\n"
         "and the loss of the first and the last step. Status 70 if a loss is not finite.\n\n" +
         settings_help(infos_of(train_bench_settings()));
}

}  // namespace trireme
