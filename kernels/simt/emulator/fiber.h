// SPDX-License-Identifier: Apache-2.0
// A thread of a kernel as a fiber: a stack and the point where it goes on.
#pragma once

#include <boost/context/detail/fcontext.hpp>
#include <cstddef>

namespace trireme::simt::emulator {

/// Memory from mmap with a guard page below. Stacks of neighbours begin at different offsets: equal ones
/// would fall into the same sets of the L1 cache.
class FiberStack {
 public:
  explicit FiberStack(int index);
  ~FiberStack();
  FiberStack(FiberStack&& other) noexcept;
  FiberStack(const FiberStack&) = delete;
  FiberStack& operator=(const FiberStack&) = delete;
  FiberStack& operator=(FiberStack&&) = delete;

  void* top() const { return static_cast<char*>(bottom_) + size(); }
  void* bottom() const { return bottom_; }
  std::size_t size() const { return kBytes - color_; }

 private:
  static constexpr std::size_t kBytes = std::size_t{256} * 1024;
  void* bottom_ = nullptr;
  std::size_t color_;
};

/// Where a fiber, or the thread that runs them, goes on.
struct Fiber {
  boost::context::detail::fcontext_t context = nullptr;
  void* fake_stack = nullptr;  ///< AddressSanitizer's
  void* identity = nullptr;    ///< ThreadSanitizer's
  const void* stack_bottom = nullptr;
  std::size_t stack_size = 0;
};

}  // namespace trireme::simt::emulator
