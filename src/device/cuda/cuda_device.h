// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cuda_runtime_api.h>

#include <memory>
#include <string>

#include "kernels/step/step.h"
#include "src/device/accelerator.h"
#include "src/device/device.h"

namespace trireme {

struct CudnnApi;

/// A GPU. All of it and of what it makes belongs to the thread that made it, but for events, which any thread
/// may ask.
class CudaDevice : public Device {
 public:
  DeviceKind kind() const final { return DeviceKind::cuda; }
  virtual cudaStream_t compute_handle() = 0;
  virtual int multiprocessors() const = 0;
  /// fp16: device memory, kept by the optimizer, read by the loss. Null in other precisions.
  virtual kernels::LossScaleState* loss_scale() = 0;
  /// Which engine computes which convolution, where that was measured: see CudaDeviceOptions.
  virtual std::string engine_choices() const = 0;
};

/// Makes the device the thread's current one. Error 69 where it is not there, 78 where it cannot compute in
/// the precision. `cudnn` may be null, with `cudnn_obstacle` saying why: 78 where the engine is cuDNN then.
std::unique_ptr<CudaDevice> make_cuda_device(const CudaDeviceOptions& options,
                                             const CudnnApi* cudnn = nullptr,
                                             const std::string& cudnn_obstacle = "");

}  // namespace trireme
