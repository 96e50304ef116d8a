// SPDX-License-Identifier: Apache-2.0
// The optimizer and the wire of GPUs against those of the host, over emulated GPUs.
#include "src/optim/cuda/cuda_sgd.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "src/core/philox.h"
#include "src/exchange/cuda/cuda_wire_packer.h"
#include "tests/support/small_net.h"

namespace trireme {
namespace {

class CudaSgd : public ::testing::TestWithParam<Precision> {
 protected:
  CudaSgd() { options_.nesterov = true; }

  std::vector<float> random_values(std::uint32_t stream) const {
    Philox random(1, 77, stream, 0);
    std::vector<float> values(layout_.elements);
    for (float& value : values) value = static_cast<float>(random.next_below(1U << 24)) * 0x1p-23F - 1;
    return values;
  }
  std::unique_ptr<Buffer> upload(std::vector<float> values) {
    auto buffer = device_->allocate(values.size() * sizeof(float));
    device_->copy(row_of(static_cast<float*>(buffer->data()), std::ssize(values)),
                  row_of(values.data(), std::ssize(values)), device_->compute_stream());
    device_->compute_stream().synchronize();
    return buffer;
  }
  std::vector<float> download(const float* values) {
    std::vector<float> host(layout_.elements);
    device_->copy(row_of(host.data(), std::ssize(host)), row_of(const_cast<float*>(values), std::ssize(host)),
                  device_->compute_stream());
    device_->compute_stream().synchronize();
    return host;
  }
  static float* floats(const std::unique_ptr<Buffer>& buffer) { return static_cast<float*>(buffer->data()); }

