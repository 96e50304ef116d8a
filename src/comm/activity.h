// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace trireme {

/// What a rank's main thread can be doing.
enum class Doing : std::uint8_t {
  starting,
  waiting_for_data,
  forward,
  backward,
  waiting_for_gradients,
  evaluating,
  saving,
  training,  ///< between the parts of a step
  ending,
};

/// "in backward of step 41"
std::string text_of(Doing doing, std::int64_t step);

/// One look at an Activity.
struct ActivityNow {
  Doing doing = Doing::starting;
  std::int64_t step = 0;
  std::string_view layer;  ///< whose gradient was announced last; empty: none yet
};

/// What the main thread does at present, for other threads to read at any time. Setting it costs one atomic
/// store.
class Activity {
 public:
  /// Names of the gradients, as numbered in announce(). Before other threads read.
  void name_layers(std::vector<std::string> names) { names_ = std::move(names); }

  void set(Doing doing) { pack(doing, step()); }
  void set(Doing doing, std::int64_t step) { pack(doing, step); }
  /// The gradient with this number is complete.
  void announce(std::size_t layer) {
    layer_.store(static_cast<std::int64_t>(layer), std::memory_order_relaxed);
  }

  ActivityNow now() const;

 private:
  void pack(Doing doing, std::int64_t step) {
    packed_.store((step << 8) | static_cast<std::int64_t>(doing), std::memory_order_relaxed);
  }
  std::int64_t step() const { return packed_.load(std::memory_order_relaxed) >> 8; }

  std::vector<std::string> names_;
  std::atomic<std::int64_t> packed_{0};  // step and doing, which belong together
  std::atomic<std::int64_t> layer_{-1};
};

/// Sets what is done for the time of a block, and then what was done before.
class ActivityScope {
 public:
  ActivityScope(Activity& activity, Doing doing) : activity_(activity), before_(activity.now().doing) {
    activity_.set(doing);
  }
  ~ActivityScope() { activity_.set(before_); }
  ActivityScope(const ActivityScope&) = delete;
  ActivityScope& operator=(const ActivityScope&) = delete;

 private:
  Activity& activity_;
  Doing before_;
};

}  // namespace trireme
