// SPDX-License-Identifier: Apache-2.0
// cuDNN's functions that the second convolution engine calls. The library is opened when it is wanted, never
// linked: a machine without it runs the same program.
#pragma once

#include <cudnn.h>

#include <cstddef>
#include <memory>
#include <string>

namespace trireme {

/// What libcudnn.so.9 exports, by the names and with the signatures of <cudnn.h>. Tests fill it with their
/// own.
struct CudnnApi {
  decltype(&cudnnGetVersion) get_version = nullptr;
  decltype(&cudnnGetErrorString) get_error_string = nullptr;
  decltype(&cudnnCreate) create = nullptr;
  decltype(&cudnnDestroy) destroy = nullptr;
  decltype(&cudnnSetStream) set_stream = nullptr;

  decltype(&cudnnCreateTensorDescriptor) create_tensor_descriptor = nullptr;
  decltype(&cudnnSetTensor4dDescriptor) set_tensor_4d_descriptor = nullptr;
  decltype(&cudnnDestroyTensorDescriptor) destroy_tensor_descriptor = nullptr;
  decltype(&cudnnCreateFilterDescriptor) create_filter_descriptor = nullptr;
  decltype(&cudnnSetFilter4dDescriptor) set_filter_4d_descriptor = nullptr;
  decltype(&cudnnDestroyFilterDescriptor) destroy_filter_descriptor = nullptr;
  decltype(&cudnnCreateConvolutionDescriptor) create_convolution_descriptor = nullptr;
  decltype(&cudnnSetConvolution2dDescriptor) set_convolution_2d_descriptor = nullptr;
  decltype(&cudnnSetConvolutionMathType) set_convolution_math_type = nullptr;
  decltype(&cudnnSetConvolutionGroupCount) set_convolution_group_count = nullptr;
  decltype(&cudnnDestroyConvolutionDescriptor) destroy_convolution_descriptor = nullptr;

  decltype(&cudnnGetConvolutionForwardAlgorithm_v7) get_forward_algorithms = nullptr;
  decltype(&cudnnGetConvolutionBackwardDataAlgorithm_v7) get_backward_data_algorithms = nullptr;
  decltype(&cudnnGetConvolutionBackwardFilterAlgorithm_v7) get_backward_filter_algorithms = nullptr;
  decltype(&cudnnGetConvolutionForwardWorkspaceSize) get_forward_workspace_size = nullptr;
  decltype(&cudnnGetConvolutionBackwardDataWorkspaceSize) get_backward_data_workspace_size = nullptr;
  decltype(&cudnnGetConvolutionBackwardFilterWorkspaceSize) get_backward_filter_workspace_size = nullptr;

  decltype(&cudnnConvolutionForward) convolution_forward = nullptr;
  decltype(&cudnnConvolutionBackwardData) convolution_backward_data = nullptr;
  decltype(&cudnnConvolutionBackwardFilter) convolution_backward_filter = nullptr;
  decltype(&cudnnConvolutionBackwardBias) convolution_backward_bias = nullptr;
  decltype(&cudnnAddTensor) add_tensor = nullptr;
};

/// The name that dlopen looks for.
inline constexpr const char* kCudnnLibrary = "libcudnn.so.9";

/// Opens `library` and takes the functions from it. Null where that cannot be done; `obstacle` then says, in
/// a user's words, what is missing and what to do about it. The library stays open until the process ends:
/// its threads and allocations outlive any handle. Any thread.
std::unique_ptr<const CudnnApi> load_cudnn(std::string& obstacle, const char* library = kCudnnLibrary);

/// Why this version, as cudnnGetVersion says it, cannot be used; empty if it can.
std::string cudnn_version_obstacle(std::size_t version);
/// "9.19.0" of 91900
std::string cudnn_version_text(std::size_t version);

}  // namespace trireme
