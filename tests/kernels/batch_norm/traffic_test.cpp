// SPDX-License-Identifier: Apache-2.0
// What the passes over an activation move: each of their activations once, in whole sectors.
#include "kernels/simt/emulator/counters.h"
#include "tests/kernels/batch_norm/batch_norm_case.h"
#include "tests/kernels/support/emulator_settings.h"

namespace trireme::kernels {
namespace {

using test::NormInputs;
using test::NormOnDevice;

/// The only launch of `pass` whose name holds `kernel` moves `activations` times the activation.
template <typename Pass>
void expect_traffic(const char* kernel, double activations, std::size_t activation_bytes, const Pass& pass) {
  simt::emulator::take_counts();
  pass();
  test::check_cuda(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
  int seen = 0;
  for (const simt::emulator::KernelCounts& counts : simt::emulator::take_counts()) {
    if (counts.kernel.find(kernel) == std::string::npos) continue;
    ++seen;
    const double wanted = activations * static_cast<double>(activation_bytes);
    EXPECT_GE(static_cast<double>(counts.distinct_bytes()), wanted - 1) << kernel;
    EXPECT_LE(static_cast<double>(counts.distinct_bytes()), 1.04 * wanted) << kernel;  // values by channel
    EXPECT_LE(counts.request_ratio(), 1.05) << kernel;
  }
  EXPECT_EQ(seen, 1) << kernel;
}

template <typename T>
class LayersBatchNormTraffic : public testing::Test {};
using Types = testing::Types<BFloat16, Half, float>;
TYPED_TEST_SUITE(LayersBatchNormTraffic, Types);

TYPED_TEST(LayersBatchNormTraffic, EachActivationMovesOnce) {
  using T = TypeParam;
  const test::WithSettings counted([](simt::emulator::Settings& settings) { settings.counting = true; });
  NormInputs<T> inputs(4 * 14 * 14, 256);
  NormOnDevice<T> norm(inputs);
  const std::size_t bytes = inputs.padded() * sizeof(T);
  const std::size_t tiles =
      tile_statistics_bytes(batch_norm_tiles<T>(inputs.shape).tiles, inputs.shape.pitch);
  expect_traffic("statistics_tiled", 1 + static_cast<double>(tiles) / static_cast<double>(bytes), bytes,
                 [&] { norm.forward(false, false); });
  constexpr double kSigns = 1.0 / 16;  // a byte for each vector
  expect_traffic("apply", 2, bytes, [&] { norm.normalize(false, false); });
  expect_traffic("apply", 3 + kSigns, bytes, [&] { norm.normalize(true, true); });
  for (const ReluMask mask : {ReluMask::none, ReluMask::recomputed, ReluMask::stored}) {
    const auto backward = [&] { norm.backward(norm.gradient_inputs(mask), norm.dx.data()); };
    expect_traffic("reduce", mask == ReluMask::stored ? 3 + kSigns : 2, bytes, backward);
    expect_traffic("backward_apply", 3, bytes, backward);
  }
}

}  // namespace
}  // namespace trireme::kernels
