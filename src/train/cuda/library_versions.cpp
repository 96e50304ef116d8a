// SPDX-License-Identifier: Apache-2.0
#include "src/train/cuda/library_versions.h"

#ifdef TRIREME_HAVE_NCCL
#include "src/comm/nccl/nccl_api.h"
#endif
#ifdef TRIREME_HAVE_CUDNN
#include "src/device/cuda/cudnn_api.h"
#endif

namespace trireme {

std::string cudnn_version([[maybe_unused]] const CudnnApi& api) {
#ifdef TRIREME_HAVE_CUDNN
  return cudnn_version_text(api.get_version());
#else
  return "";
#endif
}

std::string nccl_version([[maybe_unused]] const NcclApi& api) {
#ifdef TRIREME_HAVE_NCCL
  int version = 0;
  return api.get_version(&version) == ncclSuccess ? nccl_version_text(version) : "unknown";
#else
  return "";
#endif
}

}  // namespace trireme
