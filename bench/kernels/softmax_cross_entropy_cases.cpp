// SPDX-License-Identifier: Apache-2.0
#include "bench/kernels/kernel_case.h"
#include "bench/kernels/operands.h"
#include "kernels/reference/softmax_cross_entropy.h"
#include "kernels/softmax_cross_entropy/softmax_cross_entropy.h"

namespace trireme::bench {
namespace {

using T = kernels::BFloat16;
constexpr float kSmoothing = 0.1F;

struct Operands {
  Operands(std::int64_t batch, int classes)
      : shape{batch, classes, static_cast<int>(test::pitch_of<T>(classes))},
        logits(random_array<T>(batch, classes, shape.pitch, 1)),
        gradient(make_array<T>(batch * shape.pitch)),
        losses(make_array<float>(batch)),
        labels(make_array(std::vector<std::int32_t>(static_cast<std::size_t>(batch), 3))),
        record(make_array(std::vector<kernels::LossRecord>(1))),
        workspace(make_array<std::uint8_t>(
            static_cast<std::int64_t>(kernels::softmax_cross_entropy_workspace_bytes(batch) + 16))) {
    kernels::StepValues values;
    values.valid_samples = batch;
    step = make_array(std::vector<kernels::StepValues>{values});
  }
  void run(cudaStream_t stream) const {
    kernels::SoftmaxCrossEntropyBuffers<T> buffers;
    buffers.logits = logits->data();
    buffers.labels = labels->data();
    buffers.step = step->data();
    buffers.losses = losses->data();
    buffers.gradient = gradient->data();
    buffers.record = record->data();
    buffers.workspace = workspace->data();
    kernels::softmax_cross_entropy(shape, kSmoothing, buffers, stream);
  }

  kernels::SoftmaxCrossEntropyShape shape;
  Array<T> logits, gradient;
  Array<float> losses;
  Array<std::int32_t> labels;
  Array<kernels::StepValues> step;
  Array<kernels::LossRecord> record;
  Array<std::uint8_t> workspace;
};

std::string check() {
  const Operands o(5, 100);
  o.run(nullptr);
  const std::vector<double> logits = widened(dense_values(*o.logits, 100, o.shape.pitch));
  const std::vector<std::int32_t> labels = o.labels->to_host();
  std::vector<double> losses(5), gradient(logits.size());
  const reference::SoftmaxCrossEntropyShape r{5, 100, 5, kSmoothing};
  reference::softmax_cross_entropy_forward(losses.data(), logits.data(), labels.data(), r);
  reference::softmax_cross_entropy_backward(gradient.data(), logits.data(), labels.data(), 1.0, r);
  return compare("losses", o.losses->to_host(), losses, 1e-5) +
         compare("gradient", dense_values(*o.gradient, 100, o.shape.pitch), gradient, 0.01);
}

}  // namespace

std::vector<KernelCase> softmax_cross_entropy_cases(Scale scale) {
  std::vector<KernelCase> cases;
  for (const int classes : {1000, 21841}) {
    const std::int64_t batch = scale == Scale::card ? 2048 : 2;
    KernelCase one;
    one.name = "softmax_cross_entropy/forward_backward/bf16/" + std::to_string(batch) + "x" +
               std::to_string(classes);
    one.check = check;
    one.prepare = [batch, classes] {
      return [operands = std::make_shared<Operands>(batch, classes)](cudaStream_t stream) {
        operands->run(stream);
      };
    };
    one.bytes = 2.0 * static_cast<double>(batch) * classes * sizeof(T);
    cases.push_back(std::move(one));
  }
  return cases;
}

}  // namespace trireme::bench
