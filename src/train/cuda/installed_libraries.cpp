// SPDX-License-Identifier: Apache-2.0
#include "src/train/cuda/cuda_accelerator.h"
#ifdef TRIREME_HAVE_NCCL
#include "src/comm/nccl/nccl_api.h"
#endif
#ifdef TRIREME_HAVE_CUDNN
#include "src/device/cuda/cudnn_api.h"
#endif

namespace trireme {
namespace {

#ifndef TRIREME_HAVE_NCCL
const NcclApi* load_nccl(std::string& obstacle) {
  obstacle = "this program was built without NCCL";
  return nullptr;
}
#endif

std::shared_ptr<const CudnnApi> open_cudnn([[maybe_unused]] std::string& obstacle) {
#ifdef TRIREME_HAVE_CUDNN
  return load_cudnn(obstacle);
#else
  obstacle = "this program was built without cuDNN";
  return nullptr;
#endif
}

}  // namespace

GpuLibraries installed_libraries() {
  return {load_nccl, open_cudnn, false};
}

}  // namespace trireme
