// SPDX-License-Identifier: Apache-2.0
// How an error ends the program: one message from one rank, and the exit status.
#pragma once

#include <chrono>
#include <functional>
#include <string>

#include "src/cli/command.h"

namespace trireme {

struct Failure {
  Status status = Status::internal;
  std::string message;
  bool is_met_elsewhere = false;  ///< another rank tells it
};

/// What the exception that is being handled means: an Error says it itself, everything else is 70. Call in a
/// catch block.
Failure current_failure();

/// Says a failure on standard error before MPI is up. Ranks other than 0 say it with their rank in front,
/// after some seconds in which rank 0, where it fails alike, ends the job with the same message. Control
/// characters of the message other than line ends are shown as \xNN.
void report_failure(const Failure& failure, const LaunchFacts& launch);

/// Runs `body` with MPI up. Where it throws on any rank, that is said as in report_failure and the whole job
/// ends at once; otherwise its status is returned after MPI has been finalized.
/// MPI may take `timeout` to start.
Status run_with_world(const Invocation& invocation, const std::function<Status(World& world)>& body,
                      std::chrono::duration<double> timeout = std::chrono::minutes(10));

}  // namespace trireme
