// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "src/comm/messages.h"
#include "src/comm/reduce.h"

namespace trireme {

/// One message each way with one other rank; an empty range is no message.
struct PairExchange {
  int peer = 0;
  PartRange sent, received;
  bool adds = false;  ///< what is received is added to what is there, else replaces it
};

/// What `rank` of `ranks` does for an allreduce of `count` elements. Pure, for tests.
std::vector<PairExchange> plan_halving_doubling(std::int64_t count, DType type, int ranks, int rank);

/// An allreduce in about 2 log2(P) messages. See the .cpp.
class HalvingDoubling final : public MessageCollective {
 public:
  static constexpr std::int64_t kMaxBytes = std::int64_t{16} << 20;  ///< longer rows are for the ring

  HalvingDoubling(std::shared_ptr<MessageContext> context, const Tensor& tensor, std::string description);

  std::string awaited() const override;

 private:
  bool advance() override;
  void post(const PairExchange& exchange);

  Tensor tensor_;
  std::vector<PairExchange> plan_;
  std::size_t posted_ = 0, done_ = 0;  // of plan_
  MPI_Request send_ = MPI_REQUEST_NULL, receive_ = MPI_REQUEST_NULL;
};

}  // namespace trireme
