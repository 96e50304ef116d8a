// SPDX-License-Identifier: Apache-2.0
// What holds for convolutions whatever their reference says.
#include <limits>

#include "tests/kernels/conv2d/conv2d_problem.h"

namespace trireme::test {
namespace {

using kernels::Conv2dShape;

/// One convolution with bias, its passes one after the other.
template <typename T>
class Layer {
 public:
  explicit Layer(const Conv2dShape& s)
      : shape_(s), weights_(s.out_channels * s.kernel_h * s.kernel_w * s.in_channels) {}

  std::vector<float> forward(const std::vector<float>& x, const std::vector<float>& weights,
                             const std::vector<float>& bias) const {
    const DeviceArray<T> device_x(with_pitch<T>(x, shape_.in_channels, shape_.in_pitch));
    const DeviceArray<float> device_bias(bias);
    DeviceArray<T> y(static_cast<std::size_t>(shape_.out_pixels() * shape_.out_pitch));
    const DeviceArray<T> packed = pack(weights);
    kernels::conv2d_forward<T>(
        {y.data(), device_x.data(), packed.data(), device_bias.data(), nullptr, false, nullptr}, shape_,
        nullptr);
    return dense(y, shape_.out_channels, shape_.out_pitch);
  }

  std::vector<float> backward_data(const std::vector<float>& dy, const std::vector<float>& weights) const {
    const DeviceArray<T> device_dy(with_pitch<T>(dy, shape_.out_channels, shape_.out_pitch));
    DeviceArray<T> dx(static_cast<std::size_t>(shape_.in_pixels() * shape_.in_pitch));
    const DeviceArray<T> packed = pack(weights);
    kernels::conv2d_backward_data<T>({dx.data(), device_dy.data(), packed.data()}, shape_, nullptr);
    return dense(dx, shape_.in_channels, shape_.in_pitch);
  }

  /// The weights' gradient, the bias's behind it.
  std::vector<float> backward_weights(const std::vector<float>& x, const std::vector<float>& dy,
                                      int multiprocessors) const {
    const DeviceArray<T> device_x(with_pitch<T>(x, shape_.in_channels, shape_.in_pitch));
    const DeviceArray<T> device_dy(with_pitch<T>(dy, shape_.out_channels, shape_.out_pitch));
    DeviceArray<float> dweights(static_cast<std::size_t>(weights_));
    DeviceArray<float> dbias(static_cast<std::size_t>(shape_.out_channels));
    DeviceArray<unsigned char> workspace(
        kernels::conv2d_backward_weights_workspace_bytes<T>(shape_, multiprocessors));
    kernels::conv2d_backward_weights<T>(
        {dweights.data(), dbias.data(), device_x.data(), device_dy.data(), workspace.data()}, shape_,
        multiprocessors, nullptr);
    std::vector<float> result = dweights.to_host();
    const std::vector<float> bias = dbias.to_host();
    result.insert(result.end(), bias.begin(), bias.end());
    return result;
  }

