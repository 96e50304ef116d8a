// SPDX-License-Identifier: Apache-2.0
// Which engine is faster, by trying both.
#pragma once

#include <functional>

#include "src/device/cuda/cudnn_api_handles.h"
#include "src/device/cuda/engine_choice.h"

namespace trireme {

/// Seconds that the GPU needs for what `launch` gives the stream.
using LaunchTimer = std::function<double(const std::function<void()>& launch)>;
/// The shortest of three runs between two events on `stream`, after one that warms up. Waits for the stream.
LaunchTimer event_timer(cudaStream_t stream);

struct EngineMeasurement {
  Precision precision = Precision::fp32;
  kernels::Conv2dShape shape;
  ConvolutionUse use;
  int multiprocessors = 1;
};

/// Sets the choice of every pass of the convolution that `choices` has none for: cuDNN where it can do the
/// pass and is faster, what it does in extra passes counted in. Takes memory for all operands and gives it
/// back; where there is not as much, the choice is native. The stream of `cudnn` is idle before and after.
void measure_engines(EngineChoices& choices, const EngineMeasurement& convolution, const CudnnHandle& cudnn,
                     const LaunchTimer& timer);

}  // namespace trireme
