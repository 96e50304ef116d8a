// SPDX-License-Identifier: Apache-2.0
// Softmax cross-entropy against the reference.
#include "kernels/reference/softmax_cross_entropy.h"
#include "tests/src/device/cuda/cuda_op_fixture.h"
#include "tests/src/device/cuda/device_bytes.h"

namespace trireme::testing {
namespace {

class LossOpTest : public CudaOpTest {
 protected:
  CudaCase loss_case(std::int64_t batch, std::int64_t classes, std::int64_t valid, double smoothing) {
    CudaCase c;
    c.precision = GetParam();
    c.op = SoftmaxCrossEntropyOp{smoothing};
    c.inputs = {{{batch, classes}, numbers(batch * classes, 1)}};
    for (float& logit : c.inputs[0].values) logit *= 4;  // exact in every type
    c.output_shape = {batch};
    c.output_grad.assign(static_cast<std::size_t>(batch), 1);  // of the loss nobody asks for one
    labels_.clear();
    for (std::int64_t n = 0; n < batch; ++n)
      labels_.push_back(n < valid ? static_cast<std::int32_t>(7 * n % classes) : 0);
    label_memory_ = std::make_unique<DeviceBytes>(device(), labels_.size() * sizeof(std::int32_t));
    label_memory_->write(labels_);
    c.context.labels = static_cast<const std::int32_t*>(label_memory_->data());
    c.context.valid_samples = valid;
    c.context.gradient_scale = 0.125F;
    return c;
  }

  /// What gradients are multiplied by, in fp16 with the loss scale of a new device.
  double scale(const CudaCase& c) {
    double factor = static_cast<double>(c.context.gradient_scale);
    if (const kernels::LossScaleState* state = device().loss_scale()) {
      kernels::LossScaleState host{};
      check_cuda(cudaMemcpy(&host, state, sizeof host, cudaMemcpyDeviceToHost), "cudaMemcpy");
      factor *= static_cast<double>(host.scale);
    }
    return factor;
  }

  void check(const CudaCase& c, double smoothing) {
    SCOPED_TRACE(c.inputs[0].shape.text());
    const CudaResult result = run_op(device(), c);
    const std::int64_t batch = c.output_shape[0], classes = c.inputs[0].shape[1],
                       valid = c.context.valid_samples;
    const reference::SoftmaxCrossEntropyShape shape{batch, classes, valid, smoothing};
    const std::vector<double> logits = widened(c.inputs[0].values);
    std::vector<double> losses(static_cast<std::size_t>(batch));
    reference::softmax_cross_entropy_forward(losses.data(), logits.data(), labels_.data(), shape);
    expect_close(result.output, losses, 2e-6, "losses");
    check_record(c, result.record, losses);
    if (c.training) check_gradient(c, result, shape);
  }

  void check_record(const CudaCase& c, const StepRecord& record, const std::vector<double>& losses) const {
    const std::int64_t classes = c.inputs[0].shape[1], valid = c.context.valid_samples;
    double sum = 0;
    std::int64_t top1 = 0, top5 = 0;
    for (std::int64_t n = 0; n < valid; ++n) {
      const auto row = static_cast<std::size_t>(n);
      sum += losses[row];
      const float* const logits = c.inputs[0].values.data() + n * classes;
      top1 += reference::is_in_top(logits, classes, labels_[row], 1) ? 1 : 0;
      top5 += reference::is_in_top(logits, classes, labels_[row], 5) ? 1 : 0;
    }
    EXPECT_NEAR(record.loss_sum, sum, 1e-5 * sum);
    EXPECT_NEAR(static_cast<double>(record.loss_fixed) * 0x1p-24, sum, 1e-5 * sum);
    EXPECT_EQ(record.samples, valid);
    EXPECT_EQ(record.top1, top1);
    EXPECT_EQ(record.top5, top5);
  }

  void check_gradient(const CudaCase& c, const CudaResult& result,
                      const reference::SoftmaxCrossEntropyShape& shape) {
    const std::vector<double> logits = widened(c.inputs[0].values);
    std::vector<double> gradient(logits.size());
    const double factor = scale(c);
    reference::softmax_cross_entropy_backward(gradient.data(), logits.data(), labels_.data(), 1.0, shape);
    std::vector<double> actual = widened(result.input_grads[0]);
    for (std::size_t i = 0; i < actual.size(); ++i) {
      actual[i] /= factor;
      if (c.inputs[0].after_relu && !(logits[i] > 0)) gradient[i] = 0;
    }
    expect_close(actual, gradient, unit() + 2e-6, "gradient");
    for (std::size_t i = 0; i < actual.size(); ++i)
      ASSERT_EQ(actual[i] == 0, gradient[i] == 0) << "element " << i << " of the gradient";
  }

  std::vector<std::int32_t> labels_;
  std::unique_ptr<DeviceBytes> label_memory_;
};

TEST_P(LossOpTest, LossRecordAndGradient) {
  check(loss_case(5, 10, 5, 0), 0);
  check(loss_case(4, 33, 4, 0.1), 0.1);
  check(loss_case(3, 1000, 3, 0), 0);
  check(loss_case(2, 3, 2, 0), 0);
}

TEST_P(LossOpTest, PaddingRowsCountNothing) {
  check(loss_case(6, 10, 4, 0.1), 0.1);
  check(loss_case(3, 17, 1, 0), 0);
}

TEST_P(LossOpTest, InferenceSmoothsNothingAndKeepsNoGradient) {
  CudaCase c = loss_case(6, 10, 4, 0.1);
  c.training = false;
  check(c, 0);
  EXPECT_EQ(run_op(device(), c).facts.saved_bytes, 0U);
}

TEST_P(LossOpTest, LogitsOfAReluGetTheirGradientCut) {
  CudaCase c = loss_case(5, 11, 5, 0);
  c.inputs[0].after_relu = true;
  c.inputs[0].values = numbers_after_relu(5 * 11, 1);
  check(c, 0);
}

INSTANTIATE_TEST_SUITE_P(All, LossOpTest, all_elements(), precision_name);

}  // namespace
}  // namespace trireme::testing
