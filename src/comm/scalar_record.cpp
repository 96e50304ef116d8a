// SPDX-License-Identifier: Apache-2.0
#include "src/comm/scalar_record.h"

#include <array>

#include "src/core/error.h"

namespace trireme {

ScalarRecord::ScalarRecord(Communicator& communicator, std::size_t doubles, std::size_t integers)
    : communicator_(communicator), doubles_(doubles), integers_(integers) {}

ScalarRecord::~ScalarRecord() {
  if (in_flight_) drain(communicator_, std::array{double_ticket_, integer_ticket_});
}

void ScalarRecord::submit(Stream& stream, std::string_view what) {
  TRIREME_ASSERT(!in_flight_, "a record is submitted once before it is waited for");
  in_flight_ = true;
  double_ticket_ = communicator_.allreduce(row_of(doubles_.data(), std::ssize(doubles_)), stream, what);
  integer_ticket_ = communicator_.allreduce(row_of(integers_.data(), std::ssize(integers_)), stream, what);
}

bool ScalarRecord::done() {
  return !in_flight_ || (communicator_.done(double_ticket_) && communicator_.done(integer_ticket_));
}

void ScalarRecord::wait(Stream& stream) {
  TRIREME_ASSERT(in_flight_, "a record must be submitted before it is waited for");
  communicator_.wait(double_ticket_, stream);
  communicator_.wait(integer_ticket_, stream);
  in_flight_ = false;
}

void sum_record(Communicator& communicator, Stream& stream, std::span<double> doubles,
                std::span<std::int64_t> integers, std::string_view what) {
  const Ticket double_ticket =
      communicator.allreduce(row_of(doubles.data(), std::ssize(doubles)), stream, what);
  const Ticket integer_ticket =
      communicator.allreduce(row_of(integers.data(), std::ssize(integers)), stream, what);
  communicator.wait(double_ticket, stream);
  communicator.wait(integer_ticket, stream);
}

std::vector<std::uint64_t> allgather_u64(Communicator& communicator, Stream& stream, std::uint64_t value,
                                         std::string_view what) {
  auto mine = static_cast<std::int64_t>(value);
  std::vector<std::int64_t> all(static_cast<std::size_t>(communicator.size()));
  communicator.wait(
      communicator.allgather(row_of(&mine, 1), row_of(all.data(), std::ssize(all)), stream, what), stream);
  return {all.begin(), all.end()};
}

}  // namespace trireme
