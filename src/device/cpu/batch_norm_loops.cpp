// SPDX-License-Identifier: Apache-2.0
// The positions (pixels of all pictures, one after the other) are cut into pieces of fixed size. A task is
// one piece of one block of channels; threads share the tasks as they like. Sums are kept per task, lane by
// lane, and added up piece by piece:
//
//              block 0      block 1
//   piece 0   [16 lanes]   [16 lanes]     each task: its positions from the first to the last
//   piece 1   [16 lanes]   [16 lanes]
//   piece 2   [16 lanes]   [16 lanes]     then down each column
#include "src/device/cpu/batch_norm_loops.h"

#include <algorithm>

#include "src/core/multiversion.h"

namespace trireme::cpu {
namespace {

constexpr std::int64_t kPiece = 1024;  // positions; some 64 KiB of a block of 16 channels
constexpr int kMostLanes = ChannelBlocks::kMostLanes;

std::int64_t pieces_of(const ChannelBlocks& layout) {
  return (layout.positions() + kPiece - 1) / kPiece;
}

/// Calls task(piece, block) for all of them, spread over the threads.
template <typename Task>
void for_tasks(const ChannelBlocks& layout, const Task& task) {
  const std::int64_t pieces = pieces_of(layout), blocks = layout.blocks;
#pragma omp parallel for collapse(2) if (pieces * blocks > 1)
  for (std::int64_t piece = 0; piece < pieces; ++piece)
    for (std::int64_t block = 0; block < blocks; ++block) task(piece, block);
}

/// Calls row(offset, pixels) for the parts of a task that lie in one picture each.
template <typename Row>
void for_rows(const ChannelBlocks& layout, std::int64_t piece, std::int64_t block, const Row& row) {
  const std::int64_t begin = piece * kPiece, end = std::min(layout.positions(), begin + kPiece);
  layout.for_pictures(begin, end, [&](std::int64_t offset, std::int64_t pixels) {
    row(offset + block * layout.block_stride, pixels);
  });
}

// The innermost loops. kLanes is the number of lanes if it is known when compiling, else 0.

template <int kLanes>
TRIREME_MULTIVERSION_TEMPLATE void add_moments(const float* x, std::int64_t pixels, std::int64_t stride,
                                               int lanes, double* sum, double* square) {
  const int width = kLanes > 0 ? kLanes : lanes;
  double s[kMostLanes], q[kMostLanes];
  for (int l = 0; l < width; ++l) s[l] = sum[l], q[l] = square[l];
  for (std::int64_t p = 0; p < pixels; ++p, x += stride)
#pragma omp simd
    for (int l = 0; l < width; ++l) {
      const auto value = static_cast<double>(x[l]);
      s[l] += value;
      q[l] += value * value;
    }
  for (int l = 0; l < width; ++l) sum[l] = s[l], square[l] = q[l];
}

template <int kLanes>
TRIREME_MULTIVERSION_TEMPLATE void add_gradient_moments(const float* x, const float* dy,
                                                        const float* relu_output, const float* mean,
                                                        std::int64_t pixels, std::int64_t stride, int lanes,
                                                        double* sum, double* product) {
  const int width = kLanes > 0 ? kLanes : lanes;
  const float* gate = relu_output == nullptr ? dy : relu_output;
  const bool open = relu_output == nullptr;
  double s[kMostLanes], q[kMostLanes], centre[kMostLanes];
  for (int l = 0; l < width; ++l) s[l] = sum[l], q[l] = product[l], centre[l] = static_cast<double>(mean[l]);
  for (std::int64_t p = 0; p < pixels; ++p, x += stride, dy += stride, gate += stride)
#pragma omp simd
    for (int l = 0; l < width; ++l) {
      const auto gradient = static_cast<double>(open || gate[l] > 0 ? dy[l] : 0.0F);
      s[l] += gradient;
      q[l] += gradient * (static_cast<double>(x[l]) - centre[l]);
    }
  for (int l = 0; l < width; ++l) sum[l] = s[l], product[l] = q[l];
}

template <int kLanes>
TRIREME_MULTIVERSION_TEMPLATE void normalize_row(float* y, const float* x, const NormFactors& f, bool relu,
                                                 std::int64_t pixels, std::int64_t stride, int lanes) {
  const int width = kLanes > 0 ? kLanes : lanes;
  float mean[kMostLanes], factor[kMostLanes], shift[kMostLanes];
  for (int l = 0; l < width; ++l) mean[l] = f.mean[l], factor[l] = f.factor[l], shift[l] = f.shift[l];
  for (std::int64_t p = 0; p < pixels; ++p, x += stride, y += stride)
#pragma omp simd
    for (int l = 0; l < width; ++l) {
      const float value = (x[l] - mean[l]) * factor[l] + shift[l];
      y[l] = relu && value < 0 ? 0 : value;
    }
}

template <int kLanes>
TRIREME_MULTIVERSION_TEMPLATE void input_gradient_row(float* dx, const float* dy, const float* x,
                                                      const float* relu_output, const GradientFactors& f,
                                                      std::int64_t pixels, std::int64_t stride, int lanes) {
  const int width = kLanes > 0 ? kLanes : lanes;
  const float* gate = relu_output == nullptr ? dy : relu_output;
  const bool open = relu_output == nullptr;
  float mean[kMostLanes], factor[kMostLanes], offset[kMostLanes], slope[kMostLanes];
  for (int l = 0; l < width; ++l)
    mean[l] = f.mean[l], factor[l] = f.factor[l], offset[l] = f.offset[l], slope[l] = f.slope[l];
  for (std::int64_t p = 0; p < pixels; ++p, x += stride, dy += stride, dx += stride, gate += stride)
#pragma omp simd
    for (int l = 0; l < width; ++l) {
      const float gradient = open || gate[l] > 0 ? dy[l] : 0;
      dx[l] = factor[l] * (gradient - offset[l] - slope[l] * (x[l] - mean[l]));
    }
}

/// Calls body(std::integral_constant<int, N>) with N the number of lanes where that is a usual one, else 0.
template <typename Body>
void with_lanes(int lanes, const Body& body) {
  switch (lanes) {
    case 16:
      return body(std::integral_constant<int, 16>());
    case 8:
      return body(std::integral_constant<int, 8>());
    default:
      return body(std::integral_constant<int, 0>());
  }
}

/// Fills the two rows of partial sums of each task with add(block, offset, pixels, first row, second row) and
/// adds them up.
template <typename Add>
void sum_by_channel(const ChannelBlocks& layout, double* partial, double* sums, const Add& add) {
  const std::int64_t row = layout.padded_channels();
  std::fill(partial, partial + partial_sums(layout), 0.0);
  for_tasks(layout, [&](std::int64_t piece, std::int64_t block) {
    double* first = partial + 2 * piece * row + block * layout.lanes;
    for_rows(layout, piece, block, [&](std::int64_t offset, std::int64_t pixels) {
      add(block, offset, pixels, first, first + row);
    });
  });
  std::fill(sums, sums + 2 * layout.channels, 0.0);
  for (std::int64_t piece = 0; piece < pieces_of(layout); ++piece)
    for (std::int64_t which = 0; which < 2; ++which) {
      const double* from = partial + (2 * piece + which) * row;
      double* to = sums + which * layout.channels;
      for (std::int64_t c = 0; c < layout.channels; ++c) to[c] += from[c];
    }
}

}  // namespace

std::int64_t partial_sums(const ChannelBlocks& layout) {
  return 2 * pieces_of(layout) * layout.padded_channels();
}

void channel_moments(const ChannelBlocks& layout, const float* x, double* partial, double* sums) {
  sum_by_channel(
      layout, partial, sums,
      [&](std::int64_t block, std::int64_t offset, std::int64_t pixels, double* sum, double* square) {
        const int lanes = layout.lanes_of(block);
        with_lanes(lanes, [&](auto known) {
          add_moments<known()>(x + offset, pixels, layout.pixel_stride, lanes, sum, square);
        });
      });
}

void gradient_moments(const ChannelBlocks& layout, const float* x, const float* dy, const float* relu_output,
                      const float* mean, double* partial, double* sums) {
  sum_by_channel(
      layout, partial, sums,
      [&](std::int64_t block, std::int64_t offset, std::int64_t pixels, double* sum, double* product) {
        const int lanes = layout.lanes_of(block);
        const float* gate = relu_output == nullptr ? nullptr : relu_output + offset;
        with_lanes(lanes, [&](auto known) {
          add_gradient_moments<known()>(x + offset, dy + offset, gate, mean + block * layout.lanes, pixels,
                                        layout.pixel_stride, lanes, sum, product);
        });
      });
}

void normalize(const ChannelBlocks& layout, float* y, const float* x, const NormFactors& by_channel,
               bool relu) {
  for_tasks(layout, [&](std::int64_t piece, std::int64_t block) {
    const int lanes = layout.lanes_of(block);
    const std::int64_t c = block * layout.lanes;
    const NormFactors factors{by_channel.mean + c, by_channel.factor + c, by_channel.shift + c};
    for_rows(layout, piece, block, [&](std::int64_t offset, std::int64_t pixels) {
      with_lanes(lanes, [&](auto known) {
        normalize_row<known()>(y + offset, x + offset, factors, relu, pixels, layout.pixel_stride, lanes);
      });
    });
  });
}

void input_gradient(const ChannelBlocks& layout, float* dx, const float* dy, const float* x,
                    const float* relu_output, const GradientFactors& by_channel) {
  for_tasks(layout, [&](std::int64_t piece, std::int64_t block) {
    const int lanes = layout.lanes_of(block);
    const std::int64_t c = block * layout.lanes;
    const GradientFactors factors{by_channel.mean + c, by_channel.factor + c, by_channel.offset + c,
                                  by_channel.slope + c};
    for_rows(layout, piece, block, [&](std::int64_t offset, std::int64_t pixels) {
      const float* gate = relu_output == nullptr ? nullptr : relu_output + offset;
      with_lanes(lanes, [&](auto known) {
        input_gradient_row<known()>(dx + offset, dy + offset, x + offset, gate, factors, pixels,
                                    layout.pixel_stride, lanes);
      });
    });
  });
}

}  // namespace trireme::cpu
