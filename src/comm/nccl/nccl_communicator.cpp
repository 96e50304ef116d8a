// SPDX-License-Identifier: Apache-2.0
#include "src/comm/nccl/nccl_communicator.h"

#include <cstdlib>
#include <thread>
#include <utility>

#include "src/comm/nccl/nccl_memory.h"
#include "src/core/error.h"

namespace trireme {
namespace {

constexpr const char* kAlgorithmVariable = "NCCL_ALGO";

/// NCCL reads the variable while a communicator is made. What the site has set stays.
class AlgorithmScope {
 public:
  explicit AlgorithmScope(bool asks_for_ring) : is_set_(asks_for_ring) {
    if (is_set_) setenv(kAlgorithmVariable, "Ring", 0);
  }
  ~AlgorithmScope() {
    if (is_set_) unsetenv(kAlgorithmVariable);
  }
  AlgorithmScope(const AlgorithmScope&) = delete;
  AlgorithmScope& operator=(const AlgorithmScope&) = delete;

 private:
  const bool is_set_;
};

ncclDataType_t nccl_type(DType type) {
  switch (type) {
    case DType::u8:
      return ncclUint8;
    case DType::i32:
      return ncclInt32;
    case DType::i64:
      return ncclInt64;
    case DType::bf16:
      return ncclBfloat16;
    case DType::f16:
      return ncclFloat16;
    case DType::f32:
      return ncclFloat32;
    case DType::f64:
      return ncclFloat64;
  }
  return ncclNumTypes;
}

std::size_t count_of(const Tensor& tensor) {
  return static_cast<std::size_t>(tensor.count());
}

std::string site_value(const char* variable) {
  const char* const value = std::getenv(variable);
  return value != nullptr ? value : "";
}

}  // namespace

Nccl::Nccl(const Group& group, CommThread& thread, const GpuCommunication& gpu, NcclAlgorithm algorithm)
    : thread_(thread),
      device_(*gpu.device),
      rank_(group.rank()),
      size_(group.size()),
      algorithm_(algorithm),
      site_algorithm_(site_value(kAlgorithmVariable)) {
  if (size_ == 1) return;
  TRIREME_ASSERT(gpu.nccl != nullptr, "NCCL was found to be usable");
  const AlgorithmScope scope(algorithm == NcclAlgorithm::ring && site_algorithm_.empty());
  handle_ = std::make_shared<NcclHandle>(*gpu.nccl, group, thread.limit().timeout);
  stream_ = device_.make_stream();
}

Nccl::~Nccl() {
  if (handle_) handle_->end();  // with the other ranks, though its memory may hold it longer
}

std::string Nccl::description() const {
  if (size_ == 1) return fmt::format("{}: one GPU, which sums with nobody", name());
  std::string text = fmt::format("{}: NCCL {} on {} GPUs", name(), handle_->version(), size_);
  if (!site_algorithm_.empty())
    return text + fmt::format(", by NCCL_ALGO={}, which is set already", site_algorithm_);
  return text + (algorithm_ == NcclAlgorithm::ring ? ", around its ring (NCCL_ALGO=Ring)"
                                                   : ", which chooses its algorithms");
}

bool Nccl::can_sum(DType type) const {
  return type != DType::u8 && type != DType::i32;
}

template <typename Call>
Ticket Nccl::submit(std::string_view verb, std::string_view what, const Tensor& tensor, Stream& stream,
                    const Call& call) {
  const auto operation = std::make_shared<NcclOperation>(device_);
  stream.record(*operation->made);
  stream_->wait(*operation->made);
  const std::string place = fmt::format("{} of {}, {:.1f} KiB, on rank {} of {}", verb, what,
                                        static_cast<double>(tensor.bytes()) / 1024, rank_, size_);
  const Ticket ticket =
      thread_.submit(std::make_unique<NcclCollective>(handle_, operation, place), tensor.bytes());
  auto* const queue = static_cast<cudaStream_t>(stream_->native_handle());
  const ncclResult_t result = handle_->call([&](ncclComm_t comm) { return call(comm, queue); });
  if (result != ncclSuccess && result != ncclInProgress) {
    if (thread_.done(ticket)) thread_.wait(ticket);  // throws: it was aborted meanwhile, for what that says
    Error error = handle_->error(result, "NCCL");    // some of its words are for the thread that called
    operation->launch = result;
    throw std::move(error).at(place);
  }
  await_launch(*operation, ticket, result);
  in_flight_.emplace(ticket.id, operation);
  return ticket;
}

/// The first collectives connect the ranks, which takes NCCL a while; CommThread keeps the deadline.
void Nccl::await_launch(NcclOperation& operation, Ticket ticket, ncclResult_t result) {
  while (result == ncclInProgress && !thread_.done(ticket)) {
    std::this_thread::sleep_for(std::chrono::microseconds(20));
    result = handle_->state();
  }
  if (result == ncclSuccess) stream_->record(*operation.done);
  operation.launch = result;
  if (result != ncclSuccess) thread_.wait(ticket);  // throws what has gone wrong, in CommThread's words
}

Ticket Nccl::copy_alone(const Tensor& from, const Tensor& to, Stream& stream) {
  if (to.data != from.data) device_.copy(to, from, stream);
  return {};
}

Ticket Nccl::allreduce(const Tensor& tensor, Stream& stream, std::string_view what) {
  TRIREME_ASSERT(can_sum(tensor.dtype), "allreduce takes the types that this communicator sums");
  if (size_ == 1 || tensor.count() == 0) return {};
  return submit("allreduce", what, tensor, stream, [&](ncclComm_t comm, cudaStream_t queue) {
    return handle_->api().all_reduce(tensor.data, tensor.data, count_of(tensor), nccl_type(tensor.dtype),
                                     ncclSum, comm, queue);
  });
}

Ticket Nccl::reduce_scatter(const Tensor& tensor, const Tensor& result, Stream& stream,
                            std::string_view what) {
  TRIREME_ASSERT(can_sum(tensor.dtype) && result.dtype == tensor.dtype,
                 "reduce_scatter takes the types that this communicator sums");
  TRIREME_ASSERT(tensor.count() == result.count() * size_, "reduce_scatter takes one part per rank");
  if (result.count() == 0) return {};
  if (size_ == 1) return copy_alone(tensor, result, stream);
  return submit("reduce-scatter", what, tensor, stream, [&](ncclComm_t comm, cudaStream_t queue) {
    return handle_->api().reduce_scatter(tensor.data, result.data, count_of(result), nccl_type(result.dtype),
                                         ncclSum, comm, queue);
  });
}

Ticket Nccl::allgather(const Tensor& tensor, const Tensor& result, Stream& stream, std::string_view what) {
  TRIREME_ASSERT(result.dtype == tensor.dtype, "allgather does not convert");
  TRIREME_ASSERT(result.count() == tensor.count() * size_, "allgather gives one part per rank");
  if (tensor.count() == 0) return {};
  if (size_ == 1) return copy_alone(tensor, result, stream);
  return submit("allgather", what, result, stream, [&](ncclComm_t comm, cudaStream_t queue) {
    return handle_->api().all_gather(tensor.data, result.data, count_of(tensor), nccl_type(tensor.dtype),
                                     comm, queue);
  });
}

Ticket Nccl::broadcast(const Tensor& tensor, int root, Stream& stream, std::string_view what) {
  TRIREME_ASSERT(root >= 0 && root < size_, "the root of a broadcast is a rank");
  if (size_ == 1 || tensor.count() == 0) return {};
  return submit("broadcast", what, tensor, stream, [&](ncclComm_t comm, cudaStream_t queue) {
    return handle_->api().broadcast(tensor.data, tensor.data, count_of(tensor), nccl_type(tensor.dtype), root,
                                    comm, queue);
  });
}

void Nccl::wait(Ticket ticket, Stream& stream) {
  if (ticket.id == 0) return;
  if (thread_.done(ticket)) thread_.wait(ticket);  // does not block: it is complete, or has failed
  const auto found = in_flight_.find(ticket.id);
  if (found == in_flight_.end()) return;  // was waited for already
  stream.wait(*found->second->done);
  in_flight_.erase(found);
}

std::unique_ptr<Buffer> Nccl::allocate(std::size_t bytes) {
  return size_ == 1 ? device_.allocate(bytes) : allocate_for_nccl(handle_, device_, bytes);
}

}  // namespace trireme
