// SPDX-License-Identifier: Apache-2.0
#include "src/comm/nccl/nccl_api.h"

#include <fmt/format.h>

#include "src/core/shared_library.h"

namespace trireme {
namespace {

constexpr int kOldest = NCCL_VERSION(2, 14, 3);  // communicators that do not block came with 2.14

void take_communicators(SharedLibrary& symbols, NcclApi& api) {
  symbols.take(api.get_error_string, "ncclGetErrorString");
  symbols.take(api.get_last_error, "ncclGetLastError");
  symbols.take(api.get_unique_id, "ncclGetUniqueId");
  symbols.take(api.comm_init_rank_config, "ncclCommInitRankConfig");
  symbols.take(api.comm_finalize, "ncclCommFinalize");
  symbols.take(api.comm_destroy, "ncclCommDestroy");
  symbols.take(api.comm_abort, "ncclCommAbort");
  symbols.take(api.comm_get_async_error, "ncclCommGetAsyncError");
}

void take_collectives(SharedLibrary& symbols, NcclApi& api) {
  symbols.take(api.all_reduce, "ncclAllReduce");
  symbols.take(api.reduce_scatter, "ncclReduceScatter");
  symbols.take(api.all_gather, "ncclAllGather");
  symbols.take(api.broadcast, "ncclBroadcast");
  symbols.take(api.group_start, "ncclGroupStart");
  symbols.take(api.group_end, "ncclGroupEnd");
  symbols.take_optional(api.comm_register, "ncclCommRegister");
  symbols.take_optional(api.comm_deregister, "ncclCommDeregister");
  symbols.take_optional(api.mem_alloc, "ncclMemAlloc");
  symbols.take_optional(api.mem_free, "ncclMemFree");
}

}  // namespace

std::string nccl_version_text(int version) {
  // Since 2.9 the major version counts ten thousands, before that thousands.
  const int unit = version >= 10000 ? 10000 : 1000;
  return fmt::format("{}.{}.{}", version / unit, version % unit / 100, version % 100);
}

std::string nccl_version_obstacle(int version) {
  if (version >= kOldest) return "";
  return fmt::format("NCCL {} is too old: version {} or newer is needed", nccl_version_text(version),
                     nccl_version_text(kOldest));
}

NcclLibrary open_nccl(const char* library) {
  NcclLibrary loaded;
  SharedLibrary symbols(library);
  if (!symbols.is_open()) {
    loaded.obstacle = fmt::format(
        "NCCL cannot be loaded: {} (install NCCL 2, or name the folder of {} in LD_LIBRARY_PATH; a Python "
        "environment has it in site-packages/nvidia/nccl/lib)",
        symbols.reason(), library);
    return loaded;
  }
  symbols.take(loaded.api.get_version, "ncclGetVersion");
  int version = 0;
  if (symbols.missing().empty() && loaded.api.get_version(&version) == ncclSuccess)
    loaded.obstacle = nccl_version_obstacle(version);
  if (!loaded.obstacle.empty()) return loaded;
  take_communicators(symbols, loaded.api);
  take_collectives(symbols, loaded.api);
  if (!symbols.missing().empty())
    loaded.obstacle = fmt::format("{} has no function {}: it is no NCCL that this program can use", library,
                                  symbols.missing());
  return loaded;
}

const NcclApi* load_nccl(std::string& obstacle) {
  static const NcclLibrary library = open_nccl(kNcclLibrary);
  obstacle = library.obstacle;
  return obstacle.empty() ? &library.api : nullptr;
}

}  // namespace trireme
