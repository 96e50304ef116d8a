// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fmt/format.h>

#include <string>
#include <vector>

#include "src/comm/communicator.h"

namespace trireme::testing_support {

/// A group of one that writes down what is asked of it; collectives complete in wait(), as the sum over one
/// rank.
class RecordingCommunicator final : public Communicator {
 public:
  int rank() const override { return 0; }
  int size() const override { return 1; }
  std::string_view name() const override { return "recording"; }
  std::string description() const override { return "writes down what is asked of it"; }
  bool can_sum(DType /*type*/) const override { return true; }
  Ticket allreduce(const Tensor& tensor, Stream& /*stream*/, std::string_view what) override {
    log.push_back(fmt::format("send {}", tensor.count()));
    sent.push_back({tensor, std::string(what)});
    return Ticket{++last_};
  }
  Ticket reduce_scatter(const Tensor&, const Tensor&, Stream&, std::string_view) override { return {}; }
  Ticket allgather(const Tensor&, const Tensor&, Stream&, std::string_view) override { return {}; }
  Ticket broadcast(const Tensor&, int, Stream&, std::string_view) override { return {}; }
  void wait(Ticket ticket, Stream& /*stream*/) override { log.push_back(fmt::format("wait {}", ticket.id)); }
  bool done(Ticket /*ticket*/) override { return true; }
  std::unique_ptr<Buffer> allocate(std::size_t bytes) override {
    allocated += bytes;
    return HostMemory().allocate(bytes);
  }

  struct Sent {
    Tensor tensor;  ///< where it lies; not a copy
    std::string what;
  };
  std::vector<std::string> log;
  std::vector<Sent> sent;
  std::size_t allocated = 0;

 private:
  std::uint64_t last_ = 0;
};

}  // namespace trireme::testing_support
