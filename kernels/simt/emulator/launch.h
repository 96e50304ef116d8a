// SPDX-License-Identifier: Apache-2.0
// How a kernel gets to run in the emulator: the launch packs the arguments, checks them, and gives the grid
// to the stream, which runs it now or when somebody waits for it.
#pragma once

#include <cuda_runtime_api.h>

#include <functional>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>

#include "kernels/simt/launch_error.h"

namespace trireme::simt::emulator {

/// A fault of the kernel that the emulator saw. The message has kernel, block, thread, file and line.
class EmulationError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

struct GridShape {
  dim3 grid, block;
  std::size_t shared_bytes;
};

/// Runs every thread of the grid, each calling `thread` once. Throws EmulationError.
void run_grid(const LaunchSite& site, const GridShape& shape, const std::function<void()>& thread);
/// `check` and run_grid in their turn on `stream`; once more with each launch of a graph that keeps them.
void enqueue_grid(const LaunchSite& site, const GridShape& shape, cudaStream_t stream,
                  std::function<void()> check, std::function<void()> thread);

/// Throws LaunchError where the shape is beyond what sm_80 allows.
void check_shape(const LaunchSite& site, const GridShape& shape);
/// Throws LaunchError where `pointer` is neither null nor inside a live device allocation.
void check_device_pointer(const LaunchSite& site, const void* pointer);

/// Kernel arguments are numbers, device pointers, or structs: those show their pointers through
/// `template <typename Visit> void visit_pointers(Visit visit) const`.
template <typename T>
void check_argument(const LaunchSite& site, const T& argument) {
  if constexpr (std::is_pointer_v<T>)
    check_device_pointer(site, argument);
  else if constexpr (!std::is_arithmetic_v<T> && !std::is_enum_v<T>)
    argument.visit_pointers([&site](const void* pointer) { check_device_pointer(site, pointer); });
}

template <typename... Parameters, typename... Arguments>
void launch(LaunchSite site, void (*kernel)(Parameters...), dim3 grid, dim3 block, std::size_t shared_bytes,
            cudaStream_t stream, Arguments... arguments) {
  const GridShape shape{grid, block, shared_bytes};
  check_shape(site, shape);
  site.function = reinterpret_cast<const void*>(kernel);
  std::tuple<std::remove_cv_t<Parameters>...> packed(static_cast<Parameters>(arguments)...);
  const auto check = [site, packed] {
    std::apply([&site](const auto&... each) { (check_argument(site, each), ...); }, packed);
  };
  check();
  enqueue_grid(site, shape, stream, check, [kernel, packed = std::move(packed)] {
    [&]<std::size_t... I>(std::index_sequence<I...>) {
      kernel(std::get<I>(packed)...);
    }
    (std::index_sequence_for<Parameters...>());
  });
}

}  // namespace trireme::simt::emulator
