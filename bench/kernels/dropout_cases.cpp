// SPDX-License-Identifier: Apache-2.0
#include "bench/kernels/kernel_case.h"
#include "bench/kernels/operands.h"
#include "kernels/dropout/dropout.h"
#include "src/core/philox.h"

namespace trireme::bench {
namespace {

using T = kernels::BFloat16;
constexpr std::uint16_t kStream = 256;

struct Operands {
  Operands(int batch, int features)
      : shape{batch, 1, features, features},
        x(random_array<T>(batch, features, features, 1)),
        y(make_array<T>(std::int64_t{batch} * features)),
        step(make_array(std::vector<kernels::StepValues>(1))),
        ids(make_array(std::vector<std::int64_t>(static_cast<std::size_t>(batch), 7))) {}
  void run(cudaStream_t stream) const {
    kernels::dropout(y->data(), x->data(), {0.5, kStream, step->data(), ids->data()}, shape, stream);
  }

  kernels::DropoutShape shape;
  Array<T> x, y;
  Array<kernels::StepValues> step;
  Array<std::int64_t> ids;
};

std::string check() {
  constexpr int kFeatures = 136;
  const Operands o(2, kFeatures);
  o.run(nullptr);
  std::vector<double> expected = widened(dense_values(*o.x, kFeatures, kFeatures));
  for (int row = 0; row < 2; ++row) {
    Philox random(0, kStream, 0, 7);
    for (int i = 0; i < kFeatures; ++i)
      expected[static_cast<std::size_t>(row) * kFeatures + static_cast<std::size_t>(i)] *=
          random.next_uniform() >= 0.5F ? 2 : 0;
  }
  return compare("y", dense_values(*o.y, kFeatures, kFeatures), expected, 0);
}

}  // namespace

std::vector<KernelCase> dropout_cases(Scale scale) {
  const int batch = scale == Scale::card ? 4096 : 2;
  KernelCase one;
  one.name = "dropout/forward/bf16/" + std::to_string(batch) + "x4096";
  one.check = check;
  one.prepare = [batch] {
    return
        [operands = std::make_shared<Operands>(batch, 4096)](cudaStream_t stream) { operands->run(stream); };
  };
  one.bytes = 2.0 * batch * 4096 * sizeof(T);
  return {one};
}

}  // namespace trireme::bench
