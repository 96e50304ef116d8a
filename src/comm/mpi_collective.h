// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <mpi.h>

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "src/comm/comm_thread.h"

namespace trireme {

/// What one MPI call moves: `count` elements from element `begin` on of part `part`.
struct MpiPiece {
  int part = 0;
  std::int64_t begin = 0;
  int count = 0;
};

/// The calls in flight on one MPI communicator. All ranks must start their calls in one order, whatever
/// completes first: a collective starts its calls only after all calls of those before it.
struct MpiPipeline {
  static constexpr int kCallsInFlight = 4;

  std::uint64_t joined = 0;  ///< collectives made so far; for the thread that makes them
  std::uint64_t starting =
      0;  ///< whose turn it is to start calls; this and below: for the thread that steps them
  int in_flight = 0;
};

/// A fixed list of non-blocking MPI calls, a few of them in flight at a time, complete when the last of them
/// is.
class MpiCollective final : public Collective {
 public:
  /// Starts the MPI call of one piece.
  using Start = std::function<void(const MpiPiece& piece, MPI_Request* request)>;

  /// Made in the order in which they are submitted.
  MpiCollective(std::shared_ptr<MpiPipeline> pipeline, std::vector<MpiPiece> pieces, Start start,
                std::string description);

  void start() override { start_calls(); }
  bool step() override;
  std::string describe() const override { return description_; }

 private:
  void start_calls();

  std::shared_ptr<MpiPipeline> pipeline_;
  std::uint64_t number_;
  std::vector<MpiPiece> pieces_;
  Start start_;
  std::string description_;
  std::array<MPI_Request, MpiPipeline::kCallsInFlight> requests_;
  std::size_t started_ = 0, complete_ = 0;
};

}  // namespace trireme
