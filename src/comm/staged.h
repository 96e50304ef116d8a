// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "src/comm/communicator.h"
#include "src/comm/messages.h"
#include "src/comm/staged_memory.h"

namespace trireme {

/// Lets a communicator of host memory sum tensors that are in a device's memory: they are copied to the host,
/// summed there, and copied back.
///
///     caller's stream  ── make ──┐                                  ┌── use ──
///     copy stream                └─ to host ─┐          ┌─ to device┘
///     CommThread                             └── sum ───┘
///
/// wait() holds the host up for the sum, and then lets the stream wait for the copy. Of the device's thread.
class StagedCommunicator final : public Communicator {
 public:
  /// `device` must outlive it and all that it allocates.
  StagedCommunicator(std::unique_ptr<Communicator> host, Device& device);
  ~StagedCommunicator() override;

  int rank() const override { return host_->rank(); }
  int size() const override { return host_->size(); }
  std::string_view name() const override { return host_->name(); }
  std::string description() const override;
  bool can_sum(DType type) const override { return host_->can_sum(type); }

  Ticket allreduce(const Tensor& tensor, Stream& stream, std::string_view what) override;
  Ticket reduce_scatter(const Tensor& tensor, const Tensor& result, Stream& stream,
                        std::string_view what) override;
  Ticket allgather(const Tensor& tensor, const Tensor& result, Stream& stream,
                   std::string_view what) override;
  Ticket broadcast(const Tensor& tensor, int root, Stream& stream, std::string_view what) override;
  void wait(Ticket ticket, Stream& stream) override;
  bool done(Ticket ticket) override { return host_->done(ticket); }
  /// Device memory; its image is the host communicator's memory.
  std::unique_ptr<Buffer> allocate(std::size_t bytes) override;

 private:
  /// A tensor, and where it is in host memory.
  struct Staged {
    Tensor device, host;
    const std::byte* block = nullptr;  // of the pool; null: in an image
  };
  Staged stage(const Tensor& tensor);
  void copy_to_host(const Staged& staged, Stream& stream);
  void copy_alone(const Tensor& from, const Tensor& to, Stream& stream);
  Ticket keep(Ticket ticket, std::vector<Staged> parts);
  void let_wait(Stream& waiting, Stream& awaited, Event& event);

  const std::unique_ptr<Communicator> host_;
  Device& device_;
  const std::shared_ptr<StagedMemory> memory_ = std::make_shared<StagedMemory>();
  ScratchPool blocks_;
  const std::unique_ptr<Stream> copies_;
  const std::unique_ptr<Event> made_, copied_;
  std::map<std::uint64_t, std::vector<Staged>> in_flight_;  // by ticket; the result is the last
};

}  // namespace trireme
