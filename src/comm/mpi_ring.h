// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "src/comm/comm_tuning.h"
#include "src/comm/host_communicator.h"
#include "src/comm/world.h"

namespace trireme {

class MessageContext;

/// Our own algorithms over MPI messages, on host memory: the ring, recursive halving and doubling for short
/// rows, the pairwise exchange for 16-bit types. Any number of collectives of all kinds at once; messages of
/// different ones never mix. Sums have the same bits on all ranks and depend only on the numbers, the ranks
/// and CommTuning::small_bytes.
class MpiRing final : public HostCommunicator {
 public:
  /// Collective: duplicates `group`.
  MpiRing(const Group& group, CommThread& thread, const CommTuning& tuning);

  std::string_view name() const override { return "ring"; }
  std::string description() const override;

  // Public so that a larger collective can be composed of these. All ranks make the same ones in the same
  // order; they may be started in any order.
  std::unique_ptr<Collective> make_allreduce(const Tensor& tensor, std::string description) override;
  std::unique_ptr<Collective> make_reduce_scatter(const Tensor& tensor, const Tensor& result,
                                                  std::string description) override;
  std::unique_ptr<Collective> make_allgather(const Tensor& tensor, const Tensor& result,
                                             std::string description) override;
  std::unique_ptr<Collective> make_broadcast(const Tensor& tensor, int root,
                                             std::string description) override;

 private:
  Group group_;
  CommTuning tuning_;
  std::shared_ptr<MessageContext> context_;
};

}  // namespace trireme
