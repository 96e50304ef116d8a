// SPDX-License-Identifier: Apache-2.0
#include "src/comm/nccl_kinds.h"

#include "src/core/error.h"

namespace trireme {

std::string nccl_obstacle(const CommunicatorOptions& /*options*/, const Group& /*group*/,
                          std::chrono::duration<double> /*timeout*/) {
  return "this program was built without NCCL";
}

std::string hierarchical_nccl_obstacle(const CommunicatorOptions& options, const Group& group,
                                       std::chrono::duration<double> timeout) {
  return nccl_obstacle(options, group, timeout);
}

std::unique_ptr<Communicator> make_nccl(const CommunicatorOptions& /*options*/, const Group& /*group*/,
                                        CommThread& /*thread*/) {
  throw make_error(Status::configuration, "this program was built without NCCL");
}

std::unique_ptr<Communicator> make_nccl_ring(const CommunicatorOptions& options, const Group& group,
                                             CommThread& thread) {
  return make_nccl(options, group, thread);
}

std::unique_ptr<Communicator> make_hierarchical_nccl(const CommunicatorOptions& options, const Group& group,
                                                     CommThread& thread) {
  return make_nccl(options, group, thread);
}

}  // namespace trireme
