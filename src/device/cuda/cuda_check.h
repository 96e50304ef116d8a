// SPDX-License-Identifier: Apache-2.0
// What CUDA's runtime and the kernels complain about, as Errors.
#pragma once

#include <cuda_runtime_api.h>

#include <stdexcept>
#include <string>
#include <string_view>

#include "kernels/simt/launch_error.h"
#include "src/core/error.h"

namespace trireme {

/// Error that names the call, unless `status` is success: 78 for memory that is not there, 69 for a device
/// that is not there or is gone, else 70.
void check_cuda(cudaError_t status, std::string_view call);

/// A launch that was refused or a shape that a kernel cannot take, at `place`.
Error kernel_error(const std::exception& error, const std::string& place);

/// Runs `body`; what a kernel's launcher throws comes back as an Error at `place`.
template <typename F>
auto translating(const std::string& place, F&& body) {
  try {
    return body();
  } catch (const std::invalid_argument& error) {
    throw kernel_error(error, place);
  } catch (const simt::LaunchError& error) {
    throw kernel_error(error, place);
  }
}

}  // namespace trireme
