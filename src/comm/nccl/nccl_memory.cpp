// SPDX-License-Identifier: Apache-2.0
#include "src/comm/nccl/nccl_memory.h"

#include <utility>

namespace trireme {
namespace {

/// Memory of ncclMemAlloc.
class NcclBuffer final : public Buffer {
 public:
  NcclBuffer(const NcclApi& api, void* data, std::size_t bytes) : Buffer(data, bytes), api_(api) {}
  ~NcclBuffer() override { api_.mem_free(data_); }
  NcclBuffer(const NcclBuffer&) = delete;
  NcclBuffer& operator=(const NcclBuffer&) = delete;

 private:
  const NcclApi& api_;
};

std::unique_ptr<Buffer> allocate(const NcclApi& api, Device& device, std::size_t bytes) {
  void* data = nullptr;
  if (bytes == 0 || api.mem_alloc == nullptr || api.mem_free == nullptr ||
      api.mem_alloc(&data, bytes) != ncclSuccess)
    return device.allocate(bytes);
  auto buffer = std::make_unique<NcclBuffer>(api, data, bytes);
  device.zero(data, bytes, device.compute_stream());
  device.compute_stream().synchronize();
  return buffer;
}

/// Memory that the communicator knows; it forgets it before the memory goes, or has ended before.
class RegisteredBuffer final : public Buffer {
 public:
  RegisteredBuffer(std::shared_ptr<NcclHandle> handle, std::unique_ptr<Buffer> memory, void* registration)
      : Buffer(memory->data(), memory->bytes()),
        handle_(std::move(handle)),
        memory_(std::move(memory)),
        registration_(registration) {}
  ~RegisteredBuffer() override {
    handle_->call([this](ncclComm_t comm) { return handle_->api().comm_deregister(comm, registration_); });
  }
  RegisteredBuffer(const RegisteredBuffer&) = delete;
  RegisteredBuffer& operator=(const RegisteredBuffer&) = delete;

 private:
  std::shared_ptr<NcclHandle> handle_;
  std::unique_ptr<Buffer> memory_;
  void* registration_;
};

}  // namespace

std::unique_ptr<Buffer> allocate_for_nccl(std::shared_ptr<NcclHandle> handle, Device& device,
                                          std::size_t bytes) {
  const NcclApi& api = handle->api();
  std::unique_ptr<Buffer> memory = allocate(api, device, bytes);
  if (bytes == 0 || api.comm_register == nullptr || api.comm_deregister == nullptr) return memory;
  void* registration = nullptr;
  const ncclResult_t result = handle->call([&](ncclComm_t comm) {
    return api.comm_register(comm, memory->data(), memory->bytes(), &registration);
  });
  // Registered memory is faster, and any memory will do.
  if (result != ncclSuccess || registration == nullptr) return memory;
  return std::make_unique<RegisteredBuffer>(std::move(handle), std::move(memory), registration);
}

}  // namespace trireme
