// SPDX-License-Identifier: Apache-2.0
#include "src/comm/mpi_collective.h"

#include <algorithm>
#include <utility>

#include "src/comm/world.h"

namespace trireme {

MpiCollective::MpiCollective(std::shared_ptr<MpiPipeline> pipeline, std::vector<MpiPiece> pieces, Start start,
                             std::string description)
    : pipeline_(std::move(pipeline)),
      number_(pipeline_->joined++),
      pieces_(std::move(pieces)),
      start_(std::move(start)),
      description_(std::move(description)) {
  requests_.fill(MPI_REQUEST_NULL);
}

void MpiCollective::start_calls() {
  if (pipeline_->starting != number_) return;
  while (started_ < pieces_.size() && pipeline_->in_flight < MpiPipeline::kCallsInFlight) {
    MPI_Request* free_request = &*std::find(requests_.begin(), requests_.end(), MPI_REQUEST_NULL);
    start_(pieces_[started_], free_request);
    ++started_;
    ++pipeline_->in_flight;
  }
  if (started_ == pieces_.size()) ++pipeline_->starting;
}

bool MpiCollective::step() {
  start_calls();
  std::array<int, MpiPipeline::kCallsInFlight> indices{};
  int count = 0;
  mpi_check(MPI_Testsome(static_cast<int>(requests_.size()), requests_.data(), &count, indices.data(),
                         MPI_STATUSES_IGNORE),
            "MPI_Testsome");
  if (count == MPI_UNDEFINED) return complete_ == pieces_.size();  // none in flight
  complete_ += static_cast<std::size_t>(count);
  pipeline_->in_flight -= count;
  return complete_ == pieces_.size();
}

}  // namespace trireme
