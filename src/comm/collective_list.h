// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "src/comm/comm_thread.h"

namespace trireme {

/// Collectives that are in flight together, and after them a copy inside this rank's memory.
class CollectiveList final : public Collective {
 public:
  struct Copy {
    const std::byte* from = nullptr;
    std::byte* to = nullptr;
    std::size_t bytes = 0;
  };

  /// The parts start in their order.
  CollectiveList(std::vector<std::unique_ptr<Collective>> parts, Copy copy, std::string description);

  void start() override;
  bool step() override;
  std::string describe() const override { return description_; }
  std::string awaited() const override;

 private:
  bool step_parts();
  bool copy_some();

  std::vector<std::unique_ptr<Collective>> parts_;
  std::vector<bool> done_;
  Copy copy_;
  std::size_t copied_ = 0;
  const std::string description_;
};

}  // namespace trireme
