// SPDX-License-Identifier: Apache-2.0
#include "bench/kernel_report/padded_flops.h"

namespace trireme::bench {
namespace {

using kernels::BFloat16;
using kernels::Conv2dShape;
using kernels::round_up;

constexpr std::int64_t kDepth = kernels::kTileK<BFloat16>;

double tiles(kernels::TileShape tile, std::int64_t m, std::int64_t n, std::int64_t k) {
  const kernels::TileSize size = kernels::tile_size(tile);
  return 2.0 * static_cast<double>(round_up<std::int64_t>(m, size.m)) *
         static_cast<double>(round_up<std::int64_t>(n, size.n)) * static_cast<double>(round_up(k, kDepth));
}

/// Pixels of an axis that have a phase, and taps of the kernel that reach them.
struct Phase {
  std::int64_t pixels, taps;
};
Phase phase_of(std::int64_t in, std::int64_t kernel, std::int64_t stride, std::int64_t pad,
               std::int64_t phase) {
  Phase result{in > phase ? kernels::divide_up(in - phase, stride) : 0, 0};
  for (std::int64_t tap = 0; tap < kernel; ++tap)
    if ((phase + pad - tap) % stride == 0) ++result.taps;
  return result;
}

}  // namespace

double padded_forward_flops(const Conv2dShape& shape, kernels::TileShape tile) {
  const std::int64_t depth = kernels::conv2d_packed_weights_size<BFloat16>(shape) / shape.out_channels;
  return tiles(tile, shape.out_pixels(), shape.out_pitch, depth);
}

double padded_backward_data_flops(const Conv2dShape& shape, kernels::TileShape tile) {
  double flops = 0;
  for (std::int64_t h = 0; h < shape.stride_h; ++h)
    for (std::int64_t w = 0; w < shape.stride_w; ++w) {
      const Phase rows = phase_of(shape.in_h, shape.kernel_h, shape.stride_h, shape.pad_h, h);
      const Phase columns = phase_of(shape.in_w, shape.kernel_w, shape.stride_w, shape.pad_w, w);
      const std::int64_t depth = rows.taps * columns.taps * shape.out_pitch;
      if (depth > 0) flops += tiles(tile, shape.batch * rows.pixels * columns.pixels, shape.in_pitch, depth);
    }
  return flops;
}

double padded_backward_weights_flops(const Conv2dShape& shape, kernels::TileShape tile) {
  const std::int64_t columns = kernels::conv2d_packed_weights_size<BFloat16>(shape) / shape.out_channels;
  return tiles(tile, shape.out_channels, columns, round_up(shape.out_pixels(), kDepth));
}

}  // namespace trireme::bench
