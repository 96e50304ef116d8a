// SPDX-License-Identifier: Apache-2.0
#include "src/comm/nccl_emulated/emulated_nccl.h"

#include <cuda_runtime_api.h>

#include <atomic>
#include <cstring>
#include <thread>
#include <utility>

#include "kernels/simt/emulator/device_memory.h"
#include "src/comm/nccl_emulated/collective_call.h"
#include "src/comm/nccl_emulated/comm_registry.h"
#include "src/comm/nccl_emulated/emulated_comm.h"
#include "src/comm/nccl_emulated/reduction.h"

namespace trireme {
namespace emulated {
namespace {

using simt::emulator::Streams;

struct QueuedCall {
  CollectiveCall call;
  cudaStream_t stream;
};

/// What this thread has between ncclGroupStart and ncclGroupEnd, and its last error without a communicator.
struct ThreadState {
  int group_depth = 0;
  std::vector<QueuedCall> queued;
  std::string last_error;
};

ThreadState& this_thread() {
  thread_local ThreadState state;
  return state;
}

ncclResult_t refuse(ncclResult_t result, std::string why) {
  this_thread().last_error = std::move(why);
  return result;
}

/// Calls `work` with a communicator that lives.
template <typename Work>
ncclResult_t with_comm(ncclComm_t handle, const Work& work) {
  const std::shared_ptr<ncclComm> comm = CommRegistry::instance().find(handle);
  if (comm == nullptr) return refuse(ncclInvalidArgument, "the communicator does not exist or was destroyed");
  try {
    return work(comm);
  } catch (const std::exception& error) {
    return refuse(ncclSystemError, error.what());
  }
}

ncclResult_t launch(const QueuedCall& queued) {
  try {
    Streams::instance().enqueue_with_others(queued.stream,
                                            [call = queued.call] { return begin_collective(call); });
    return ncclSuccess;
  } catch (const std::exception& error) {
    return refuse(ncclUnhandledCudaError, error.what());
  }
}

std::string fault_of(const CollectiveCall& call, cudaStream_t stream) {
  if (!Streams::instance().is_stream(stream)) return "the stream does not exist or was destroyed";
  if (size_of(call.type) == 0) return "this type is not emulated";
  if (!is_emulated(call.operation)) return "this operation is not emulated";
  if (call.root < 0 || call.root >= call.comm->size()) return "the root is no rank of the communicator";
  return call.fault();
}

ncclResult_t take(ncclComm_t handle, CollectiveCall call, cudaStream_t stream) {
  return with_comm(handle, [&](const std::shared_ptr<ncclComm>& comm) -> ncclResult_t {
    const ncclResult_t state = comm->state();
    if (state == ncclInProgress)
      return refuse(ncclInvalidUsage, "the communicator is not connected yet, or already finalized");
    if (state != ncclSuccess) return refuse(state, "the communicator is broken: " + comm->last_error());
    call.comm = comm;
    if (const std::string fault = fault_of(call, stream); !fault.empty())
      return refuse(ncclInvalidArgument, fault);
    ThreadState& own = this_thread();
    if (own.group_depth == 0) return launch({std::move(call), stream});
    own.queued.push_back({std::move(call), stream});
    return ncclSuccess;
  });
}

CollectiveCall call_of(Verb verb, const void* send, void* receive, std::size_t count, ncclDataType_t type) {
  return {verb,
          static_cast<const std::byte*>(send),
          static_cast<std::byte*>(receive),
          count,
          type,
          ncclSum,
          /*root=*/0,
          nullptr};
}

ncclResult_t get_version(int* version) {
  *version = NCCL_VERSION_CODE;
  return ncclSuccess;
}

const char* error_string(ncclResult_t result) {
  constexpr const char* kTexts[] = {"no error",
                                    "unhandled cuda error",
                                    "unhandled system error",
                                    "internal error",
                                    "invalid argument",
                                    "invalid usage",
                                    "remote process exited or there was a network error",
                                    "operation in progress"};
  return result >= 0 && result < ncclNumResults ? kTexts[result] : "unknown result code";
}

const char* last_error(ncclComm_t handle) {
  const std::shared_ptr<ncclComm> comm = CommRegistry::instance().find(handle);
  std::string& text = this_thread().last_error;
  if (comm != nullptr && !comm->last_error().empty()) text = comm->last_error();
  return text.c_str();
}

ncclResult_t get_unique_id(ncclUniqueId* id) {
  static std::atomic<std::int64_t> made{0};
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  const UniqueId own{rank, made++};
  *id = {};
  std::memcpy(id->internal, &own, sizeof own);
  return ncclSuccess;
}

ncclResult_t check_threads() {
  int initialized = 0, level = MPI_THREAD_SINGLE;
  MPI_Initialized(&initialized);
  if (initialized != 0) MPI_Query_thread(&level);
  if (level == MPI_THREAD_MULTIPLE) return ncclSuccess;
  return refuse(ncclSystemError, "NCCL between emulated GPUs needs MPI_THREAD_MULTIPLE");
}

ncclResult_t comm_init(ncclComm_t* handle, int size, ncclUniqueId id, int rank, ncclConfig_t* config) {
  if (handle == nullptr || size < 1 || rank < 0 || rank >= size)
    return refuse(ncclInvalidArgument, "no place for the communicator, or no such rank");
  *handle = nullptr;
  if (const ncclResult_t result = check_threads(); result != ncclSuccess) return result;
  UniqueId own{};
  std::memcpy(&own, id.internal, sizeof own);
  try {
    *handle = CommRegistry::instance().add(std::make_shared<ncclComm>(own, size, rank));
  } catch (const std::exception& error) {
    return refuse(ncclSystemError, error.what());
  }
  if (config != nullptr && config->blocking == 0) return ncclInProgress;
  return with_comm(*handle, [](const std::shared_ptr<ncclComm>& comm) {
    ncclResult_t state = comm->state();
    for (; state == ncclInProgress; state = comm->state()) std::this_thread::yield();
    return state;
  });
}

ncclResult_t comm_get_async_error(ncclComm_t handle, ncclResult_t* error) {
  return with_comm(handle, [&](const std::shared_ptr<ncclComm>& comm) {
    *error = comm->state();
    return ncclSuccess;
  });
}

ncclResult_t comm_finalize(ncclComm_t handle) {
  return with_comm(handle, [](const std::shared_ptr<ncclComm>& comm) {
    comm->finalize();
    return ncclInProgress;
  });
}

ncclResult_t comm_destroy(ncclComm_t handle) {
  return with_comm(handle, [&](const std::shared_ptr<ncclComm>&) {
    CommRegistry::instance().remove(handle);
    return ncclSuccess;
  });
}

ncclResult_t comm_abort(ncclComm_t handle) {
  return with_comm(handle, [&](const std::shared_ptr<ncclComm>& comm) {
    comm->abort();
    CommRegistry::instance().remove(handle);
    return ncclSuccess;
  });
}

ncclResult_t all_reduce(const void* send, void* receive, std::size_t count, ncclDataType_t type,
                        ncclRedOp_t operation, ncclComm_t comm, cudaStream_t stream) {
  CollectiveCall call = call_of(Verb::all_reduce, send, receive, count, type);
  call.operation = operation;
  return take(comm, std::move(call), stream);
}

ncclResult_t reduce_scatter(const void* send, void* receive, std::size_t count, ncclDataType_t type,
                            ncclRedOp_t operation, ncclComm_t comm, cudaStream_t stream) {
  CollectiveCall call = call_of(Verb::reduce_scatter, send, receive, count, type);
  call.operation = operation;
  return take(comm, std::move(call), stream);
}

ncclResult_t all_gather(const void* send, void* receive, std::size_t count, ncclDataType_t type,
                        ncclComm_t comm, cudaStream_t stream) {
  return take(comm, call_of(Verb::all_gather, send, receive, count, type), stream);
}

ncclResult_t broadcast(const void* send, void* receive, std::size_t count, ncclDataType_t type, int root,
                       ncclComm_t comm, cudaStream_t stream) {
  CollectiveCall call = call_of(Verb::broadcast, send, receive, count, type);
  call.root = root;
  return take(comm, std::move(call), stream);
}

ncclResult_t group_start() {
  ++this_thread().group_depth;
  return ncclSuccess;
}

ncclResult_t group_end() {
  ThreadState& own = this_thread();
  if (own.group_depth == 0) return refuse(ncclInvalidUsage, "ncclGroupEnd without ncclGroupStart");
  if (--own.group_depth > 0) return ncclSuccess;
  ncclResult_t result = ncclSuccess;
  for (const QueuedCall& queued : std::exchange(own.queued, {}))
    if (result == ncclSuccess) result = launch(queued);
  return result;
}

ncclResult_t comm_register(const ncclComm_t handle, void* memory, std::size_t bytes, void** registration) {
  return with_comm(handle, [&](const std::shared_ptr<ncclComm>& comm) -> ncclResult_t {
    if (bytes == 0 || !simt::emulator::is_live_device_range(memory, bytes))
      return refuse(ncclInvalidArgument,
                    "not in device memory: it is " + simt::emulator::describe_pointer(memory, bytes));
    comm->add_registration(memory, bytes);
    *registration = memory;
    return ncclSuccess;
  });
}

ncclResult_t comm_deregister(const ncclComm_t handle, void* registration) {
  return with_comm(handle, [&](const std::shared_ptr<ncclComm>& comm) -> ncclResult_t {
    if (comm->remove_registration(registration)) return ncclSuccess;
    return refuse(ncclInvalidArgument, "the memory is not registered");
  });
}

ncclResult_t as_nccl(cudaError_t status) {
  return status == cudaSuccess ? ncclSuccess : refuse(ncclUnhandledCudaError, cudaGetErrorString(status));
}

ncclResult_t mem_alloc(void** memory, std::size_t bytes) {
  return as_nccl(cudaMalloc(memory, bytes));
}
ncclResult_t mem_free(void* memory) {
  return as_nccl(cudaFree(memory));
}

}  // namespace
}  // namespace emulated

const NcclApi& emulated_nccl() {
  static const NcclApi api = [] {
    NcclApi made;
    made.get_version = emulated::get_version;
    made.get_error_string = emulated::error_string;
    made.get_last_error = emulated::last_error;
    made.get_unique_id = emulated::get_unique_id;
    made.comm_init_rank_config = emulated::comm_init;
    made.comm_finalize = emulated::comm_finalize;
    made.comm_destroy = emulated::comm_destroy;
    made.comm_abort = emulated::comm_abort;
    made.comm_get_async_error = emulated::comm_get_async_error;
    made.all_reduce = emulated::all_reduce;
    made.reduce_scatter = emulated::reduce_scatter;
    made.all_gather = emulated::all_gather;
    made.broadcast = emulated::broadcast;
    made.group_start = emulated::group_start;
    made.group_end = emulated::group_end;
    made.comm_register = emulated::comm_register;
    made.comm_deregister = emulated::comm_deregister;
    made.mem_alloc = emulated::mem_alloc;
    made.mem_free = emulated::mem_free;
    return made;
  }();
  return api;
}

}  // namespace trireme
