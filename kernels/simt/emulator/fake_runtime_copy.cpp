// SPDX-License-Identifier: Apache-2.0
// Copies and memset. What they touch is looked at when they are given to a stream and once more when their
// turn comes, which in a graph may be long after.
#include <cstdio>
#include <cstring>
#include <memory>
#include <vector>

#include "kernels/simt/emulator/device_memory.h"
#include "kernels/simt/emulator/fake_runtime.h"
#include "kernels/simt/emulator/launch.h"
#include "kernels/simt/emulator/stream.h"

namespace trireme::simt::emulator {
namespace {

/// An empty text, or why `count` bytes at `pointer` are not what the kind of copy says.
std::string fault_of(const char* function, const char* role, const void* pointer, std::size_t count,
                     bool is_device) {
  const bool is_ok = is_device ? is_live_device_range(pointer, count)
                               : pointer != nullptr && !is_live_device_range(pointer, 1);
  if (is_ok) return "";
  char address[32];
  std::snprintf(address, sizeof address, "%p", pointer);
  return std::string(function) + ": the " + role + " " + address + " is not " +
         (is_device ? "device" : "host") + " memory of " + std::to_string(count) + " bytes: it is " +
         describe_pointer(pointer, count);
}

struct CopySides {
  bool to_device, from_device;
};

bool sides_of(cudaMemcpyKind kind, const void* to, const void* from, CopySides& sides) {
  switch (kind) {
    case cudaMemcpyHostToHost:
      sides = {false, false};
      return true;
    case cudaMemcpyHostToDevice:
      sides = {true, false};
      return true;
    case cudaMemcpyDeviceToHost:
      sides = {false, true};
      return true;
    case cudaMemcpyDeviceToDevice:
      sides = {true, true};
      return true;
    case cudaMemcpyDefault:
      sides = {is_live_device_range(to, 1), is_live_device_range(from, 1)};
      return true;
  }
  return false;
}

struct Side {
  unsigned char* begin;
  std::size_t pitch;  ///< bytes from row to row
  bool is_device;
};

/// `rows` rows of `width` bytes.
struct Copy {
  const char* function;
  Side to, from;
  std::size_t width, rows;

