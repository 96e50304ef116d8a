// SPDX-License-Identifier: Apache-2.0
// Convolutions by cuDNN's interface against our kernels, on the same operands.
#include <gtest/gtest.h>

#include <cmath>

#include "src/core/error.h"
#include "src/device/cuda/conv2d_cudnn.h"
#include "tests/kernels/conv2d/conv2d_problem.h"
#include "tests/src/device/cuda/cudnn_fake.h"

namespace trireme {
namespace {

using kernels::Conv2dShape;
using test::DeviceArray;

/// Both round to T, so they differ by a unit; gradients of weights are rounded to T by cuDNN alone.
template <typename T>
void expect_equal(const std::vector<float>& cudnn, const std::vector<float>& native, double terms,
                  const char* what) {
  test::expect_near(cudnn, {native.begin(), native.end()}, 2 * test::kUnit<T>,
                    test::sum_error(terms) + 4 * test::kUnit<T>, what);
}

template <typename T>
std::vector<float> host_values(const DeviceArray<T>& array, std::int64_t channels) {
  bool pad_is_zero = true;
  return test::without_pitch(array.to_host(), channels, channels, pad_is_zero);
}

enum class Addend { none, apart, in_place };

template <typename T>
class CudnnConvolutionTest : public ::testing::Test {
 protected:
  using Problem = test::ConvProblem<T>;

  /// Device memory aligned as asked for, filled with what is not a number.
  static DeviceArray<unsigned char> workspace(std::size_t bytes) {
    return DeviceArray<unsigned char>(std::vector<unsigned char>(bytes + 256, 0xFF));
  }
  static void* aligned(DeviceArray<unsigned char>& memory) {
    return reinterpret_cast<void*>((reinterpret_cast<std::uintptr_t>(memory.data()) + 255) / 256 * 256);
  }

  void check_forward(const Conv2dShape& shape, const test::ForwardOptions& options) {
    const Problem problem(shape);
    const CudnnConvolution<T> cudnn(handle_, shape);
    DeviceArray<T> ours(problem.out_size()), theirs(problem.out_size());
    const DeviceArray<float> bias(problem.bias);
    const DeviceArray<T> residual(test::with_pitch<T>(problem.residual, shape.out_channels, shape.out_pitch));
    kernels::Conv2dForward<T> pass{ours.data(), problem.device_x.data(), problem.packed.data()};
    if (options.bias) pass.bias = bias.data();
    if (options.residual) pass.residual = residual.data();
    pass.relu = options.relu;
    kernels::conv2d_forward(pass, shape, nullptr);
    pass.y = theirs.data();
    auto memory = workspace(cudnn.workspace_bytes(ConvolutionPass::forward));
    cudnn.forward(pass, aligned(memory));
    expect_equal<T>(host_values(theirs, shape.out_channels), host_values(ours, shape.out_channels),
                    problem.taps() * static_cast<double>(shape.in_channels), "y");
  }

  void check_backward_data(const Conv2dShape& shape, Addend addend, bool relu) {
    const Problem problem(shape);
    const CudnnConvolution<T> cudnn(handle_, shape);
    const std::vector<T> start = test::with_pitch<T>(problem.addend, shape.in_channels, shape.in_pitch);
    DeviceArray<T> ours(start), theirs(start);
    const DeviceArray<T> apart(start);
    const auto pass_into = [&](DeviceArray<T>& dx) {
      kernels::Conv2dBackwardData<T> pass{dx.data(), problem.device_dy.data(), problem.packed.data()};
      if (addend == Addend::apart) pass.addend = apart.data();
      if (addend == Addend::in_place) pass.addend = dx.data();
      if (relu) pass.relu_output = problem.device_x.data();
      return pass;
    };
    kernels::conv2d_backward_data(pass_into(ours), shape, nullptr);
    auto memory = workspace(cudnn.workspace_bytes(ConvolutionPass::backward_data));
    cudnn.backward_data(pass_into(theirs), aligned(memory));
    expect_equal<T>(host_values(theirs, shape.in_channels), host_values(ours, shape.in_channels),
                    problem.taps() * static_cast<double>(shape.out_channels), "dx");
  }

  void check_backward_weights(const Conv2dShape& shape, bool accumulate) {
    constexpr int kMultiprocessors = 4;
    const Problem problem(shape);
    const CudnnConvolution<T> cudnn(handle_, shape);
    const auto start = [&](std::size_t size, unsigned seed) {
      return accumulate ? test::random_rows<float>(1, static_cast<std::int64_t>(size), seed)
                        : std::vector<float>(size, NAN);
    };
    const std::vector<float> weights = start(problem.weights.size(), 7), bias = start(problem.bias.size(), 8);
    DeviceArray<float> ours(weights), our_bias(bias), theirs(weights), their_bias(bias);
    auto native_memory =
        workspace(kernels::conv2d_backward_weights_workspace_bytes<T>(shape, kMultiprocessors));
    kernels::conv2d_backward_weights<T>({ours.data(), our_bias.data(), problem.device_x.data(),
                                         problem.device_dy.data(), aligned(native_memory), accumulate},
                                        shape, kMultiprocessors, nullptr);
    auto memory = workspace(cudnn.workspace_bytes(ConvolutionPass::backward_weights));
    cudnn.backward_weights({theirs.data(), their_bias.data(), problem.device_x.data(),
                            problem.device_dy.data(), aligned(memory), accumulate});
    const auto pixels = static_cast<double>(shape.out_pixels());
    expect_equal<T>(theirs.to_host(), ours.to_host(), pixels, "dweights");
    expect_equal<T>(their_bias.to_host(), our_bias.to_host(), pixels, "dbias");
  }

