// SPDX-License-Identifier: Apache-2.0
// What the kernels move: every buffer once in, what changes once out, and whole sectors only.
#include <gtest/gtest.h>

#include "kernels/optimizer/norms.h"
#include "kernels/optimizer/optimizer.h"
#include "kernels/simt/emulator/counters.h"
#include "tests/kernels/optimizer/flat_net.h"
#include "tests/kernels/support/emulator_settings.h"

namespace trireme::kernels {
namespace {

using test::DeviceArray;

constexpr std::int64_t kElements = 20 * kSegmentTile;
constexpr double kBufferBytes = 4.0 * kElements;

/// Bytes that `launch` moves, in buffers of kElements floats; requests must be whole sectors.
template <typename Launch>
double buffers_moved(Launch launch) {
  const test::WithSettings counting([](auto& settings) { settings.counting = true; });
  simt::emulator::take_counts();
  launch();
  cudaDeviceSynchronize();
  double bytes = 0;
  for (const auto& counts : simt::emulator::take_counts()) {
    bytes += static_cast<double>(counts.distinct_bytes());
    if (counts.blocks >= 5) {
      EXPECT_LE(counts.request_ratio(), 1.05) << counts.kernel;
    }
  }
  return bytes / kBufferBytes;
}

TEST(OptimizerTraffic, IsEachBufferOnce) {
  const std::vector<Segment> segments = {{0, kElements}};
  const test::DeviceSegments tables(segments);
  const auto values = test::normal_in(segments, kElements, 1);
  DeviceArray<float> p(values), m(values), v(std::vector<float>(kElements, 1.0F));
  const DeviceArray<float> g(values);
  const DeviceArray<UpdateFactors> factors(std::vector{UpdateFactors{0.1F, 1, 1, 1, 0}});
  const UpdateBuffers buffers{p.data(), g.data(), m.data(), v.data(), nullptr, factors.data()};
  const SegmentRange range = make_range(tables.host, 0, kElements);
  // Tables and factors are a few sectors for each tile of 512.
  EXPECT_NEAR(buffers_moved([&] { sgd_step(tables.table(), range, buffers, {}, nullptr); }), 5, 0.02);
  EXPECT_NEAR(buffers_moved([&] { adamw_step(tables.table(), range, buffers, {}, nullptr); }), 7, 0.02);

  DeviceArray<double> norm(1), total(1);
  DeviceArray<unsigned char> workspace(squared_norms_workspace_bytes(tables.host));
  EXPECT_NEAR(buffers_moved([&] {
                squared_norms(tables.table(), g.data(), norm.data(), total.data(), workspace.data(), nullptr);
              }),
              1, 0.02);
  DeviceArray<std::int32_t> flag(std::vector<std::int32_t>{0});
  EXPECT_NEAR(buffers_moved([&] { check_finite(g.data(), kElements, flag.data(), nullptr); }), 1, 0.02);
}

}  // namespace
}  // namespace trireme::kernels
