// SPDX-License-Identifier: Apache-2.0
// Which engine computes which pass of which convolution of this process.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "src/device/accelerator.h"
#include "src/device/cuda/engine_choice.h"

namespace trireme {

struct CudnnApi;
class CudnnHandle;

/// cuDNN beside our kernels, and the choices between them. For the device's thread.
class ConvolutionEngines {
 public:
  /// `cudnn` may be null: then all is native, or Error (78) with `obstacle` where the engine is cuDNN.
  ConvolutionEngines(const CudaDeviceOptions& options, const CudnnApi* cudnn, const std::string& obstacle,
                     cudaStream_t stream, int multiprocessors);
  ~ConvolutionEngines();
  ConvolutionEngines(const ConvolutionEngines&) = delete;
  ConvolutionEngines& operator=(const ConvolutionEngines&) = delete;

  /// Native or cuDNN, for each pass; measures where the engine is automatic and nothing is known yet.
  Engine choose(const kernels::Conv2dShape& shape, const ConvolutionUse& use, ConvolutionPass pass);
  /// Null without cuDNN.
  const CudnnHandle* cudnn() const { return handle_.get(); }
  const EngineChoices& choices() const { return choices_; }

 private:
  Engine wanted_;
  Precision precision_;
  int multiprocessors_;
  std::unique_ptr<CudnnHandle> handle_;
  EngineChoices choices_;
};

}  // namespace trireme
