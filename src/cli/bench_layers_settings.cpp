// SPDX-License-Identifier: Apache-2.0
#include "src/cli/bench_layers.h"
#include "src/cli/bench_train_network.h"
#include "src/cli/command.h"
#include "src/train/device_names.h"
#include "src/train/flags.h"

namespace trireme {
namespace {

using C = LayersBenchConfig;
using Row = SettingOf<C>;

std::vector<Row> network_settings() {
  return {
      setting("model", &C::model, network_choice(), "resnet50", "network whose layers are measured"),
      setting("only", &C::only, Text{}, "", "only layers with this in their names"),
      setting("batch", &C::batch, Integer{1, 1 << 20}, "256", "pictures at once").with_letter('b'),
      setting("image-size", &C::image_size, Integer{1, 1 << 15}, "224", "height and width, in pixels"),
      setting("classes", &C::classes, Integer{1, 1 << 20}, "1000", "features of the last layer"),
  };
}

std::vector<Row> measuring_settings() {
  return {
      setting("device", &C::device, Text{"auto|cpu|cuda[:N]", check_device_name}, "auto", "what computes"),
      setting("precision", &C::precision, precision_choice(), "auto",
              "of activations and products on GPUs; auto: bf16 where the GPU has it, else fp32"),
      setting("seconds", &C::seconds, Number{1e-6, 60}, "0.03", "for each pass; at least four runs"),
      setting("peak-tflops", &C::peak_teraflops, Number{1e-6}, "620",
              "ceiling of matrix products, in 1e12 operations per second"),
      setting("bandwidth", &C::bandwidth_gigabytes, Number{1e-6}, "4300",
              "ceiling of memory, in 1e9 bytes per second"),
      setting("threads", &C::threads, Integer{1, 4096, "auto"}, "auto", "threads of the CPU"),
      setting("json", &C::json, Text{"FILE"}, "", "write all numbers there as one JSON object"),
  };
}

}  // namespace

const std::vector<Row>& layers_bench_settings() {
  static const std::vector<Row> table = [] {
    std::vector<Row> rows;
    add_group<C>(rows, "Network", network_settings());
    add_group<C>(rows, "Measuring", measuring_settings());
    return rows;
  }();
  return table;
}

LayersBenchConfig read_layers_bench(const std::vector<std::string>& arguments) {
  const CommandLine line = read_flags(arguments, infos_of(layers_bench_settings()));
  if (!line.positionals.empty())
    throw make_error(Status::usage, "unexpected argument '{}'", line.positionals.front())
        .hint("the network is given as --model resnet50");
  LayersBenchConfig config;
  apply_defaults(layers_bench_settings(), config);
  apply_flags(layers_bench_settings(), line, config);
  return config;
}

std::string bench_layers_help() {
  return "usage: trireme bench layers [settings]\n\n"
         "Times each kind of convolution and linear layer of a network, all passes, by our kernels and "
         "(where "
         "it is\n"
         "there) by cuDNN; and says what share of the card's ceilings that is. Each engine's results for two "
         "pictures\n"
         "are compared with the CPU's. Backward data is all of backward less the part that makes the "
         "weights' "
         "gradient.\n"
         "Layers whose channels are padded in memory are computed by our kernels in both columns. Status 70 "
         "if a\n"
         "result is wrong.\n\n" +
         settings_help(infos_of(layers_bench_settings()));
}

}  // namespace trireme
