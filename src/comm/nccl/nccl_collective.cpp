// SPDX-License-Identifier: Apache-2.0
#include "src/comm/nccl/nccl_collective.h"

#include <utility>

namespace trireme {

NcclCollective::NcclCollective(std::shared_ptr<NcclHandle> handle,
                               std::shared_ptr<const NcclOperation> operation, std::string description)
    : handle_(std::move(handle)), operation_(std::move(operation)), description_(std::move(description)) {}

bool NcclCollective::step() {
  const ncclResult_t launch = operation_->launch;
  for (const ncclResult_t result : {launch, handle_->state()})
    if (result != ncclSuccess && result != ncclInProgress) throw handle_->error(result, "NCCL");
  return launch == ncclSuccess && operation_->done->done();
}

std::string NcclCollective::held_up_by() const {
  if (!operation_->made->done()) return kDeviceIsAwaited;
  return operation_->launch == ncclInProgress ? "waiting for NCCL to begin" : "";
}

}  // namespace trireme
