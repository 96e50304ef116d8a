// SPDX-License-Identifier: Apache-2.0
// Collectives and a progress exchange that do what a test tells them.
#pragma once

#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "src/comm/comm_thread.h"
#include "src/core/deadline.h"

namespace trireme::testing_support {

using Switch = std::shared_ptr<std::atomic<bool>>;
inline Switch switched(bool on) {
  return std::make_shared<std::atomic<bool>>(on);
}

/// Is complete when `open` is on.
class Gate final : public Collective {
 public:
  Gate(std::string name, Switch open, std::string awaited = {})
      : name_(std::move(name)), open_(std::move(open)), awaited_(std::move(awaited)) {}
  void start() override {}
  bool step() override { return *open_; }
  std::string describe() const override { return name_; }
  std::string awaited() const override { return awaited_; }

 private:
  std::string name_;
  Switch open_;
  std::string awaited_;
};

/// Never comes back from step() before `open` is on, as if the MPI library hung.
class Hanging final : public Collective {
 public:
  explicit Hanging(Switch open) : open_(std::move(open)) {}
  void start() override {}
  bool step() override {
    while (!*open_) std::this_thread::sleep_for(std::chrono::milliseconds(5));
    return true;
  }
  std::string describe() const override { return "allreduce of bucket 5"; }

 private:
  Switch open_;
};

/// What one rank of several sees of the others: the test plays them.
class FakeProgress final : public ProgressExchange {
 public:
  struct Script {
    std::atomic<int> sent{0}, farewells{0};
    std::atomic<bool> others_leave{true};
    std::mutex mutex;
    std::optional<Alarm> alarm;
    std::vector<std::string> raised;
    std::optional<ProgressRecord> last_sent;
  };

  FakeProgress(int rank, std::vector<std::string> hosts, std::shared_ptr<Script> script)
      : board_(rank, std::move(hosts), rank < 2), script_(std::move(script)) {}

  ProgressBoard& writable_board() { return board_; }
  const ProgressBoard& board() const override { return board_; }
  std::chrono::duration<double> interval() const override { return std::chrono::milliseconds(50); }
  void send(const ProgressRecord& own) override {
    const std::lock_guard lock(script_->mutex);
    script_->last_sent = own;
    ++script_->sent;
  }
  std::optional<Alarm> receive() override {
    const std::lock_guard lock(script_->mutex);
    return std::exchange(script_->alarm, std::nullopt);
  }
  void raise_alarm(std::string_view text) override {
    const std::lock_guard lock(script_->mutex);
    script_->raised.emplace_back(text);
  }
  bool leave(const ProgressRecord& /*own*/) override {
    ++script_->farewells;
    return script_->others_leave;
  }

 private:
  ProgressBoard board_;
  std::shared_ptr<Script> script_;
};

/// Whether it becomes true within a minute.
inline bool eventually(const std::function<bool()>& condition) {
  for (Deadline deadline(std::chrono::minutes(1)); !condition();) {
    if (deadline.passed()) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
  return true;
}

}  // namespace trireme::testing_support
