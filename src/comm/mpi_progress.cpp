// SPDX-License-Identifier: Apache-2.0
#include "src/comm/mpi_progress.h"

#include <algorithm>

namespace trireme {
namespace {

constexpr int kRecordTag = 1, kAlarmTag = 2;
constexpr int kCollectors = 2;              // ranks 0 and 1
constexpr double kRecordsPerSecond = 1000;  // that a collector is to bear
constexpr double kLeastInterval = 0.25;     // seconds

std::string own_host() {
  char name[MPI_MAX_PROCESSOR_NAME] = "";
  int length = 0;
  mpi_check(MPI_Get_processor_name(name, &length), "MPI_Get_processor_name");
  return {name, static_cast<std::size_t>(length)};
}

void cancel(MPI_Request& request) {
  if (request == MPI_REQUEST_NULL) return;
  MPI_Cancel(&request);
  MPI_Wait(&request, MPI_STATUS_IGNORE);  // local: a receive that is cancelled is complete
}

}  // namespace

MpiProgress::MpiProgress(const Group& group, std::chrono::duration<double> timeout)
    : group_(group.duplicate()),
      rank_(group_.rank()),
      size_(group_.size()),
      board_(rank_, group_.allgather_text(own_host(), timeout, "all ranks to say their hosts"),
             rank_ < kCollectors),
      interval_(std::max(kLeastInterval, size_ / kRecordsPerSecond)) {
  for (int collector = 0; collector < std::min(kCollectors, size_); ++collector) {
    if (collector == rank_) continue;
    outgoing_.push_back({collector, {}, MPI_REQUEST_NULL});
    alarms_.push_back({collector, {}, MPI_REQUEST_NULL});
  }
  farewell_sent_.assign(outgoing_.size(), false);
  for (AlarmSlot& alarm : alarms_)
    mpi_check(MPI_Irecv(&alarm.text, sizeof alarm.text, MPI_BYTE, alarm.from, kAlarmTag, group_.get(),
                        &alarm.request),
              "MPI_Irecv");
  if (!board_.collects()) return;
  const auto ranks = static_cast<std::size_t>(size_);
  incoming_.resize(ranks);
  arrived_.resize(ranks);
  raised_calls_.assign(ranks, MPI_REQUEST_NULL);
  incoming_calls_.assign(ranks, MPI_REQUEST_NULL);
  for (std::size_t from = 0; from < ranks; ++from)
    if (static_cast<int>(from) != rank_) expect_record(from);
}

MpiProgress::~MpiProgress() {
  // While an error unwinds this rank, the process ends soon, and MPI with it: nothing more is asked of it.
  if (std::uncaught_exceptions() > 0) return;
  for (AlarmSlot& alarm : alarms_) cancel(alarm.request);
  for (MPI_Request& request : incoming_calls_) cancel(request);
}

void MpiProgress::expect_record(std::size_t from) {
  mpi_check(MPI_Irecv(&incoming_[from], sizeof incoming_[from], MPI_BYTE, static_cast<int>(from), kRecordTag,
                      group_.get(), &incoming_calls_[from]),
            "MPI_Irecv");
}

/// True if it is on its way now.
bool MpiProgress::send_to(Outgoing& outgoing, const ProgressRecord& own) {
  int has_left = 0;
  mpi_check(MPI_Test(&outgoing.request, &has_left, MPI_STATUS_IGNORE), "MPI_Test");
  if (has_left == 0) return false;
  outgoing.record = own;
  mpi_check(MPI_Isend(&outgoing.record, sizeof outgoing.record, MPI_BYTE, outgoing.to, kRecordTag,
                      group_.get(), &outgoing.request),
            "MPI_Isend");
  return true;
}

void MpiProgress::send(const ProgressRecord& own) {
  for (Outgoing& outgoing : outgoing_) send_to(outgoing, own);
}

void MpiProgress::receive_records() {
  int count = 0;
  mpi_check(MPI_Testsome(static_cast<int>(incoming_calls_.size()), incoming_calls_.data(), &count,
                         arrived_.data(), MPI_STATUSES_IGNORE),
            "MPI_Testsome");
  if (count == MPI_UNDEFINED) return;  // none is expected
  for (int i = 0; i < count; ++i) {
    const auto from = static_cast<std::size_t>(arrived_[static_cast<std::size_t>(i)]);
    board_.heard(static_cast<int>(from), incoming_[from]);
    if (!incoming_[from].leaves) expect_record(from);
  }
}

std::optional<ProgressExchange::Alarm> MpiProgress::receive() {
  if (board_.collects()) {
    receive_records();
    int all = 0;
    mpi_check(
        MPI_Testall(static_cast<int>(raised_calls_.size()), raised_calls_.data(), &all, MPI_STATUSES_IGNORE),
        "MPI_Testall");
  }
  for (AlarmSlot& alarm : alarms_) {
    if (alarm.request == MPI_REQUEST_NULL) continue;
    int came = 0;
    mpi_check(MPI_Test(&alarm.request, &came, MPI_STATUS_IGNORE), "MPI_Test");
    if (came != 0) return Alarm{alarm.from, std::string(alarm.text.view())};
  }
  return std::nullopt;
}

void MpiProgress::raise_alarm(std::string_view text) {
  if (!board_.collects() || !raised_.view().empty()) return;
  raised_ = text;
  for (int to = 0; to < size_; ++to)
    if (to != rank_)
      mpi_check(MPI_Isend(&raised_, sizeof raised_, MPI_BYTE, to, kAlarmTag, group_.get(),
                          &raised_calls_[static_cast<std::size_t>(to)]),
                "MPI_Isend");
}

bool MpiProgress::leave(const ProgressRecord& own) {
  ProgressRecord last = own;
  last.leaves = true;
  bool complete = true;
  for (std::size_t i = 0; i < outgoing_.size(); ++i) {
    if (!farewell_sent_[i]) farewell_sent_[i] = send_to(outgoing_[i], last);
    int has_left = 0;
    mpi_check(MPI_Test(&outgoing_[i].request, &has_left, MPI_STATUS_IGNORE), "MPI_Test");
    complete = complete && farewell_sent_[i] && has_left != 0;
  }
  if (!board_.collects()) return complete;
  receive_records();
  return complete && std::all_of(incoming_calls_.begin(), incoming_calls_.end(),
                                 [](MPI_Request request) { return request == MPI_REQUEST_NULL; });
}

}  // namespace trireme