 private:
  DeviceArray<T> pack(const std::vector<float>& weights) const {
    const DeviceArray<float> device_weights(weights);
    DeviceArray<T> packed(static_cast<std::size_t>(kernels::conv2d_packed_weights_size<T>(shape_)));
    kernels::conv2d_pack_weights(packed.data(), device_weights.data(), shape_, nullptr);
    check_cuda(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
    return packed;
  }
  static std::vector<float> dense(const DeviceArray<T>& values, std::int64_t channels, std::int64_t pitch) {
    bool pad_is_zero = true;
    std::vector<float> result = without_pitch(values.to_host(), channels, pitch, pad_is_zero);
    EXPECT_TRUE(pad_is_zero);
    return result;
  }

  Conv2dShape shape_;
  std::int64_t weights_;
};

double dot(const std::vector<float>& a, const std::vector<float>& b) {
  double sum = 0;
  for (std::size_t i = 0; i < a.size(); ++i) sum += static_cast<double>(a[i]) * b[i];
  return sum;
}

// loss = <y, dy>. It is linear in each argument, so that a difference over a wide step is exact but for
// fp32's rounding.
TEST(Conv2dGradients, MatchFiniteDifferences) {
  const Conv2dShape s = shape_of<float>({2, 5, 4, 3, 6, 3, 2, 2, 1, 1, 0});
  const Layer<float> layer(s);
  std::vector<float> x = random_rows<float>(s.in_pixels(), s.in_channels, 1);
  std::vector<float> weights = random_rows<float>(s.out_channels * 6, s.in_channels, 2);
  std::vector<float> bias = random_rows<float>(1, s.out_channels, 3);
  const std::vector<float> dy = random_rows<float>(s.out_pixels(), s.out_channels, 4);
  const auto differences = [&](std::vector<float>& values) {
    std::vector<double> result(values.size());
    for (std::size_t i = 0; i < values.size(); ++i) {
      const float before = values[i];
      values[i] = before + 1;
      const double above = dot(layer.forward(x, weights, bias), dy);
      values[i] = before - 1;
      result[i] = (above - dot(layer.forward(x, weights, bias), dy)) /
                  (static_cast<double>(before + 1) - (before - 1));
      values[i] = before;
    }
    return result;
  };
  expect_near(layer.backward_data(dy, weights), differences(x), 1e-5, 2e-5, "dx");
  std::vector<double> parameters = differences(weights);
  const std::vector<double> bias_differences = differences(bias);
  parameters.insert(parameters.end(), bias_differences.begin(), bias_differences.end());
  expect_near(layer.backward_weights(x, dy, 4), parameters, 1e-5, 2e-5, "dweights and dbias");
}

// Infinity times the zeros behind weights is not zero: pads must be set. NaN stays NaN through ReLU.
TEST(Conv2dPads, StayZeroBesideInfinity) {
  using T = simt::BFloat16;
  const Conv2dShape s = shape_of<T>(square(1, 3, 3, 5, 1, 1, 0));
  ConvProblem<T> problem(s);
  std::vector<float> x = problem.x;
  x[0] = std::numeric_limits<float>::infinity();
  const DeviceArray<T> device_x(with_pitch<T>(x, s.in_channels, s.in_pitch));
  DeviceArray<T> y(problem.out_size());
  kernels::Conv2dForward<T> pass{y.data(), device_x.data(), problem.packed.data()};
  pass.relu = true;
  kernels::conv2d_forward(pass, s, nullptr);
  bool pad_is_zero = true;
  const std::vector<float> values = without_pitch(y.to_host(), s.out_channels, s.out_pitch, pad_is_zero);
  EXPECT_TRUE(pad_is_zero);
  for (std::size_t o = 0; o < 5; ++o)
    EXPECT_EQ(values[o], problem.weights[3 * o] > 0 ? std::numeric_limits<float>::infinity() : 0.0F);
  for (std::size_t i = 5; i < values.size(); ++i) EXPECT_TRUE(std::isfinite(values[i]));
}

// Tiles hold more than whole windows: what is behind a window's last tap meets zero weights, and must be zero
// itself.
template <typename T>
void expect_infinity_in_its_windows_only(const Conv2dShape& s) {
  ConvProblem<T> problem(s);
  const std::int64_t h = s.in_h / 2, w = s.in_w / 2;
  std::vector<float> x = problem.x;
  x[static_cast<std::size_t>((h * s.in_w + w) * s.in_channels)] = std::numeric_limits<float>::infinity();
  const DeviceArray<T> device_x(with_pitch<T>(x, s.in_channels, s.in_pitch));
  DeviceArray<T> y(problem.out_size());
  kernels::conv2d_forward<T>({.y = y.data(), .x = device_x.data(), .weights = problem.packed.data()}, s,
                             nullptr);
  const std::vector<T> values = y.to_host();
  const auto has = [](std::int64_t place, std::int64_t out, std::int64_t stride, std::int64_t pad,
                      std::int64_t kernel) {
    return place >= out * stride - pad && place < out * stride - pad + kernel;
  };
  for (std::int64_t oh = 0; oh < s.out_h(); ++oh)
    for (std::int64_t ow = 0; ow < s.out_w(); ++ow)
      EXPECT_EQ(std::isfinite(
                    kernels::to_float(values[static_cast<std::size_t>((oh * s.out_w() + ow) * s.out_pitch)])),
                !(has(h, oh, s.stride_h, s.pad_h, s.kernel_h) && has(w, ow, s.stride_w, s.pad_w, s.kernel_w)))
          << oh << ", " << ow;
}

TEST(Conv2dWindows, DoNotSeeWhatIsBehindThem) {
  using T = simt::BFloat16;
  expect_infinity_in_its_windows_only<T>(shape_of<T>(square(1, 9, 3, 5, 3, 1, 1)));
  expect_infinity_in_its_windows_only<float>(shape_of<float>({1, 7, 9, 5, 4, 2, 3, 1, 2, 0, 1}));
  Conv2dShape stem = shape_of<T>(square(1, 17, 3, 5, 7, 2, 3));
  stem.in_pitch = 4;
  expect_infinity_in_its_windows_only<T>(stem);
  stem.kernel_h = stem.kernel_w = 3;
  stem.pad_h = stem.pad_w = 1;
  expect_infinity_in_its_windows_only<T>(stem);
}

}  // namespace
}  // namespace trireme::test
