// SPDX-License-Identifier: Apache-2.0
// Batch norms of ResNet-50 with the fusions that they have there.
#include "tests/kernels/batch_norm/batch_norm_case.h"

namespace trireme::kernels {
namespace {

using test::NormInputs;
using test::NormOnDevice;
using test::NormReference;

template <typename T>
class LayersBatchNorm : public testing::Test {};
using Types = testing::Types<BFloat16, Half, float>;
TYPED_TEST_SUITE(LayersBatchNorm, Types);

template <typename T>
void expect_layer(std::int64_t rows, int channels, ReluMask mask) {
  const bool relu = mask != ReluMask::none, with_residual = mask == ReluMask::stored;
  NormInputs<T> inputs(rows, channels);
  NormOnDevice<T> norm(inputs);
  norm.forward(with_residual, relu);
  norm.backward(norm.gradient_inputs(mask), norm.dx.data());
  NormReference reference(inputs);
  reference.forward(with_residual, relu);
  reference.backward(relu, inputs.dense(norm.y));
  test::expect_rounded<T>(inputs.dense(norm.y), reference.y, test::kNormSlack, "y");
  test::expect_rounded<T>(inputs.dense(norm.dx), reference.dx, 2 * test::kNormSlack, "dx");
  test::expect_by_channel(norm.channels.scale_gradient, reference.scale_gradient, 1, "dscale", 4e-6);
  test::expect_by_channel(norm.channels.shift_gradient, reference.shift_gradient, 1, "dshift", 4e-6);
}

TYPED_TEST(LayersBatchNorm, OfResNet50) {
  expect_layer<TypeParam>(2 * 14 * 14, 64, ReluMask::recomputed);  // stem, first of a block
  expect_layer<TypeParam>(2 * 14 * 14, 256, ReluMask::none);       // downsample
  expect_layer<TypeParam>(2 * 14 * 14, 1024, ReluMask::stored);    // end of a block
  expect_layer<TypeParam>(2 * 7 * 7, 512, ReluMask::recomputed);
  expect_layer<TypeParam>(2 * 7 * 7, 2048, ReluMask::stored);
}

}  // namespace
}  // namespace trireme::kernels
