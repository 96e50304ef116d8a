// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <memory>
#include <utility>

#include "src/device/device.h"

namespace trireme::testing_support {

/// A stream whose work is always done; counts how often somebody waited for it.
class HostStream final : public Stream {
 public:
  void record(Event& /*event*/) override {}
  void wait(const Event& /*event*/) override {}
  void synchronize() override { ++synchronized; }

  int synchronized = 0;
};

/// A stream whose work is done when the test says so.
class ClosedStream final : public Stream {
 public:
  using Switch = std::shared_ptr<std::atomic<bool>>;

  void record(Event& event) override { dynamic_cast<Point&>(event).open = is_open_; }
  void wait(const Event& /*event*/) override {}
  void synchronize() override {}
  std::unique_ptr<Event> make_event() override { return std::make_unique<Point>(); }

  /// What was recorded so far is reached; what follows waits again.
  void open() {
    *is_open_ = true;
    is_open_ = std::make_shared<std::atomic<bool>>(false);
  }

 private:
  struct Point final : public Event {
    bool done() const override { return *open; }
    void synchronize() override {}
    Switch open = std::make_shared<std::atomic<bool>>(true);
  };
  Switch is_open_ = std::make_shared<std::atomic<bool>>(false);
};

}  // namespace trireme::testing_support
