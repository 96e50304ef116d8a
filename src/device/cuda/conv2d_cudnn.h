// SPDX-License-Identifier: Apache-2.0
// One convolution by cuDNN: what kernels/conv2d/conv2d.h computes, on the same memory and with the same
// packed weights. cuDNN knows no channel pitch, so pictures must have none: other convolutions stay with our
// kernels.
//
// Only algorithms that give the same bits every time are taken. Statistics for a batch norm are not made, and
// what our kernels do in their epilogues takes passes of its own here.
#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <string>

#include "kernels/conv2d/conv2d.h"
#include "src/device/cuda/cudnn_api_handles.h"
#include "src/device/cuda/engine_choice.h"

namespace trireme {

/// T as for the kernels: simt::BFloat16, simt::Half, simt::Tf32 (fp32 in memory) or float.
template <typename T>
class CudnnConvolution {
 public:
  /// Why cuDNN cannot have this convolution at all, or nothing.
  static std::string shape_obstacle(const kernels::Conv2dShape& shape);

  /// Chooses an algorithm for each pass by cuDNN's heuristics; no device memory is touched. The shape has no
  /// obstacle. `handle` must outlive this.
  CudnnConvolution(const CudnnHandle& handle, const kernels::Conv2dShape& shape);

  /// Why this pass cannot be had ("cuDNN has no algorithm ..."), or nothing.
  const std::string& obstacle(ConvolutionPass pass) const;
  /// Device memory that the pass needs beside its operands, to be aligned to 256 bytes.
  std::size_t workspace_bytes(ConvolutionPass pass) const;

  // Launches on the handle's stream. Passes without obstacle; `statistics` must be null.
  void forward(const kernels::Conv2dForward<T>& pass, void* workspace) const;
  void backward_data(const kernels::Conv2dBackwardData<T>& pass, void* workspace) const;
  void backward_weights(const kernels::Conv2dBackwardWeights<T>& pass) const;

 private:
  /// An algorithm, its descriptor with the math that it was chosen with, and cuDNN's own memory.
  template <typename Algorithm>
  struct Planned {
    std::optional<CudnnConvolutionDescriptor> convolution;
    Algorithm algorithm{};
    std::size_t workspace_bytes = 0;
    std::string obstacle;
  };

  void plan_forward();
  void plan_backward_data();
  void plan_backward_weights();
  void backward_bias(const kernels::Conv2dBackwardWeights<T>& pass) const;
  /// A gradient that cuDNN wrote in T, to where it belongs.
  void deliver_gradient(float* gradient, const T* made, float* widened, std::int64_t count,
                        bool accumulate) const;
  std::int64_t weights_count() const;

  const CudnnHandle& handle_;
  kernels::Conv2dShape shape_;
  CudnnTensor x_, y_, bias_;
  CudnnFilter weights_;
  Planned<cudnnConvolutionFwdAlgo_t> forward_;
  Planned<cudnnConvolutionBwdDataAlgo_t> data_;
  Planned<cudnnConvolutionBwdFilterAlgo_t> filter_;
};

}  // namespace trireme
