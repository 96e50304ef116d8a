// SPDX-License-Identifier: Apache-2.0
#include "src/cli/command.h"

namespace trireme {

const std::vector<Command>& bench_topics() {
  static const std::vector<Command> topics = {
      {"allreduce", "sums over all ranks, as gradients are exchanged, by every communicator",
       bench_allreduce_help, run_bench_allreduce},
      {"layers", "convolutions and linear layers of a network, against cuDNN and the card's ceilings",
       bench_layers_help, run_bench_layers},
      {"train", "whole training steps of a network on synthetic pictures", bench_train_help, run_bench_train},
  };
  return topics;
}

std::string bench_help() {
  return "usage: trireme bench TOPIC [settings]\n\n"
         "Measures parts of the program on this machine.\n\n" +
         command_list(bench_topics()) +
         "\ntrireme help bench TOPIC (or trireme bench TOPIC --help) says more.\n";
}

}  // namespace trireme
