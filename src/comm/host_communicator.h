// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "src/comm/communicator.h"
#include "src/comm/gated_collective.h"

namespace trireme {

/// What all communicators on host memory share: checks of the arguments, the order with the stream, groups of
/// one, empty tensors, and messages. A collective begins when its stream has come to it; the caller goes on.
/// An algorithm is a subclass that makes the Collectives. The make functions are called by the thread that
/// calls the public verbs, in the order of submission, for size() > 1 and tensors that hold something.
class HostCommunicator : public Communicator {
 public:
  int rank() const final { return rank_; }
  int size() const final { return size_; }

  Ticket allreduce(const Tensor& tensor, Stream& stream, std::string_view what) final;
  Ticket reduce_scatter(const Tensor& tensor, const Tensor& result, Stream& stream,
                        std::string_view what) final;
  Ticket allgather(const Tensor& tensor, const Tensor& result, Stream& stream, std::string_view what) final;
  Ticket broadcast(const Tensor& tensor, int root, Stream& stream, std::string_view what) final;
  void wait(Ticket ticket, Stream& stream) final;
  bool done(Ticket ticket) final;
  bool can_sum(DType type) const override;
  /// Ordinary host memory.
  std::unique_ptr<Buffer> allocate(std::size_t bytes) override;

 protected:
  HostCommunicator(CommThread& thread, int rank, int size) : thread_(thread), rank_(rank), size_(size) {}

  virtual std::unique_ptr<Collective> make_allreduce(const Tensor& tensor, std::string description) = 0;
  virtual std::unique_ptr<Collective> make_reduce_scatter(const Tensor& tensor, const Tensor& result,
                                                          std::string description) = 0;
  virtual std::unique_ptr<Collective> make_allgather(const Tensor& tensor, const Tensor& result,
                                                     std::string description) = 0;
  virtual std::unique_ptr<Collective> make_broadcast(const Tensor& tensor, int root,
                                                     std::string description) = 0;

 private:
  /// "allreduce of bucket 3 (fc.weight), 4096.0 KiB, on rank 1 of 4"
  std::string describe(std::string_view verb, std::string_view what, const Tensor& tensor) const;
  Ticket submit(std::unique_ptr<Collective> collective, const Tensor& tensor, Stream& stream);
  static Ticket copy_alone(const Tensor& from, const Tensor& to, Stream& stream);

  CommThread& thread_;
  int rank_, size_;
  std::shared_ptr<StartOrder> order_;  // once there was a stream with unfinished work
};

}  // namespace trireme
