// SPDX-License-Identifier: Apache-2.0
#include "src/comm/shared_memory.h"

#include <numeric>
#include <utility>
#include <vector>

#include "src/comm/shm_collective.h"

namespace trireme {
namespace {

std::vector<int> own_numbers(int size) {
  std::vector<int> names(static_cast<std::size_t>(size));
  std::iota(names.begin(), names.end(), 0);
  return names;
}

}  // namespace

SharedMemory::SharedMemory(const Group& group, CommThread& thread, std::size_t window_bytes)
    : HostCommunicator(thread, group.rank(), group.size()),
      memory_(std::make_shared<ShmMemory>(group, window_bytes)),
      lane_(memory_->make_lane(own_numbers(group.size()))) {
  memory_->meet("all ranks of the node to prepare shared memory");
}

std::string SharedMemory::description() const {
  return fmt::format("shm: {} ranks of one node sum in memory that they share, {:.1f} MiB each", size(),
                     static_cast<double>(memory_->bytes()) / 0x1p20);
}

std::unique_ptr<Buffer> SharedMemory::allocate(std::size_t bytes) {
  if (auto buffer = ShmMemory::allocate(memory_, bytes)) return buffer;
  return HostCommunicator::allocate(bytes);
}

std::unique_ptr<Collective> SharedMemory::make_allreduce(const Tensor& tensor, std::string description) {
  return std::make_unique<ShmCollective>(
      lane_, ShmJob{ShmJob::Kind::allreduce, tensor, tensor, 0, rank(), size()}, std::move(description));
}

std::unique_ptr<Collective> SharedMemory::make_reduce_scatter(const Tensor& tensor, const Tensor& result,
                                                              std::string description) {
  return std::make_unique<ShmCollective>(
      lane_, ShmJob{ShmJob::Kind::reduce_scatter, tensor, result, 0, rank(), size()}, std::move(description));
}

std::unique_ptr<Collective> SharedMemory::make_allgather(const Tensor& tensor, const Tensor& result,
                                                         std::string description) {
  return std::make_unique<ShmCollective>(
      lane_, ShmJob{ShmJob::Kind::allgather, tensor, result, 0, rank(), size()}, std::move(description));
}

std::unique_ptr<Collective> SharedMemory::make_broadcast(const Tensor& tensor, int root,
                                                         std::string description) {
  return std::make_unique<ShmCollective>(
      lane_, ShmJob{ShmJob::Kind::broadcast, tensor, tensor, root, rank(), size()}, std::move(description));
}

}  // namespace trireme
