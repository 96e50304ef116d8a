// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>

#include "src/comm/communicator.h"
#include "src/comm/nccl/nccl_collective.h"
#include "src/comm/world.h"

namespace trireme {

enum class NcclAlgorithm { chosen_by_nccl, ring };

/// NCCL's collectives on tensors in the memory of a GPU, on a stream of their own. wait() never holds up the
/// host. 16-bit sums are rounded at every hop. A group of one communicates with nobody and needs no library.
/// For the device's thread.
class Nccl final : public Communicator {
 public:
  /// Collective over `group`, for the thread that may call MPI; the device is the current one. `gpu` must
  /// have NCCL's functions where there are several ranks, and outlive it. See NcclHandle for errors. The ring
  /// is asked for by NCCL_ALGO, unless the site has set that.
  Nccl(const Group& group, CommThread& thread, const GpuCommunication& gpu, NcclAlgorithm algorithm);
  ~Nccl() override;

  int rank() const override { return rank_; }
  int size() const override { return size_; }
  std::string_view name() const override { return algorithm_ == NcclAlgorithm::ring ? "nccl-ring" : "nccl"; }
  std::string description() const override;
  bool blocks_host() const override { return false; }
  bool can_sum(DType type) const override;

  Ticket allreduce(const Tensor& tensor, Stream& stream, std::string_view what) override;
  Ticket reduce_scatter(const Tensor& tensor, const Tensor& result, Stream& stream,
                        std::string_view what) override;
  Ticket allgather(const Tensor& tensor, const Tensor& result, Stream& stream,
                   std::string_view what) override;
  Ticket broadcast(const Tensor& tensor, int root, Stream& stream, std::string_view what) override;
  void wait(Ticket ticket, Stream& stream) override;
  bool done(Ticket ticket) override { return ticket.id == 0 || thread_.done(ticket); }
  /// Device memory, registered with NCCL where it can.
  std::unique_ptr<Buffer> allocate(std::size_t bytes) override;

 private:
  /// `call` is one of NCCL's collectives, for a communicator and a stream.
  template <typename Call>
  Ticket submit(std::string_view verb, std::string_view what, const Tensor& tensor, Stream& stream,
                const Call& call);
  void await_launch(NcclOperation& operation, Ticket ticket, ncclResult_t result);
  Ticket copy_alone(const Tensor& from, const Tensor& to, Stream& stream);

  CommThread& thread_;
  Device& device_;
  const int rank_, size_;
  const NcclAlgorithm algorithm_;
  std::string site_algorithm_;  // NCCL_ALGO as the site has set it
  std::shared_ptr<NcclHandle> handle_;
  std::unique_ptr<Stream> stream_;
  std::map<std::uint64_t, std::shared_ptr<NcclOperation>> in_flight_;  // by ticket, until they are waited for
};

}  // namespace trireme
