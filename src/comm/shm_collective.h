// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "src/comm/comm_thread.h"
#include "src/comm/shm_direct.h"
#include "src/comm/shm_job.h"
#include "src/comm/shm_lane.h"
#include "src/comm/shm_meeting.h"
#include "src/comm/shm_staged.h"

namespace trireme {

/// A collective among the ranks of a lane.
class ShmCollective final : public Collective {
 public:
  ShmCollective(ShmLane& lane, const ShmJob& job, std::string description);

  void start() override;
  bool step() override;
  std::string describe() const override { return meeting_.description(); }
  std::string awaited() const override;

 private:
  bool work();
  void begin_route();

  ShmLane& lane_;
  const ShmJob job_;
  ShmMeeting meeting_;
  ShmDirect direct_;
  ShmStaged staged_;
  ShmRoute route_ = ShmRoute::unknown;
  bool worked_ = false, finished_ = false;
};

}  // namespace trireme
