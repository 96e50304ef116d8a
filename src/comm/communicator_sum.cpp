// SPDX-License-Identifier: Apache-2.0
#include "src/comm/communicator_sum.h"

#include "src/core/deadline.h"

namespace trireme {

void CommunicatorSum::sum(std::span<double> values, std::string_view what) {
  const Stopwatch blocked;
  communicator_.wait(communicator_.allreduce(row_of(values.data(), std::ssize(values)), stream_, what),
                     stream_);
  wait_seconds_ += blocked.seconds();
}

}  // namespace trireme
