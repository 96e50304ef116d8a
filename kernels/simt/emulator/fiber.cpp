// SPDX-License-Identifier: Apache-2.0
#include "kernels/simt/emulator/fiber.h"

#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>
#include <utility>

namespace trireme::simt::emulator {
namespace {

constexpr std::size_t kColorBytes = 576;
constexpr int kColors = 16;

std::size_t page_size() {
  return static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
}

}  // namespace

FiberStack::FiberStack(int index) : color_(static_cast<std::size_t>(index % kColors) * kColorBytes) {
  void* memory = mmap(nullptr, kBytes + page_size(), PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED || mprotect(memory, page_size(), PROT_NONE) != 0)
    throw std::system_error(errno, std::generic_category(), "emulator: no memory for the stack of a thread");
  bottom_ = static_cast<char*>(memory) + page_size();
}

FiberStack::FiberStack(FiberStack&& other) noexcept
    : bottom_(std::exchange(other.bottom_, nullptr)), color_(other.color_) {}

FiberStack::~FiberStack() {
  if (bottom_ != nullptr) munmap(static_cast<char*>(bottom_) - page_size(), kBytes + page_size());
}

}  // namespace trireme::simt::emulator
