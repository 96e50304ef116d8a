// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "src/comm/host_communicator.h"
#include "src/comm/mpi_collective.h"
#include "src/comm/world.h"

namespace trireme {

/// The MPI library's own non-blocking collectives on host memory: the oracle for every other communicator.
/// Sums f32, f64 and i64. A world of one never calls MPI.
class MpiLibrary final : public HostCommunicator {
 public:
  /// Duplicates `group`. Tensors longer than `piece_bytes` go in pieces of that size.
  MpiLibrary(const Group& group, CommThread& thread, std::int64_t piece_bytes = kDefaultPieceBytes);

  std::string_view name() const override { return "mpi"; }
  std::string description() const override;
  bool can_sum(DType type) const override;

 private:
  static constexpr std::int64_t kDefaultPieceBytes = std::int64_t{4} << 20;

  std::unique_ptr<Collective> make_allreduce(const Tensor& tensor, std::string description) override;
  std::unique_ptr<Collective> make_reduce_scatter(const Tensor& tensor, const Tensor& result,
                                                  std::string description) override;
  std::unique_ptr<Collective> make_allgather(const Tensor& tensor, const Tensor& result,
                                             std::string description) override;
  std::unique_ptr<Collective> make_broadcast(const Tensor& tensor, int root,
                                             std::string description) override;
  std::int64_t piece_elements(DType type) const;
  std::unique_ptr<Collective> make(std::vector<MpiPiece> pieces, MpiCollective::Start start,
                                   std::string description);

  Group group_;
  std::int64_t piece_bytes_;
  std::shared_ptr<MpiPipeline> pipeline_ = std::make_shared<MpiPipeline>();
};

}  // namespace trireme
