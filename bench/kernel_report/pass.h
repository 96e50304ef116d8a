// SPDX-License-Identifier: Apache-2.0
// What one pass of one layer moves and computes, counted by the emulator at batch 1 and scaled to a batch.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "kernels/simt/emulator/counters.h"

namespace trireme::bench {

struct Pass {
  std::string layer;  ///< "layer1.0.conv1"; "all parameters" for the update
  std::string name;   ///< "forward", "backward data", ...
  std::vector<simt::emulator::KernelCounts> kernels;
  double image_bytes = 0;  ///< distinct bytes of pictures, for each image
  double step_bytes = 0;   ///< distinct bytes of parameters and workspaces, once a step
  double image_flops = 0;  ///< of matrix products, padding of the tiles at `batch` included

  double bytes(std::int64_t batch) const { return image_bytes + step_bytes / static_cast<double>(batch); }
};

/// A card's ceilings, and the time of a pass under them.
struct Roofline {
  double bytes_per_second = 4.3e12;  ///< H200, as measured by copies
  double flops_per_second = 620e12;  ///< mma.sync in bf16

  /// Seconds for one image of a batch.
  double seconds(const Pass& pass, std::int64_t batch) const {
    const double moving = pass.bytes(batch) / bytes_per_second;
    const double computing = pass.image_flops / flops_per_second;
    return moving > computing ? moving : computing;
  }
};

struct NetworkReport {
  std::string network;
  std::int64_t batch = 0;
  std::vector<Pass> passes;

  double bytes_per_image() const;
  double images_per_second(const Roofline& roofline) const;
};

}  // namespace trireme::bench
