// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "bench/kernel_report/pass.h"

namespace trireme::bench {

/// Emulates one step of a network (a name of models/) on pictures of 224 x 224 with 1000 classes in bf16, one
/// image, and scales to `batch` images: half a minute and more. Throws where the kernels' own count of flops
/// differs from padded_flops.h.
NetworkReport report_network(const std::string& network, std::int64_t batch);

}  // namespace trireme::bench
