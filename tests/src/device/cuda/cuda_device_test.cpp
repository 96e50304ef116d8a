// SPDX-License-Identifier: Apache-2.0
#include "src/device/cuda/cuda_device.h"

#include <gtest/gtest.h>

#include <cstring>
#include <numeric>

#include "kernels/elementwise/elementwise.h"
#include "src/core/error.h"
#include "src/device/cuda/cuda_stream.h"
#include "src/device/cuda/gpu_facts.h"
#include "tests/src/device/cuda/cuda_op_harness.h"
#include "tests/src/device/cuda/device_bytes.h"
#include "tests/support/numbers.h"

namespace trireme::testing {
namespace {

bool is_zero(const std::vector<std::byte>& bytes) {
  return std::all_of(bytes.begin(), bytes.end(), [](std::byte byte) { return byte == std::byte{0}; });
}

TEST(CudaDevice, MemoryIsZeroedAndAligned) {
  const auto device = make_test_device(Precision::fp32);
  for (const std::size_t bytes : {1U, 1000U, 4096U}) {
    const auto buffer = device->allocate(bytes);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(buffer->data()) % 256, 0U);
    std::vector<std::byte> host(bytes, std::byte{1});
    check_cuda(cudaMemcpy(host.data(), buffer->data(), bytes, cudaMemcpyDeviceToHost), "cudaMemcpy");
    EXPECT_TRUE(is_zero(host));
    const auto pinned = device->host_memory().allocate(bytes);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(pinned->data()) % 256, 0U);
    std::memcpy(host.data(), pinned->data(), bytes);
    EXPECT_TRUE(is_zero(host));
  }
  EXPECT_EQ(device->allocate(0)->data(), nullptr);
}

TEST(CudaDevice, MemoryThatIsNotThereIsTheConfigurationsFault) {
  const auto device = make_test_device(Precision::fp32);
  try {
    device->allocate(std::size_t{1} << 60);
    FAIL() << "no device has so much";
  } catch (const Error& error) {
    EXPECT_EQ(error.status(), Status::configuration);
    EXPECT_NE(std::string(error.what()).find(std::to_string(std::size_t{1} << 60)), std::string::npos)
        << error.what();
  }
}

TEST(CudaDevice, FreeMemoryIsSharedByTheRanksOfAGpu) {
  CudaDeviceOptions options;
  const std::size_t alone = make_cuda_device(options)->free_bytes().value();
  options.ranks_per_gpu = 4;
  const auto device = make_cuda_device(options);
  const std::size_t shared = device->free_bytes().value();
  EXPECT_LE(shared, alone / 4 + 1024);
  EXPECT_GT(shared, 0U);
}

TEST(CudaDevice, ADeviceThatIsNotThereIsRefused) {
  CudaDeviceOptions options;
  options.index = 77;
  try {
    make_cuda_device(options);
    FAIL() << "there are not so many";
  } catch (const Error& error) {
    EXPECT_EQ(error.status(), Status::peer_gone);
    EXPECT_NE(std::string(error.what()).find("77"), std::string::npos) << error.what();
  }
}

TEST(CudaDevice, WhatIsCopiedComesBack) {
  const auto device = make_test_device(Precision::fp32);
  const auto stream = device->make_stream();
  const auto there = device->allocate(400), back = device->allocate(400);
  const auto from = device->host_memory().allocate(400), to = device->host_memory().allocate(400);
  auto* const numbers = static_cast<float*>(from->data());
  std::iota(numbers, numbers + 100, 1.0F);
  const auto row = [](const std::unique_ptr<Buffer>& b) {
    return row_of(static_cast<float*>(b->data()), 100);
  };
  device->copy(row(there), row(from), *stream);
  device->copy(row(back), row(there), *stream);
  device->copy(row(to), row(back), *stream);
  stream->synchronize();
  EXPECT_EQ(std::memcmp(to->data(), from->data(), 400), 0);
  device->zero(back->data(), 200, *stream);
  device->copy(row(to), row(back), *stream);
  stream->synchronize();
  EXPECT_EQ(static_cast<float*>(to->data())[49], 0);
  EXPECT_EQ(static_cast<float*>(to->data())[50], 51);
}

