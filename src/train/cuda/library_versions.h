// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace trireme {

struct CudnnApi;
struct NcclApi;

/// "9.19.0", as the opened library says.
std::string cudnn_version(const CudnnApi& api);
std::string nccl_version(const NcclApi& api);

}  // namespace trireme
