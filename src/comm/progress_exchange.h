// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>

#include "src/comm/progress_record.h"

namespace trireme {

class Group;

/// How ranks tell each other how far they are. Records go to rank 0, and to rank 1 in case rank 0 is the one
/// that stalls; alarms go from those two to all. Only CommThread calls it; nothing blocks.
class ProgressExchange {
 public:
  /// An alarm of another rank.
  struct Alarm {
    int rank = 0;
    std::string text;
  };

  virtual ~ProgressExchange() = default;
  /// Any thread may read it at any time.
  virtual const ProgressBoard& board() const = 0;
  /// How often send() is to be called.
  virtual std::chrono::duration<double> interval() const = 0;

  /// Sends this rank's record, unless the one before is still on its way.
  virtual void send(const ProgressRecord& own) = 0;
  /// Takes what has come: records to the board, and an alarm to the caller.
  virtual std::optional<Alarm> receive() = 0;

  /// Tells all other ranks that the job has failed. Where the board collects; else it does nothing. What is
  /// sent needs some calls of receive() to leave.
  virtual void raise_alarm(std::string_view text) = 0;

  /// A round of the end, with the last record: true when nothing is on its way to or from this rank any more.
  /// The other ranks come to their end in their own time.
  virtual bool leave(const ProgressRecord& own) = 0;
};

}  // namespace trireme
