// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <mpi.h>

#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "src/comm/comm_thread.h"
#include "src/comm/world.h"

namespace trireme {

/// What one MPI call moves: `count` elements from element `begin` on of part `part`.
struct MpiPiece {
  int part = 0;
  std::int64_t begin = 0;
  int count = 0;
};

/// A fixed list of non-blocking MPI calls, all started in start(), complete when the last of them is.
class MpiCollective final : public Collective {
 public:
  /// Starts the MPI call of one piece.
  using Start = std::function<void(const MpiPiece& piece, MPI_Request* request)>;

  MpiCollective(std::vector<MpiPiece> pieces, Start start, std::string description)
      : pieces_(std::move(pieces)),
        requests_(pieces_.size(), MPI_REQUEST_NULL),
        start_(std::move(start)),
        description_(std::move(description)) {}

  void start() override {
    for (std::size_t i = 0; i < pieces_.size(); ++i) start_(pieces_[i], &requests_[i]);
  }
  bool step() override {
    int complete = 0;
    mpi_check(
        MPI_Testall(static_cast<int>(requests_.size()), requests_.data(), &complete, MPI_STATUSES_IGNORE),
        "MPI_Testall");
    return complete != 0;
  }
  std::string describe() const override { return description_; }

 private:
  std::vector<MpiPiece> pieces_;
  std::vector<MPI_Request> requests_;
  Start start_;
  std::string description_;
};

}  // namespace trireme