  std::size_t span(const Side& side) const { return (rows - 1) * side.pitch + width; }
  bool is_pinned(const Side& side) const { return is_pinned_range(side.begin, span(side)); }
  std::string fault() const {
    const std::string of_to = fault_of(function, "destination", to.begin, span(to), to.is_device);
    return of_to.empty() ? fault_of(function, "source", from.begin, span(from), from.is_device) : of_to;
  }
  void check() const {
    if (const std::string what = fault(); !what.empty()) throw EmulationError(what);
  }
  void run() const {
    for (std::size_t row = 0; row < rows; ++row)
      std::memmove(to.begin + row * to.pitch, from.begin + row * from.pitch, width);
  }
};

cudaError_t check_stream(const char* function, cudaStream_t stream) {
  if (Streams::instance().is_stream(stream)) return cudaSuccess;
  return report(cudaErrorInvalidResourceHandle,
                std::string(function) + ": the stream does not exist or was destroyed");
}

/// CUDA has read a pageable source when the call returns.
OperationPtr copy_of_now(Copy copy, cudaStream_t stream) {
  auto staged =
      std::make_shared<std::vector<unsigned char>>(copy.from.begin, copy.from.begin + copy.span(copy.from));
  copy.from = {staged->data(), copy.from.pitch, false};
  return Streams::instance().enqueue(stream, [copy, staged] {
    copy.check();
    copy.run();
  });
}

/// As CUDA does it: a copy from pageable memory reads it before the call returns, one to pageable memory is
/// finished then; pinned memory is read and written when the copy's turn comes.
cudaError_t give_copy(const Copy& copy, cudaStream_t stream, bool is_async) {
  if (const std::string fault = copy.fault(); !fault.empty()) return report(cudaErrorInvalidValue, fault);
  Streams& streams = Streams::instance();
  const bool from_pageable = !copy.from.is_device && !copy.is_pinned(copy.from);
  const bool to_pageable = !copy.to.is_device && !copy.is_pinned(copy.to);
  if (from_pageable || to_pageable)
    streams.forbid_if_captured(stream, std::string(copy.function) + ": pageable memory in a capture");
  if (!is_async) streams.forbid_in_captures(copy.function);
  OperationPtr operation;
  if (is_async && from_pageable)
    operation = copy_of_now(copy, stream);
  else
    operation = streams.enqueue(stream, [copy] {
      copy.check();
      copy.run();
    });
  const bool is_on_device = copy.to.is_device && copy.from.is_device;
  if (to_pageable || (!is_async && !is_on_device)) streams.wait(operation);
  return cudaSuccess;
}

cudaError_t copy_rows(const char* function, Side to, Side from, std::size_t width, std::size_t rows,
                      cudaMemcpyKind kind, cudaStream_t stream, bool is_async) {
  return guarded(function, [&]() -> cudaError_t {
    if (const cudaError_t status = check_stream(function, stream); status != cudaSuccess) return status;
    if (width == 0 || rows == 0) return cudaSuccess;
    CopySides sides{};
    if (!sides_of(kind, to.begin, from.begin, sides))
      return report(cudaErrorInvalidValue, std::string(function) + ": no such kind of copy");
    if (to.pitch < width || from.pitch < width)
      return report(cudaErrorInvalidValue, std::string(function) + ": rows longer than their pitch");
    to.is_device = sides.to_device;
    from.is_device = sides.from_device;
    return give_copy({function, to, from, width, rows}, stream, is_async);
  });
}

Side side_of(const void* begin, std::size_t pitch) {
  return {static_cast<unsigned char*>(const_cast<void*>(begin)), pitch, false};
}

cudaError_t set_bytes(const char* function, void* to, int value, std::size_t count, cudaStream_t stream) {
  if (const cudaError_t status = check_stream(function, stream); status != cudaSuccess) return status;
  if (count == 0) return cudaSuccess;
  const std::string fault = fault_of(function, "destination", to, count, true);
  if (!fault.empty()) return report(cudaErrorInvalidValue, fault);
  Streams::instance().enqueue(stream, [function, to, value, count] {
    if (const std::string late = fault_of(function, "destination", to, count, true); !late.empty())
      throw EmulationError(late);
    std::memset(to, value, count);
  });
  return cudaSuccess;
}

}  // namespace
}  // namespace trireme::simt::emulator

using namespace trireme::simt::emulator;

extern "C" {

cudaError_t cudaMemcpy(void* to, const void* from, size_t count, cudaMemcpyKind kind) {
  return copy_rows("cudaMemcpy", side_of(to, count), side_of(from, count), count, 1, kind, nullptr, false);
}
cudaError_t cudaMemcpyAsync(void* to, const void* from, size_t count, cudaMemcpyKind kind,
                            cudaStream_t stream) {
  return copy_rows("cudaMemcpyAsync", side_of(to, count), side_of(from, count), count, 1, kind, stream, true);
}
cudaError_t cudaMemcpy2DAsync(void* to, size_t to_pitch, const void* from, size_t from_pitch, size_t width,
                              size_t height, cudaMemcpyKind kind, cudaStream_t stream) {
  return copy_rows("cudaMemcpy2DAsync", side_of(to, to_pitch), side_of(from, from_pitch), width, height, kind,
                   stream, true);
}
cudaError_t cudaMemset(void* to, int value, size_t count) {
  return guarded("cudaMemset", [&] { return set_bytes("cudaMemset", to, value, count, nullptr); });
}
cudaError_t cudaMemsetAsync(void* to, int value, size_t count, cudaStream_t stream) {
  return guarded("cudaMemsetAsync", [&] { return set_bytes("cudaMemsetAsync", to, value, count, stream); });
}

}  // extern "C"
