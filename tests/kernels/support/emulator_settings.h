// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "kernels/simt/emulator/launch.h"
#include "kernels/simt/emulator/settings.h"

namespace trireme::test {

/// Changes the emulator's settings for a scope.
class WithSettings {
 public:
  template <typename Change>
  explicit WithSettings(Change change) : before_(simt::emulator::settings()) {
    change(simt::emulator::settings());
  }
  ~WithSettings() { simt::emulator::settings() = before_; }
  WithSettings(const WithSettings&) = delete;
  WithSettings& operator=(const WithSettings&) = delete;

 private:
  simt::emulator::Settings before_;
};

/// The message of the fault that `launch` ends with, at once or (lazy streams) when waited for; or an empty
/// text.
template <typename Launch>
std::string fault_of(Launch launch) {
  try {
    launch();
    const cudaError_t status = cudaDeviceSynchronize();
    return status == cudaSuccess ? "" : cudaGetErrorString(status);
  } catch (const simt::emulator::EmulationError& error) {
    return error.what();
  } catch (const simt::LaunchError& error) {
    return error.what();
  }
}

/// "file.cpp:line" as messages name it.
inline std::string place(const char* file, int line) {
  return std::string(file) + ":" + std::to_string(line);
}

}  // namespace trireme::test
