// SPDX-License-Identifier: Apache-2.0
#include "kernels/reference/batch_norm.h"

#include <gtest/gtest.h>

#include "tests/support/numbers.h"

namespace trireme {
namespace {

using reference::BatchNormShape;
using testing::central_differences;
using testing::expect_close;
using testing::random_values;

TEST(ReferenceBatchNorm, GivesWhatPyTorchGives) {
  const std::vector<double> x = {1, 2, 4, -1, 0, 3}, scale = {2, -1}, shift = {0.5, 1};
  std::vector<double> y(6), mean(2), variance(2);
  const BatchNormShape shape{3, 2, 1e-3};
  reference::batch_norm_forward_training(y.data(), mean.data(), variance.data(), x.data(), scale.data(),
                                         shift.data(), shape);
  expect_close(y,
               std::vector<double>{-0.2843288030823137, 0.607835598458843, 3.2451508107880978,
                                   2.3725754053940484, -1.460822007705784, 0.01958899614710785},
               1e-14, "training");
  expect_close(mean, std::vector<double>{5.0 / 3, 4.0 / 3}, 1e-14, "mean");
  expect_close(variance, std::vector<double>{26.0 / 9, 26.0 / 9}, 1e-14, "biased variance");

  mean = {1, 0.5}, variance = {4, 0.25};
  reference::batch_norm_forward_inference(y.data(), x.data(), scale.data(), shift.data(), mean.data(),
                                          variance.data(), shape);
  expect_close(y,
               std::vector<double>{0.5, -1.9940179402092473, 3.4996250702978546, 3.994017940209247,
                                   -0.49987502343261814, -3.9900299003487456},
               1e-14, "inference");
}

TEST(ReferenceBatchNorm, GradientsMatchFiniteDifferences) {
  const BatchNormShape s{14, 3, 1e-5};
  auto x = random_values<double>(s.values * s.channels, 1), scale = random_values<double>(3, 2),
       shift = random_values<double>(3, 3);
  const auto dy = random_values<double>(s.values * s.channels, 4);
  std::vector<double> y(x.size()), mean(3), variance(3), dx(x.size()), dscale(3), dshift(3);
  const auto loss = [&] {
    std::vector<double> m(3), v(3);
    reference::batch_norm_forward_training(y.data(), m.data(), v.data(), x.data(), scale.data(), shift.data(),
                                           s);
    return testing::dot(y, dy);
  };
  reference::batch_norm_forward_training(y.data(), mean.data(), variance.data(), x.data(), scale.data(),
                                         shift.data(), s);
  reference::batch_norm_backward(dx.data(), dscale.data(), dshift.data(), dy.data(), x.data(), scale.data(),
                                 mean.data(), variance.data(), s);
  expect_close(dx, central_differences(x, 1e-5, loss), 1e-8, "dx");
  expect_close(dscale, central_differences(scale, 1e-5, loss), 1e-8, "dscale");
  expect_close(dshift, central_differences(shift, 1e-5, loss), 1e-8, "dshift");
}

}  // namespace
}  // namespace trireme
