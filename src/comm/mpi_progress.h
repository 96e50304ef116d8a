// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <string>
#include <vector>

#include "src/comm/progress_exchange.h"
#include "src/comm/world.h"

namespace trireme {

/// Progress records as small messages on an MPI communicator of their own:
///
///     rank 0 ◄── record ── every other rank      rank 0 ── alarm ──► every other rank
///     rank 1 ◄── record ── every other rank      rank 1 ── alarm ──► every other rank
///
/// The receives are posted beforehand, so that a message never waits for a partner; a rank sends the next
/// record only when the one before has left, so that what is on its way stays bounded when a peer stops. The
/// last record of a rank says that it leaves; an end is complete when those of all ranks have come.
class MpiProgress final : public ProgressExchange {
 public:
  /// Collective over `group` (which it duplicates), for the thread that owns MPI until CommThread is used.
  MpiProgress(const Group& group, std::chrono::duration<double> timeout);
  ~MpiProgress() override;

  const ProgressBoard& board() const override { return board_; }
  std::chrono::duration<double> interval() const override { return interval_; }
  void send(const ProgressRecord& own) override;
  std::optional<Alarm> receive() override;
  void raise_alarm(std::string_view text) override;
  bool leave(const ProgressRecord& own) override;

 private:
  using AlarmText = FixedText<512>;

  /// A record on its way to one of the ranks that collect.
  struct Outgoing {
    int to = 0;
    ProgressRecord record;
    MPI_Request request = MPI_REQUEST_NULL;
  };
  /// An alarm that one of them may send.
  struct AlarmSlot {
    int from = 0;
    AlarmText text;
    MPI_Request request = MPI_REQUEST_NULL;
  };

  void expect_record(std::size_t from);
  void receive_records();
  bool send_to(Outgoing& outgoing, const ProgressRecord& own);

  Group group_;
  int rank_, size_;
  ProgressBoard board_;
  std::chrono::duration<double> interval_;
  std::vector<Outgoing> outgoing_;
  std::vector<AlarmSlot> alarms_;
  std::vector<ProgressRecord> incoming_;     // by rank, where they are collected
  std::vector<MPI_Request> incoming_calls_;  // by rank
  std::vector<int> arrived_;                 // MPI_Testsome's answer
  AlarmText raised_;
  std::vector<MPI_Request> raised_calls_;
  std::vector<bool> farewell_sent_;  // by outgoing
};

}  // namespace trireme
