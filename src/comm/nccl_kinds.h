// SPDX-License-Identifier: Apache-2.0
// The communicators over NCCL, as the table of communicators needs them: in programs that were built with
// NCCL's header, and in those that were not.
#pragma once

#include <chrono>
#include <memory>
#include <string>

#include "src/comm/communicator.h"
#include "src/comm/world.h"

namespace trireme {

/// Why these ranks cannot use NCCL, or nothing. The same on all ranks; collective.
std::string nccl_obstacle(const CommunicatorOptions& options, const Group& group,
                          std::chrono::duration<double> timeout);

// Where there is no obstacle. See make_communicator.
std::unique_ptr<Communicator> make_nccl(const CommunicatorOptions& options, const Group& group,
                                        CommThread& thread);
std::unique_ptr<Communicator> make_nccl_ring(const CommunicatorOptions& options, const Group& group,
                                             CommThread& thread);

/// Why it cannot be NCCL that sums inside the nodes: as above, or the nodes do not have equally many ranks.
std::string hierarchical_nccl_obstacle(const CommunicatorOptions& options, const Group& group,
                                       std::chrono::duration<double> timeout);
std::unique_ptr<Communicator> make_hierarchical_nccl(const CommunicatorOptions& options, const Group& group,
                                                     CommThread& thread);

}  // namespace trireme