TEST(CudaDevice, StreamsWaitForEachOthersEvents) {
  const auto device = make_test_device(Precision::fp32);
  const auto copies = device->make_stream();
  const auto ready = device->make_event(), read = device->make_event();
  EXPECT_TRUE(ready->done()) << "an event that was never recorded has nothing to wait for";
  const auto there = device->allocate(4);
  const auto from = device->host_memory().allocate(4), to = device->host_memory().allocate(4);
  *static_cast<float*>(from->data()) = 42;
  const auto one = [](const std::unique_ptr<Buffer>& b) { return row_of(static_cast<float*>(b->data()), 1); };
  device->copy(one(there), one(from), *copies);
  copies->record(*ready);
  device->compute_stream().wait(*ready);
  device->copy(one(to), one(there), device->compute_stream());
  device->compute_stream().record(*read);
  read->synchronize();
  EXPECT_TRUE(read->done());
  EXPECT_TRUE(ready->done());
  EXPECT_EQ(*static_cast<float*>(to->data()), 42);
}

TEST(CudaDevice, ReadsValuesWithoutPads) {
  for (const Precision precision : {Precision::fp32, Precision::bf16, Precision::fp16}) {
    const auto device = make_test_device(precision);
    for (const Shape& shape : {Shape{2, 3, 2, 5}, Shape{3, 7}}) {
      const ValueSpec spec = cuda_value(shape, element_of(precision));
      const std::vector<float> values = rounded(random_values<float>(shape.count(), 1), spec.dtype);
      DeviceBytes memory(*device, spec.bytes);
      memory.write(laid_out(spec, values));
      EXPECT_EQ(device->read(spec, memory.data(), device->compute_stream()), values);
    }
    const ValueSpec losses{{3}, DType::f32, nullptr, 12};
    DeviceBytes memory(*device, 12);
    memory.write(std::vector<float>{1, 2, 3});
    EXPECT_EQ(device->read(losses, memory.data(), device->compute_stream()), (std::vector<float>{1, 2, 3}));
  }
}

TEST(CudaDevice, WritesWhatAStepBringsToTheDevice) {
  for (const Precision precision : {Precision::fp32, Precision::fp16}) {
    const auto device = make_test_device(precision);
    ASSERT_EQ(device->step_bytes(), sizeof(kernels::StepValues));
    DeviceBytes step(*device, device->step_bytes());
    RunContext context;
    context.valid_samples = 7;
    context.gradient_scale = 0.125F;
    context.share_weight = 0.5F;
    context.seed = 99;
    context.epoch = 3;
    device->write_step(step.data(), context, device->compute_stream());
    const auto values = step.read<kernels::StepValues>()[0];
    EXPECT_EQ(values.valid_samples, 7);
    EXPECT_EQ(values.gradient_scale, 0.125F);
    EXPECT_EQ(values.share_weight, 0.5F);
    EXPECT_EQ(values.seed, 99U);
    EXPECT_EQ(values.epoch, 3U);
    EXPECT_EQ(values.loss_scale, precision == Precision::fp16 ? 65536.0F : 1.0F);
    EXPECT_EQ(values.inverse_loss_scale, 1 / values.loss_scale);
    EXPECT_EQ(device->loss_scale() != nullptr, precision == Precision::fp16);
  }
}

TEST(CudaDevice, ARecordingRunsWhenItIsToldTo) {
  const auto device = make_test_device(Precision::fp32);
  DeviceBytes sum(*device, 64), one(*device, 64);
  one.write(std::vector<float>(16, 1.0F));
  sum.write(std::vector<float>(16, 0.0F));
  auto* const total = static_cast<float*>(sum.data());
  const auto* const summand = static_cast<const float*>(one.data());
  std::string why;
  const auto recording = device->record(
      [&] { kernels::add_forward(total, total, summand, false, 16, device->compute_handle()); }, why);
  ASSERT_NE(recording, nullptr) << why;
  EXPECT_EQ(sum.read<float>()[0], 0) << "recording ran the work";
  for (int i = 0; i < 3; ++i) recording->run();
  EXPECT_EQ(sum.read<float>(), std::vector<float>(16, 3.0F));
}

