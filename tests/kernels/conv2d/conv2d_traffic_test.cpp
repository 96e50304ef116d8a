// SPDX-License-Identifier: Apache-2.0
// What the kernels ask of memory: no bank conflicts in the main loops, whole sectors from L2.
#include "kernels/simt/emulator/counters.h"
#include "kernels/simt/emulator/settings.h"
#include "tests/kernels/conv2d/conv2d_problem.h"
#include "tests/kernels/support/emulator_settings.h"

namespace trireme::test {
namespace {

using kernels::Conv2dShape;
using kernels::TileShape;
using simt::emulator::KernelCounts;

/// Of the kernels with `name` that `launches` launches.
template <typename Launches>
KernelCounts counts_of(const std::string& name, const Launches& launches) {
  const WithSettings counting([](auto& settings) { settings.counting = true; });
  simt::emulator::take_counts();
  launches();
  check_cuda(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
  for (const KernelCounts& counts : simt::emulator::take_counts())
    if (counts.kernel.find(name) != std::string::npos) return counts;
  ADD_FAILURE() << "no kernel " << name << " was launched";
  return {};
}

void expect_clean(const KernelCounts& counts) {
  SCOPED_TRACE(counts.kernel);
  EXPECT_GT(counts.ideal_wavefronts, 0);
  EXPECT_EQ(counts.conflict_ratio(), 1.0);
  EXPECT_LE(counts.request_ratio(), 1.05);
}

template <typename T>
class Conv2dTraffic : public ::testing::Test {
 protected:
  static void expect_clean_passes(const Conv2dShape& s, TileShape tile) {
    if (!kernels::has_tile(kernels::kArithmetic<T>, tile)) return;
    SCOPED_TRACE(kernels::tile_name(tile));
    ConvProblem<T> problem(s);
    DeviceArray<T> y(problem.out_size()), dx(problem.in_size());
    const kernels::StatisticsTiles tiles = kernels::conv2d_statistics_tiles<T>(s, tile);
    DeviceArray<float> statistics(static_cast<std::size_t>(tiles.tiles * 2 * s.out_pitch));
    DeviceArray<float> dweights(problem.weights.size());
    DeviceArray<unsigned char> workspace(kernels::conv2d_backward_weights_workspace_bytes<T>(s, 4, tile));
    expect_clean(counts_of("conv2d_forward", [&] {
      kernels::Conv2dForward<T> pass{y.data(), problem.device_x.data(), problem.packed.data()};
      pass.residual = problem.device_dy.data();
      pass.statistics = statistics.data();
      kernels::conv2d_forward(pass, s, nullptr, tile);
    }));
    expect_clean(counts_of("conv2d_backward_data", [&] {
      kernels::conv2d_backward_data<T>({dx.data(), problem.device_dy.data(), problem.packed.data()}, s,
                                       nullptr, tile);
    }));
    expect_clean(counts_of("conv2d_backward_weights", [&] {
      kernels::conv2d_backward_weights<T>(
          {dweights.data(), nullptr, problem.device_x.data(), problem.device_dy.data(), workspace.data()}, s,
          4, nullptr, tile);
    }));
  }
};
TYPED_TEST_SUITE(Conv2dTraffic, ProductTypes);

TYPED_TEST(Conv2dTraffic, IsWholeSectorsWithoutConflicts) {
  for (const TileShape tile :
       {TileShape::t128x128, TileShape::t128x64, TileShape::t64x64, TileShape::t64x32}) {
    this->expect_clean_passes(shape_of<TypeParam>(square(1, 7, 64, 64, 3, 1, 1)), tile);
    this->expect_clean_passes(shape_of<TypeParam>(square(1, 8, 64, 128, 1, 1, 0)), tile);
    this->expect_clean_passes(shape_of<TypeParam>(square(1, 8, 128, 64, 3, 2, 1)), tile);
  }
}

// Each output is written once, each operand read once from memory: what tiles read again stays in L2.
TEST(Conv2dTrafficOfMemory, IsEveryOperandOnce) {
  using T = simt::BFloat16;
  const Conv2dShape s = shape_of<T>(square(2, 8, 64, 128, 1, 1, 0));
  ConvProblem<T> problem(s);
  DeviceArray<T> y(problem.out_size());
  const KernelCounts counts = counts_of("conv2d_forward", [&] {
    kernels::conv2d_forward<T>({y.data(), problem.device_x.data(), problem.packed.data()}, s, nullptr);
  });
  EXPECT_EQ(counts.read_sectors * simt::emulator::kSectorBytes, (2 * 8 * 8 * 64 + 64 * 128) * 2);
  EXPECT_EQ(counts.written_sectors * simt::emulator::kSectorBytes, 2 * 8 * 8 * 128 * 2);
}

}  // namespace
}  // namespace trireme::test
