// SPDX-License-Identifier: Apache-2.0
// The three passes of one convolution, whoever computes them.
#pragma once

#include <cstddef>
#include <memory>

#include "kernels/conv2d/conv2d.h"
#include "src/device/cuda/conv2d_engines.h"

namespace trireme {

/// Launches only. T as for the kernels: BFloat16, Half, Tf32 or float.
template <typename T>
class ConvolutionPasses {
 public:
  virtual ~ConvolutionPasses() = default;
  /// Device memory that the pass needs beside its operands, aligned to 256 bytes.
  virtual std::size_t workspace_bytes(ConvolutionPass pass) const = 0;
  virtual void forward(const kernels::Conv2dForward<T>& pass, void* workspace) const = 0;
  virtual void backward_data(const kernels::Conv2dBackwardData<T>& pass, void* workspace) const = 0;
  virtual void backward_weights(const kernels::Conv2dBackwardWeights<T>& pass) const = 0;
};

/// By our kernels, which can do everything.
template <typename T>
std::unique_ptr<ConvolutionPasses<T>> make_native_passes(const kernels::Conv2dShape& shape,
                                                         int multiprocessors, cudaStream_t stream);
/// By cuDNN, which makes no statistics; only for passes that `engines` chose it for.
template <typename T>
std::unique_ptr<ConvolutionPasses<T>> make_cudnn_passes(const kernels::Conv2dShape& shape,
                                                        const ConvolutionEngines& engines);

}  // namespace trireme
