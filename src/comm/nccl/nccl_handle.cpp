// SPDX-License-Identifier: Apache-2.0
#include "src/comm/nccl/nccl_handle.h"

#include <cstring>
#include <exception>
#include <thread>
#include <vector>

#include "src/core/deadline.h"

namespace trireme {
namespace {

constexpr std::chrono::seconds kEndTimeout{5};
constexpr std::chrono::microseconds kBetweenLooks{200};

/// What the caller did wrong, or what this machine cannot do: no other rank is to blame.
bool is_refusal(ncclResult_t result) {
  return result == ncclInvalidArgument || result == ncclInvalidUsage;
}

}  // namespace

NcclHandle::NcclHandle(const NcclApi& api, const Group& group, std::chrono::duration<double> timeout)
    : api_(api) {
  try {
    connect(group, timeout);
  } catch (...) {
    abort();
    throw;
  }
}

void NcclHandle::connect(const Group& group, std::chrono::duration<double> timeout) {
  ncclUniqueId id{};
  if (group.rank() == 0)
    if (const ncclResult_t result = api_.get_unique_id(&id); result != ncclSuccess)
      throw error(result, "ncclGetUniqueId");
  std::vector<std::byte> bytes(sizeof id);
  std::memcpy(bytes.data(), &id, sizeof id);
  bytes = group.broadcast(std::move(bytes), 0, timeout, "the first rank to tell the others how NCCL meets");
  std::memcpy(&id, bytes.data(), sizeof id);
  ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
  config.blocking = 0;
  const ncclResult_t result = api_.comm_init_rank_config(&comm_, group.size(), id, group.rank(), &config);
  if (result != ncclSuccess && result != ncclInProgress)
    throw error(result, "NCCL's connection of the ranks");
  await_connection(group, timeout);
}

void NcclHandle::await_connection(const Group& group, std::chrono::duration<double> timeout) {
  Deadline deadline(timeout);
  for (ncclResult_t now = state(); now != ncclSuccess; now = state()) {
    if (now != ncclInProgress) throw error(now, "NCCL's connection of the ranks");
    if (deadline.passed())
      throw make_error(Status::peer_gone, "waited {:.3g} s for NCCL to connect the GPUs of {} ranks",
                       deadline.seconds_waited(), group.size())
          .at(fmt::format("rank {} of {}", group.rank(), group.size()))
          .hint(
              "a rank is gone, or its network is not the others'; NCCL_DEBUG=INFO and NCCL_SOCKET_IFNAME "
              "help to find out");
    std::this_thread::sleep_for(kBetweenLooks);
  }
}

void NcclHandle::end() noexcept {
  if (std::uncaught_exceptions() > 0 || !finalize()) abort();
}

/// True when nothing is left to do.
bool NcclHandle::finalize() noexcept {
  if (comm_ == nullptr) return true;
  const ncclResult_t result = call([this](ncclComm_t comm) { return api_.comm_finalize(comm); });
  if (result != ncclSuccess && result != ncclInProgress) return false;
  Deadline deadline(kEndTimeout);
  for (ncclResult_t now = state(); now != ncclSuccess; now = state()) {
    if (now != ncclInProgress || deadline.passed()) return false;
    std::this_thread::sleep_for(kBetweenLooks);
  }
  const std::lock_guard lock(mutex_);
  api_.comm_destroy(comm_);
  comm_ = nullptr;
  return true;
}

std::string NcclHandle::version() const {
  int version = 0;
  return api_.get_version(&version) == ncclSuccess ? nccl_version_text(version) : "of unknown version";
}

ncclResult_t NcclHandle::state() {
  return call([this](ncclComm_t comm) {
    ncclResult_t now = ncclSuccess;
    const ncclResult_t asked = api_.comm_get_async_error(comm, &now);
    return asked == ncclSuccess ? now : asked;
  });
}

Error NcclHandle::error(ncclResult_t result, std::string_view doing) {
  const std::lock_guard lock(mutex_);
  std::string text = fmt::format("{} failed: {}", doing, api_.get_error_string(result));
  const char* const last = api_.get_last_error(comm_);
  if (last != nullptr && *last != '\0') text += fmt::format(": {}", last);
  return make_error(is_refusal(result) ? Status::configuration : Status::peer_gone, "{}", text)
      .hint("NCCL_DEBUG=INFO makes NCCL say more");
}

void NcclHandle::abort() noexcept {
  const std::lock_guard lock(mutex_);
  if (comm_ != nullptr) api_.comm_abort(comm_);
  comm_ = nullptr;
}

}  // namespace trireme
