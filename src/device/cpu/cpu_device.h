// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "src/device/device.h"

namespace trireme {

struct CpuDeviceOptions {
  int threads = 1;  ///< OpenMP threads of every op; set once for the process by make_cpu_device
};

/// The cpu device: ops over oneDNN, fp32, blocked layouts between ops. Streams are synchronous.
std::unique_ptr<Device> make_cpu_device(const CpuDeviceOptions& options);

}  // namespace trireme
