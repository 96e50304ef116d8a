// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nccl.h>

#include <condition_variable>
#include <map>
#include <memory>
#include <mutex>
#include <thread>

namespace trireme::emulated {

/// The communicators that live, and while there are any a thread that helps other ranks along: they need this
/// one's part of a collective even where its own host waits for nothing.
class CommRegistry {
 public:
  static CommRegistry& instance();

  ncclComm_t add(std::shared_ptr<ncclComm> comm);
  /// Null where it does not live.
  std::shared_ptr<ncclComm> find(ncclComm_t comm);
  bool remove(ncclComm_t comm);

 private:
  void help();

  std::mutex mutex_;
  std::condition_variable ends_;
  std::map<ncclComm_t, std::shared_ptr<ncclComm>> comms_;
  std::thread helper_;
};

}  // namespace trireme::emulated
