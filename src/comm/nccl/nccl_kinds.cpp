// SPDX-License-Identifier: Apache-2.0
#include "src/comm/nccl_kinds.h"

#include "src/comm/nccl/hierarchical_nccl.h"
#include "src/comm/nccl/nccl_communicator.h"

namespace trireme {
namespace {

/// Of this rank alone.
std::string own_obstacle(const GpuCommunication* gpu, int ranks) {
  if (gpu == nullptr)
    return "NCCL sums in the memory of GPUs, and the gradients are in the host's (--device cpu)";
  if (ranks == 1) return "";
  if (gpu->shares_gpu) return "ranks share a GPU, which NCCL refuses";
  return gpu->nccl == nullptr ? gpu->nccl_obstacle : "";
}

}  // namespace

std::string nccl_obstacle(const CommunicatorOptions& options, const Group& group,
                          std::chrono::duration<double> timeout) {
  for (const std::string& text : group.allgather_text(own_obstacle(options.gpu, group.size()), timeout,
                                                      "all ranks to have looked for NCCL"))
    if (!text.empty()) return text;
  return "";
}

std::string hierarchical_nccl_obstacle(const CommunicatorOptions& options, const Group& group,
                                       std::chrono::duration<double> timeout) {
  if (std::string text = nccl_obstacle(options, group, timeout); !text.empty()) return text;
  const NodeTopology topology = read_topology(group, timeout);
  return topology.smallest == topology.largest ? "" : topology.text();
}

std::unique_ptr<Communicator> make_nccl(const CommunicatorOptions& options, const Group& group,
                                        CommThread& thread) {
  return std::make_unique<Nccl>(group, thread, *options.gpu, NcclAlgorithm::chosen_by_nccl);
}

std::unique_ptr<Communicator> make_nccl_ring(const CommunicatorOptions& options, const Group& group,
                                             CommThread& thread) {
  return std::make_unique<Nccl>(group, thread, *options.gpu, NcclAlgorithm::ring);
}

std::unique_ptr<Communicator> make_hierarchical_nccl(const CommunicatorOptions& options, const Group& group,
                                                     CommThread& thread) {
  return std::make_unique<HierarchicalNccl>(group, thread, *options.gpu, options.tuning,
                                            read_node_map(group));
}

}  // namespace trireme