  static std::vector<Conv2dShape> shapes() {
    return {test::shape_of<T>(test::square(2, 6, 16, 8, 3, 1, 1)),
            test::shape_of<T>(test::square(1, 7, 8, 24, 3, 2, 1)),
            test::shape_of<T>(test::square(3, 4, 32, 16, 1, 1, 0)),
            test::shape_of<T>({2, 5, 9, 8, 16, 3, 2, 2, 1, 1, 0})};
  }

  const CudnnHandle handle_{test::fake_cudnn(), nullptr};
};

TYPED_TEST_SUITE(CudnnConvolutionTest, test::ProductTypes);

TYPED_TEST(CudnnConvolutionTest, ForwardGivesWhatOurKernelsGive) {
  const int before = test::fake_cudnn_calls().forward;
  for (const Conv2dShape& shape : this->shapes())
    for (const test::ForwardOptions& options :
         {test::ForwardOptions{}, test::ForwardOptions{true}, test::ForwardOptions{true, false, true},
          test::ForwardOptions{false, true, true}, test::ForwardOptions{true, true, false}})
      this->check_forward(shape, options);
  EXPECT_EQ(test::fake_cudnn_calls().forward - before, 20);
}

TYPED_TEST(CudnnConvolutionTest, TheInputsGradientIsWhatOurKernelsGive) {
  for (const Conv2dShape& shape : this->shapes())
    for (const Addend addend : {Addend::none, Addend::apart, Addend::in_place})
      for (const bool relu : {false, true}) this->check_backward_data(shape, addend, relu);
}

TYPED_TEST(CudnnConvolutionTest, GradientsOfWeightsAndBiasAreWhatOurKernelsGive) {
  for (const Conv2dShape& shape : this->shapes())
    for (const bool accumulate : {false, true}) this->check_backward_weights(shape, accumulate);
}

TYPED_TEST(CudnnConvolutionTest, PaddedChannelsAreNotForCudnn) {
  const auto obstacle = [](std::int64_t in, std::int64_t out) {
    return CudnnConvolution<TypeParam>::shape_obstacle(
        test::shape_of<TypeParam>(test::square(1, 8, in, out, 3, 1, 1)));
  };
  EXPECT_EQ(obstacle(16, 16), "");
  EXPECT_NE(obstacle(3, 16), "");
  EXPECT_NE(obstacle(16, 10).find("padded"), std::string::npos);
}

TEST(CudnnConvolution, TheStemsLayoutIsNotForCudnn) {
  Conv2dShape stem = test::shape_of<simt::BFloat16>(test::square(1, 8, 4, 16, 3, 1, 1));
  stem.in_pitch = 4;
  EXPECT_NE(CudnnConvolution<simt::BFloat16>::shape_obstacle(stem), "");
}

TEST(CudnnConvolution, TensorsBeyondCudnnsCountsAreNotForCudnn) {
  const Conv2dShape large = test::shape_of<float>(test::square(1024, 224, 64, 64, 3, 1, 1));
  EXPECT_NE(CudnnConvolution<float>::shape_obstacle(large).find("more elements"), std::string::npos);
}

TEST(CudnnConvolution, OnlyAlgorithmsThatRepeatTheirBitsAreTaken) {
  const CudnnHandle handle(test::fake_cudnn_of_random_gradients(), nullptr);
  const CudnnConvolution<float> cudnn(handle, test::shape_of<float>(test::square(1, 4, 8, 8, 3, 1, 1)));
  EXPECT_EQ(cudnn.obstacle(ConvolutionPass::forward), "");
  for (const ConvolutionPass pass : {ConvolutionPass::backward_data, ConvolutionPass::backward_weights})
    EXPECT_NE(cudnn.obstacle(pass).find("the same bits"), std::string::npos) << cudnn.obstacle(pass);
}

TEST(CudnnConvolution, WhatCudnnRefusesIsAnErrorWithItsWords) {
  const CudnnHandle handle(test::fake_cudnn(), nullptr);
  const Conv2dShape shape = test::shape_of<float>(test::square(1, 4, 8, 8, 3, 1, 1));
  const test::ConvProblem<float> problem(shape);
  const CudnnConvolution<float> cudnn(handle, shape);
  DeviceArray<float> y(problem.out_size());
  try {
    cudnn.forward({y.data(), problem.device_x.data(), problem.packed.data()}, /*workspace=*/nullptr);
    FAIL() << "without workspace";
  } catch (const Error& error) {
    EXPECT_EQ(error.status(), Status::peer_gone);
    EXPECT_NE(std::string(error.what()).find("refused by the fake"), std::string::npos) << error.what();
  }
}

}  // namespace
}  // namespace trireme
