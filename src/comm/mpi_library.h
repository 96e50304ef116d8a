// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "src/comm/communicator.h"
#include "src/comm/mpi_collective.h"
#include "src/comm/world.h"

namespace trireme {

/// The MPI library's own non-blocking collectives on host memory: the oracle for every other communicator.
/// A world of one never calls MPI.
class MpiLibrary final : public Communicator {
 public:
  /// Duplicates `group`. Tensors longer than `piece_bytes` go in pieces of that size.
  MpiLibrary(const Group& group, CommThread& thread, std::int64_t piece_bytes = kDefaultPieceBytes);

  int rank() const override { return rank_; }
  int size() const override { return size_; }
  std::string_view name() const override { return "mpi"; }

  Ticket allreduce(const Tensor& tensor, Stream& stream, std::string_view what) override;
  Ticket reduce_scatter(const Tensor& tensor, const Tensor& result, Stream& stream,
                        std::string_view what) override;
  Ticket allgather(const Tensor& tensor, const Tensor& result, Stream& stream,
                   std::string_view what) override;
  Ticket broadcast(const Tensor& tensor, int root, Stream& stream, std::string_view what) override;
  void wait(Ticket ticket, Stream& stream) override;
  bool done(Ticket ticket) override;
  std::unique_ptr<Buffer> allocate(std::size_t bytes) override;

 private:
  static constexpr std::int64_t kDefaultPieceBytes = std::int64_t{4} << 20;

  std::string describe(std::string_view verb, std::string_view what, const Tensor& tensor) const;
  std::int64_t piece_elements(DType type) const;
  Ticket submit(std::vector<MpiPiece> pieces, MpiCollective::Start start, std::string description,
                Stream& stream);
  static Ticket copy_alone(const Tensor& from, const Tensor& to, Stream& stream);

  Group group_;
  CommThread& thread_;
  int rank_, size_;
  std::int64_t piece_bytes_;
  std::shared_ptr<MpiPipeline> pipeline_ = std::make_shared<MpiPipeline>();
};

}  // namespace trireme
