// SPDX-License-Identifier: Apache-2.0
#include "src/comm/nccl_emulated/comm_registry.h"

#include <chrono>
#include <utility>

#include "kernels/simt/emulator/fake_runtime.h"
#include "kernels/simt/emulator/stream.h"
#include "src/comm/nccl_emulated/emulated_comm.h"
#include "src/comm/signal_free_thread.h"

namespace trireme::emulated {
namespace {

constexpr std::chrono::milliseconds kBetweenLooks{10};
constexpr std::chrono::milliseconds kPatience{50};  // with a host that has not yet waited itself

}  // namespace

CommRegistry& CommRegistry::instance() {
  static auto& registry = *new CommRegistry;
  return registry;
}

ncclComm_t CommRegistry::add(std::shared_ptr<ncclComm> comm) {
  const std::lock_guard lock(mutex_);
  const ncclComm_t handle = comm.get();
  comms_[handle] = std::move(comm);
  if (!helper_.joinable()) helper_ = start_without_signals([this] { help(); });
  return handle;
}

std::shared_ptr<ncclComm> CommRegistry::find(ncclComm_t comm) {
  const std::lock_guard lock(mutex_);
  const auto found = comms_.find(comm);
  return found == comms_.end() ? nullptr : found->second;
}

bool CommRegistry::remove(ncclComm_t comm) {
  std::thread done;
  {
    const std::lock_guard lock(mutex_);
    if (comms_.erase(comm) == 0) return false;
    if (!comms_.empty()) return true;
    done = std::move(helper_);
  }
  ends_.notify_all();
  done.join();
  return true;
}

void CommRegistry::help() {
  const std::thread::id self = std::this_thread::get_id();
  std::unique_lock lock(mutex_);
  while (!ends_.wait_for(lock, kBetweenLooks, [&] { return helper_.get_id() != self; })) {
    lock.unlock();
    simt::emulator::guarded_for_later("a collective", [] {
      simt::emulator::Streams::instance().help_others(kPatience);
      return cudaSuccess;
    });
    lock.lock();
  }
}

}  // namespace trireme::emulated