TEST(CudaDevice, WhatCannotBeRecordedHasAReasonAndLeavesTheStreamUsable) {
  const auto device = make_test_device(Precision::fp32);
  std::string why;
  const auto recording = device->record([] { throw Error(Status::internal, "not this"); }, why);
  EXPECT_EQ(recording, nullptr);
  EXPECT_NE(why.find("not this"), std::string::npos) << why;
  const auto memory = device->allocate(4);
  device->zero(memory->data(), 4, device->compute_stream());
  device->compute_stream().synchronize();
}

TEST(CudaDevice, AnOpsErrorNamesOpAndShapes) {
  const auto device = make_test_device(Precision::bf16);
  OpRequest request;
  request.op = BatchNormOp{};
  request.inputs = {cuda_value({1, 1, 1, 8}, DType::bf16)};
  request.output_shape = {1, 1, 1, 8};
  request.name = "stem.norm";
  const auto plan = device->plan_op(request);
  DeviceBytes value(*device, 16), saved(*device, plan->facts().saved_bytes),
      scratch(*device, plan->facts().forward_scratch_bytes), parameter(*device, 32);
  Bindings bindings;
  bindings.inputs = {value.data()};
  bindings.output = value.data();
  bindings.saved = saved.data();
  bindings.scratch = scratch.data();
  bindings.parameters.assign(4, static_cast<const float*>(parameter.data()));
  RunContext context;
  context.valid_samples = 1;
  try {
    plan->make_forward(bindings)->run(context);
    FAIL() << "one value has no variance";
  } catch (const Error& error) {
    EXPECT_EQ(error.status(), Status::configuration);
    EXPECT_NE(std::string(error.what()).find("stem.norm, batch_norm [1,1,1,8]"), std::string::npos)
        << error.what();
  }
}

TEST(GpuFacts, NameTheDeviceAndItsVersions) {
  const AcceleratorFacts facts = read_gpu_facts();
  ASSERT_FALSE(facts.gpus.empty()) << facts.obstacle;
  EXPECT_TRUE(facts.obstacle.empty());
  EXPECT_EQ(facts.gpus[0].index, 0);
  EXPECT_FALSE(facts.gpus[0].name.empty());
  EXPECT_EQ(facts.gpus[0].uuid.size(), std::string("GPU-01234567-0123-0123-0123-0123456789ab").size());
  EXPECT_EQ(facts.gpus[0].uuid.rfind("GPU-", 0), 0U);
  EXPECT_NE(facts.runtime.find('.'), std::string::npos);
}

TEST(CudaLayout, PitchesAreWholeVectors) {
  EXPECT_EQ(pitch_of(3, DType::f32), 4);
  EXPECT_EQ(pitch_of(3, DType::bf16), 8);
  EXPECT_EQ(pitch_of(64, DType::f16), 64);
  const ValueSpec dense = cuda_value({2, 4, 4, 8}, DType::bf16), padded = cuda_value({2, 10}, DType::f16);
  EXPECT_EQ(dense.layout->text(), "nhwc");
  EXPECT_EQ(dense.bytes, 2U * 4 * 4 * 8 * 2);
  EXPECT_EQ(padded.layout->text(), "nc:16");
  EXPECT_EQ(padded.bytes, 2U * 16 * 2);
  EXPECT_EQ(after_relu(padded).layout->text(), "nc:16+relu");
}

TEST(CudaLayout, StatisticsLieBesideTheElements) {
  const ValueSpec plain = cuda_value({1, 3, 3, 8}, DType::bf16);
  const ValueSpec value = with_statistics(plain, {2, 8, 9});
  EXPECT_EQ(value.element_bytes(), plain.bytes);
  EXPECT_EQ(value.layout->text(), "nhwc+statistics");
  alignas(256) static std::byte memory[1024];
  const kernels::TileStatistics beside = statistics_beside(value, memory);
  EXPECT_EQ(beside.tiles, 2);
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(beside.values) % 256, 0U);
  EXPECT_GE(reinterpret_cast<const std::byte*>(beside.values), memory + plain.bytes);
  EXPECT_EQ(reinterpret_cast<const std::byte*>(beside.values) + sizeof(float) * 2 * 2 * 8,
            memory + value.bytes);
}

}  // namespace
}  // namespace trireme::testing
