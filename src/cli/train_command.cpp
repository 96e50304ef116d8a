// SPDX-License-Identifier: Apache-2.0
#include <unistd.h>

#include "src/cli/command.h"
#include "src/cli/failure.h"
#include "src/core/log.h"
#include "src/train/signals.h"
#include "src/train/train.h"

namespace trireme {

std::string train_command_help() {
  return "usage: trireme train --data FILE [--val FILE] --model NAME -o DIR [settings]\n"
         "       mpirun -n 4 trireme train ...\n\n"
         "Trains a network and keeps settings, log and checkpoints in the folder DIR. Each setting may also "
         "stand in\n"
         "the environment (--global-batch as TRIREME_GLOBAL_BATCH) or in an ini file; a flag wins over the\n"
         "environment, and that over the file. On/off settings are written --nesterov, --nesterov=false or\n"
         "--no-nesterov.\n\n" +
         train_help();
}

Status run_train_command(const Invocation& invocation) {
  // A stop that is asked for while the run still starts is done after its first step.
  const StopSignals signals;
  // A wrong command line is told before MPI starts: by rank 0 alone, and without the launcher's own
  // complaints.
  check_train_flags(invocation.arguments);
  const std::chrono::duration<double> timeout(start_up_timeout_seconds(invocation.arguments, environ));
  const auto body = [&](World& world) {
    const TrainConfig config = merge_train_config(invocation.arguments, environ);
    check_world_size(world, invocation.launch, config.expect_ranks);
    log::setup(world.rank(), world.size());
    return run_training(config, world, invocation.launch, invocation.accelerator);
  };
  return run_with_world(invocation, body, timeout);
}

}  // namespace trireme
