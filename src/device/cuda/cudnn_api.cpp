// SPDX-License-Identifier: Apache-2.0
#include "src/device/cuda/cudnn_api.h"

#include <fmt/format.h>

#include "src/core/shared_library.h"

namespace trireme {
namespace {

constexpr std::size_t kOldestMajor = 9;

void take_descriptors(SharedLibrary& symbols, CudnnApi& api) {
  symbols.take(api.create_tensor_descriptor, "cudnnCreateTensorDescriptor");
  symbols.take(api.set_tensor_4d_descriptor, "cudnnSetTensor4dDescriptor");
  symbols.take(api.destroy_tensor_descriptor, "cudnnDestroyTensorDescriptor");
  symbols.take(api.create_filter_descriptor, "cudnnCreateFilterDescriptor");
  symbols.take(api.set_filter_4d_descriptor, "cudnnSetFilter4dDescriptor");
  symbols.take(api.destroy_filter_descriptor, "cudnnDestroyFilterDescriptor");
  symbols.take(api.create_convolution_descriptor, "cudnnCreateConvolutionDescriptor");
  symbols.take(api.set_convolution_2d_descriptor, "cudnnSetConvolution2dDescriptor");
  symbols.take(api.set_convolution_math_type, "cudnnSetConvolutionMathType");
  symbols.take(api.set_convolution_group_count, "cudnnSetConvolutionGroupCount");
  symbols.take(api.destroy_convolution_descriptor, "cudnnDestroyConvolutionDescriptor");
}

void take_algorithms(SharedLibrary& symbols, CudnnApi& api) {
  symbols.take(api.get_forward_algorithms, "cudnnGetConvolutionForwardAlgorithm_v7");
  symbols.take(api.get_backward_data_algorithms, "cudnnGetConvolutionBackwardDataAlgorithm_v7");
  symbols.take(api.get_backward_filter_algorithms, "cudnnGetConvolutionBackwardFilterAlgorithm_v7");
  symbols.take(api.get_forward_workspace_size, "cudnnGetConvolutionForwardWorkspaceSize");
  symbols.take(api.get_backward_data_workspace_size, "cudnnGetConvolutionBackwardDataWorkspaceSize");
  symbols.take(api.get_backward_filter_workspace_size, "cudnnGetConvolutionBackwardFilterWorkspaceSize");
}

void take_passes(SharedLibrary& symbols, CudnnApi& api) {
  symbols.take(api.get_error_string, "cudnnGetErrorString");
  symbols.take(api.create, "cudnnCreate");
  symbols.take(api.destroy, "cudnnDestroy");
  symbols.take(api.set_stream, "cudnnSetStream");
  symbols.take(api.convolution_forward, "cudnnConvolutionForward");
  symbols.take(api.convolution_backward_data, "cudnnConvolutionBackwardData");
  symbols.take(api.convolution_backward_filter, "cudnnConvolutionBackwardFilter");
  symbols.take(api.convolution_backward_bias, "cudnnConvolutionBackwardBias");
  symbols.take(api.add_tensor, "cudnnAddTensor");
}

}  // namespace

std::string cudnn_version_text(std::size_t version) {
  // Since version 9 the major version counts ten thousands, before that thousands.
  const std::size_t unit = version >= 90000 ? 10000 : 1000;
  return fmt::format("{}.{}.{}", version / unit, version % unit / 100, version % 100);
}

std::string cudnn_version_obstacle(std::size_t version) {
  if (version >= kOldestMajor * 10000) return "";
  return fmt::format("cuDNN {} is too old: version {} or newer is needed", cudnn_version_text(version),
                     kOldestMajor);
}

std::unique_ptr<const CudnnApi> load_cudnn(std::string& obstacle, const char* library) {
  SharedLibrary symbols(library);
  if (!symbols.is_open()) {
    obstacle = fmt::format(
        "cuDNN cannot be loaded: {} (install cuDNN 9, or name the folder of {} in LD_LIBRARY_PATH; a Python "
        "environment has it in site-packages/nvidia/cudnn/lib)",
        symbols.reason(), library);
    return nullptr;
  }
  auto api = std::make_unique<CudnnApi>();
  symbols.take(api->get_version, "cudnnGetVersion");
  if (symbols.missing().empty()) obstacle = cudnn_version_obstacle(api->get_version());
  if (symbols.missing().empty() && !obstacle.empty()) return nullptr;
  take_passes(symbols, *api);
  take_descriptors(symbols, *api);
  take_algorithms(symbols, *api);
  if (!symbols.missing().empty()) {
    obstacle = fmt::format("{} has no function {}: it is no cuDNN 9 that this program can use", library,
                           symbols.missing());
    return nullptr;
  }
  obstacle.clear();
  return api;
}

}  // namespace trireme
