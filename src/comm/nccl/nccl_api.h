// SPDX-License-Identifier: Apache-2.0
// NCCL's functions that communicators call. The library is opened when it is wanted, never linked: a machine
// without it runs the same program.
#pragma once

#include <nccl.h>

#include <string>

namespace trireme {

/// What libnccl.so.2 exports, by the names and with the signatures of <nccl.h>. Programs over emulated GPUs
/// and tests fill it with their own.
struct NcclApi {
  decltype(&ncclGetVersion) get_version = nullptr;
  decltype(&ncclGetErrorString) get_error_string = nullptr;
  decltype(&ncclGetLastError) get_last_error = nullptr;

  decltype(&ncclGetUniqueId) get_unique_id = nullptr;
  decltype(&ncclCommInitRankConfig) comm_init_rank_config = nullptr;
  decltype(&ncclCommFinalize) comm_finalize = nullptr;
  decltype(&ncclCommDestroy) comm_destroy = nullptr;
  decltype(&ncclCommAbort) comm_abort = nullptr;
  decltype(&ncclCommGetAsyncError) comm_get_async_error = nullptr;

  decltype(&ncclAllReduce) all_reduce = nullptr;
  decltype(&ncclReduceScatter) reduce_scatter = nullptr;
  decltype(&ncclAllGather) all_gather = nullptr;
  decltype(&ncclBroadcast) broadcast = nullptr;
  decltype(&ncclGroupStart) group_start = nullptr;
  decltype(&ncclGroupEnd) group_end = nullptr;

  // Null where the library has none.
  decltype(&ncclCommRegister) comm_register = nullptr;
  decltype(&ncclCommDeregister) comm_deregister = nullptr;
  decltype(&ncclMemAlloc) mem_alloc = nullptr;
  decltype(&ncclMemFree) mem_free = nullptr;
};

/// The name that dlopen looks for.
inline constexpr const char* kNcclLibrary = "libnccl.so.2";

/// What became of opening a library: its functions, or in a user's words what is missing and what to do
/// about it.
struct NcclLibrary {
  NcclApi api;
  std::string obstacle;
};
/// The library stays open until the process ends: its threads outlive any communicator.
NcclLibrary open_nccl(const char* library);

/// The functions of kNcclLibrary, opened at the first call; null with the obstacle where there is one. Any
/// thread.
const NcclApi* load_nccl(std::string& obstacle);

/// Why this version, as ncclGetVersion says it, cannot be used; empty if it can.
std::string nccl_version_obstacle(int version);
/// "2.28.9" of 22809
std::string nccl_version_text(int version);

}  // namespace trireme
