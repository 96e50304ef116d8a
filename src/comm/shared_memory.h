// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "src/comm/host_communicator.h"
#include "src/comm/shm_lane.h"
#include "src/comm/shm_memory.h"
#include "src/comm/shm_obstacle.h"
#include "src/comm/world.h"

namespace trireme {

/// Ranks of one node, which see each other's tensors: no messages, no copies where the tensors come from
/// allocate(). Sums go in the order of the ranks for every element, so bits depend neither on lengths nor on
/// where a tensor lies.
class SharedMemory final : public HostCommunicator {
 public:
  /// Collective. All ranks of `group` are on one node; allocate() will be asked for `window_bytes` in all,
  /// the same on every rank, what goes beyond is ordinary memory. Error (78) if the memory is not there:
  /// shared_memory_obstacle tells before.
  SharedMemory(const Group& group, CommThread& thread, std::size_t window_bytes);

  std::string_view name() const override { return "shm"; }
  std::string description() const override;
  /// Shared memory as long as there is some. A buffer may outlive the communicator; the last of them frees
  /// the window, which all ranks must do.
  std::unique_ptr<Buffer> allocate(std::size_t bytes) override;

 private:
  std::unique_ptr<Collective> make_allreduce(const Tensor& tensor, std::string description) override;
  std::unique_ptr<Collective> make_reduce_scatter(const Tensor& tensor, const Tensor& result,
                                                  std::string description) override;
  std::unique_ptr<Collective> make_allgather(const Tensor& tensor, const Tensor& result,
                                             std::string description) override;
  std::unique_ptr<Collective> make_broadcast(const Tensor& tensor, int root,
                                             std::string description) override;

  std::shared_ptr<ShmMemory> memory_;
  ShmLane lane_;
};

}  // namespace trireme
