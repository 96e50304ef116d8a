// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cuda_runtime_api.h>

#include <functional>
#include <memory>
#include <string>

#include "src/device/device.h"

namespace trireme {

/// A CUDA graph of what `work` gives the stream, which does not run then. Null, and why, where the driver
/// cannot capture it or `work` throws an Error: what is wrong with `work` itself shows when it runs.
std::unique_ptr<Recording> record_graph(cudaStream_t stream, const std::function<void()>& work,
                                        std::string& why);

}  // namespace trireme
