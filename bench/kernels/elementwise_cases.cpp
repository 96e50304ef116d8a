// SPDX-License-Identifier: Apache-2.0
#include "bench/kernels/kernel_case.h"
#include "bench/kernels/operands.h"
#include "kernels/elementwise/elementwise.h"
#include "kernels/reference/elementwise.h"

namespace trireme::bench {
namespace {

using T = kernels::BFloat16;

struct Operands {
  explicit Operands(std::int64_t rows)
      : count(rows * 64),
        a(random_array<T>(rows, 64, 64, 1)),
        b(random_array<T>(rows, 64, 64, 2)),
        z(make_array<T>(count)) {}
  void relu(cudaStream_t stream) const { kernels::relu_forward(z->data(), a->data(), count, stream); }
  void relu_backward(cudaStream_t stream) const {
    kernels::relu_backward(z->data(), a->data(), b->data(), count, stream);
  }
  void add(cudaStream_t stream) const {
    kernels::add_forward(z->data(), a->data(), b->data(), false, count, stream);
  }

  std::int64_t count;
  Array<T> a, b, z;
};

std::string check() {
  const Operands o(33);
  const std::vector<double> a = widened(dense_values(*o.a, 64, 64)), b = widened(dense_values(*o.b, 64, 64));
  std::vector<double> expected(a.size());
  std::string wrong;
  o.relu(nullptr);
  reference::relu_forward(expected.data(), a.data(), o.count);
  wrong += compare("relu", dense_values(*o.z, 64, 64), expected, 0);
  o.relu_backward(nullptr);
  reference::relu_backward(expected.data(), a.data(), b.data(), o.count);
  wrong += compare("relu backward", dense_values(*o.z, 64, 64), expected, 0);
  o.add(nullptr);
  reference::add_forward(expected.data(), a.data(), b.data(), o.count);
  return wrong + compare("add", dense_values(*o.z, 64, 64), expected, 0.005);
}

KernelCase make_case(const char* name, void (Operands::*pass)(cudaStream_t) const, int tensors,
                     std::int64_t rows) {
  KernelCase one;
  one.name = std::string("elementwise/") + name + "/bf16/" + std::to_string(rows * 64);
  one.check = check;
  one.prepare = [rows, pass] {
    return [operands = std::make_shared<Operands>(rows), pass](cudaStream_t stream) {
      ((*operands).*pass)(stream);
    };
  };
  one.bytes = static_cast<double>(tensors) * static_cast<double>(rows * 64) * sizeof(T);
  return one;
}

}  // namespace

std::vector<KernelCase> elementwise_cases(Scale scale) {
  const std::int64_t rows = scale == Scale::card ? 256 * 112 * 112 : 64;
  return {make_case("relu_forward", &Operands::relu, 2, rows),
          make_case("relu_backward", &Operands::relu_backward, 3, rows),
          make_case("add_forward", &Operands::add, 3, rows)};
}

}  // namespace trireme::bench
