// SPDX-License-Identifier: Apache-2.0
#include "src/device/cpu/cpu_device.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <omp.h>

#include <algorithm>

#include "src/core/error.h"

namespace trireme {
namespace {

TEST(CpuDevice, DescribesItself) {
  const auto device = make_cpu_device({3});
  EXPECT_EQ(device->kind(), DeviceKind::cpu);
  EXPECT_THAT(device->description(),
              ::testing::MatchesRegex("cpu, 3 threads, oneDNN [0-9]+.[0-9]+.[0-9]+ \\(.+\\)"));
  EXPECT_EQ(omp_get_max_threads(), 3);
  EXPECT_THAT(make_cpu_device({1})->description(), ::testing::HasSubstr("1 thread,"));
}

TEST(CpuDevice, NamesItsFusions) {
  const auto device = make_cpu_device({1});
  EXPECT_THAT(device->fusions(),
              ::testing::ElementsAre(Fusion::conv_relu, Fusion::batch_norm_relu, Fusion::add_relu));
}

TEST(CpuDevice, CopiesAndZeroesAtOnce) {
  const auto device = make_cpu_device({1});
  const auto stream = device->make_stream();
  const auto event = device->make_event();
  const auto buffer = device->allocate(16);
  float source[] = {1, 2, 3, 4};
  device->copy(row_of(static_cast<float*>(buffer->data()), 4), row_of(source, 4), *stream);
  stream->record(*event);
  EXPECT_TRUE(event->done());
  EXPECT_EQ(static_cast<float*>(buffer->data())[3], 4);
  device->zero(buffer->data(), 8, *stream);
  EXPECT_EQ(static_cast<float*>(buffer->data())[1], 0);
  EXPECT_EQ(static_cast<float*>(buffer->data())[2], 3);
  EXPECT_THROW(device->copy(row_of(source, 3), row_of(source, 4), *stream), Error);
}

TEST(CpuDevice, NamesOpAndShapesWhereOneDnnRefuses) {
  const auto device = make_cpu_device({1});
  OpRequest request;
  request.op = Conv2dOp{4, 3, 3, 1, 1, 1, 1, false, false};
  request.inputs = {ValueSpec{Shape{1, 8, 8, 3}, DType::f32, nullptr, 8 * 8 * 3 * 4}};
  request.output_shape = {1, 5, 8, 4};  // not what this convolution gives
  try {
    device->plan_op(request);
    FAIL() << "the shapes do not fit";
  } catch (const Error& error) {
    EXPECT_EQ(error.status(), Status::internal);
    EXPECT_THAT(error.what(), ::testing::HasSubstr("conv2d [1,8,8,3] to [1,5,8,4]"));
  }
}

TEST(CpuDevice, WritesLayoutsAsOneDnnDoes) {
  const auto device = make_cpu_device({1});
  OpRequest request;
  request.op = InputOp{};
  request.output_shape = {2, 8, 8, 3};
  const auto input = device->plan_op(request);
  ASSERT_NE(input->facts().output.layout, nullptr);
  EXPECT_EQ(input->facts().output.layout->text(), "nchw");
}

}  // namespace
}  // namespace trireme