  const Graph graph_ = testing_support::small_net();
  const FlatLayout layout_{graph_};
  OptimizerOptions options_;
  std::unique_ptr<CudaDevice> device_ = make_cuda_device({.precision = GetParam()});
};

TEST_P(CudaSgd, stepsLikeTheHostToTheBit) {
  HostMemory memory;
  const auto host = make_sgd(graph_, layout_, options_, memory);
  const auto cuda = make_cuda_sgd(graph_, layout_, options_, *device_);
  if (cuda->loss_scale()) cuda->set_loss_scale({1, 0, 0});
  std::vector<float> parameters = random_values(0);
  const auto on_device = upload(parameters);
  for (std::uint32_t step = 1; step <= 3; ++step) {
    const std::vector<float> gradients = random_values(step);
    const auto gradients_on_device = upload(gradients);
    host->step({0, layout_.elements}, parameters.data(), gradients.data(), 0.1, 1);
    cuda->inspect({0, layout_.elements / 2}, floats(gradients_on_device));
    cuda->inspect({layout_.elements / 2, layout_.elements}, floats(gradients_on_device));
    ASSERT_TRUE(cuda->step_if_finite(floats(on_device), floats(gradients_on_device), 0.1, 0));
    const std::vector<float> found = download(floats(on_device));
    for (const FlatLayout::Entry& entry : layout_.entries)
      for (std::size_t i = entry.offset; i < entry.offset + entry.count; ++i)
        ASSERT_EQ(found[i], parameters[i]) << "step " << step << ", element " << i;
  }
}

TEST_P(CudaSgd, stepsRangesAsItStepsTheWhole) {
  const auto whole = make_cuda_sgd(graph_, layout_, options_, *device_);
  const auto parts = make_cuda_sgd(graph_, layout_, options_, *device_);
  const auto gradients = upload(random_values(1));
  const auto a = upload(random_values(0)), b = upload(random_values(0));
  whole->step({0, layout_.elements}, floats(a), floats(gradients), 0.1, 1);
  for (std::size_t begin = 0; begin < layout_.elements; begin += 100)
    parts->step({begin, std::min(begin + 100, layout_.elements)}, floats(b), floats(gradients), 0.1, 1);
  EXPECT_EQ(download(floats(a)), download(floats(b)));
}

TEST_P(CudaSgd, clipsByTheNormOfTheUnscaledGradient) {
  HostMemory memory;
  const auto host = make_sgd(graph_, layout_, options_, memory);
  const auto cuda = make_cuda_sgd(graph_, layout_, options_, *device_);
  const float scale = cuda->loss_scale() ? 1024 : 1;
  cuda->set_loss_scale({scale, 0, 0});
  std::vector<float> parameters = random_values(0), gradients = random_values(1);
  const auto on_device = upload(parameters);
  std::vector<float> scaled = gradients;
  for (const FlatLayout::Entry& entry : layout_.entries)
    if (!graph_.parameter(entry.parameter).is_statistic())
      for (std::size_t i = entry.offset; i < entry.offset + entry.count; ++i) scaled[i] *= scale;
  const auto gradients_on_device = upload(scaled);
  host->step_clipped(parameters.data(), gradients.data(), 0.1, 0.5);
  cuda->step_clipped(floats(on_device), floats(gradients_on_device), 0.1, 0.5);
  const std::vector<float> found = download(floats(on_device));
  for (const FlatLayout::Entry& entry : layout_.entries)
    for (std::size_t i = entry.offset; i < entry.offset + entry.count; ++i)
      EXPECT_NEAR(found[i], parameters[i], 1e-6) << i;
}

TEST_P(CudaSgd, changesNothingWithAGradientThatIsNotFinite) {
  const auto cuda = make_cuda_sgd(graph_, layout_, options_, *device_);
  const std::vector<float> parameters = random_values(0);
  const auto on_device = upload(parameters);
  std::vector<float> gradients = random_values(1);
  for (const float bad : {std::numeric_limits<float>::infinity(), std::numeric_limits<float>::quiet_NaN()}) {
    std::vector<float> faulty = gradients;
    faulty[layout_.entries.back().offset] = bad;
    const auto faulty_on_device = upload(faulty);
    cuda->inspect({0, layout_.elements}, floats(faulty_on_device));
    EXPECT_FALSE(cuda->step_if_finite(floats(on_device), floats(faulty_on_device), 0.1, 0));
    EXPECT_EQ(download(floats(on_device)), parameters);
  }
  EXPECT_EQ(cuda->loss_scale().has_value(), GetParam() == Precision::fp16);
  const auto scale_after = [&](std::int32_t good_steps) {
    return cuda->loss_scale().value_or(LossScale{16384, good_steps, 2}) == LossScale{16384, good_steps, 2};
  };
  EXPECT_TRUE(scale_after(0)) << "halved twice from 65536";
  const auto gradients_on_device = upload(gradients);
  cuda->inspect({0, layout_.elements}, floats(gradients_on_device));
  EXPECT_TRUE(cuda->step_if_finite(floats(on_device), floats(gradients_on_device), 0.1, 0));
  EXPECT_TRUE(scale_after(1));
}

TEST_P(CudaSgd, packsForTheWireLikeTheHostToTheBit) {
  const std::vector<WirePiece> pieces{{0, 0, 100}, {128, 100, 693}, {1088, 793, 189}};
  for (const DType type : {DType::bf16, DType::f16}) {
    const auto host = make_host_wire_packer(type);
    const auto cuda = make_cuda_wire_packer(type, *device_);
    std::vector<float> gradients = random_values(2), residual = random_values(3);
    const auto gradients_on_device = upload(gradients), residual_on_device = upload(residual);
    std::vector<float> staged(layout_.elements);
    const auto staged_on_device = upload(staged);
    const std::size_t host_list = host->add(pieces), cuda_list = cuda->add(pieces);
    Stream& stream = device_->compute_stream();
    host->round(host_list, gradients.data(), residual.data(), staged.data(), stream);
    cuda->round(cuda_list, floats(gradients_on_device), floats(residual_on_device), staged_on_device->data(),
                stream);
    EXPECT_EQ(download(floats(staged_on_device)), staged);
    EXPECT_EQ(download(floats(residual_on_device)), residual);
    host->widen(host_list, staged.data(), gradients.data(), stream);
    cuda->widen(cuda_list, staged_on_device->data(), floats(gradients_on_device), stream);
    EXPECT_EQ(download(floats(gradients_on_device)), gradients);
  }
}

INSTANTIATE_TEST_SUITE_P(precisions, CudaSgd, ::testing::Values(Precision::fp32, Precision::fp16),
                         [](const auto& precision) {
                           return precision.param == Precision::fp16 ? "fp16" : "fp32";
                         });

}  // namespace
}  // namespace trireme
