// SPDX-License-Identifier: Apache-2.0
#include "bench/kernels/kernel_case.h"
#include "bench/kernels/operands.h"
#include "kernels/pool2d/pool2d.h"
#include "kernels/reference/pool2d.h"

namespace trireme::bench {
namespace {

using T = kernels::BFloat16;
using kernels::Pool2dShape;

struct Operands {
  explicit Operands(const Pool2dShape& s)
      : shape(s),
        in_rows(std::int64_t{s.batch} * s.in_h * s.in_w),
        out_rows(std::int64_t{s.batch} * s.out_h() * s.out_w()),
        x(random_array<T>(in_rows, s.pitch, s.pitch, 1)),
        dy(random_array<T>(out_rows, s.pitch, s.pitch, 2)),
        y(make_array<T>(out_rows * s.pitch)),
        dx(make_array<T>(in_rows * s.pitch)),
        places(make_array<std::uint8_t>(out_rows * s.pitch)) {
    forward(nullptr);
    backward(nullptr);
  }
  void forward(cudaStream_t stream) const {
    kernels::max_pool2d_forward(y->data(), places->data(), x->data(), shape, stream);
  }
  void backward(cudaStream_t stream) const {
    kernels::max_pool2d_backward(dx->data(), dy->data(), places->data(), shape, stream);
  }

  Pool2dShape shape;
  std::int64_t in_rows, out_rows;
  Array<T> x, dy, y, dx;
  Array<std::uint8_t> places;
};

std::string check() {
  const Operands o({2, 13, 11, 24, 3, 3, 2, 2, 1, 1});
  const reference::PoolShape r{2, 13, 11, 24, 3, 3, 2, 2, 1, 1};
  const std::vector<double> x = widened(dense_values(*o.x, 24, 24)),
                            dy = widened(dense_values(*o.dy, 24, 24));
  std::vector<double> y(dy.size()), dx(x.size());
  std::vector<std::int64_t> places(y.size());
  reference::max_pool_forward(y.data(), places.data(), x.data(), r);
  reference::max_pool_backward(dx.data(), dy.data(), places.data(), r);
  return compare("y", dense_values(*o.y, 24, 24), y, 0) +
         compare("dx", dense_values(*o.dx, 24, 24), dx, 0.01);
}

KernelCase make_case(const char* name, void (Operands::*pass)(cudaStream_t) const, const Pool2dShape& shape) {
  KernelCase one;
  one.name = std::string("pool2d/max_") + name + "/bf16/" + std::to_string(shape.in_h) + "x" +
             std::to_string(shape.pitch);
  one.check = check;
  one.prepare = [shape, pass] {
    return [operands = std::make_shared<Operands>(shape), pass](cudaStream_t stream) {
      ((*operands).*pass)(stream);
    };
  };
  const double in = static_cast<double>(shape.batch) * shape.in_h * shape.in_w * shape.pitch;
  const double out = static_cast<double>(shape.batch) * shape.out_h() * shape.out_w() * shape.pitch;
  one.bytes = in * sizeof(T) + out * (sizeof(T) + 1);
  return one;
}

}  // namespace

std::vector<KernelCase> pool2d_cases(Scale scale) {
  const int batch = scale == Scale::card ? 256 : 1, size = scale == Scale::card ? 112 : 14;
  std::vector<KernelCase> cases;
  for (const Pool2dShape& shape : {Pool2dShape{batch, size, size, 64, 3, 3, 2, 2, 1, 1},
                                   Pool2dShape{batch, size, size, 128, 2, 2, 2, 2, 0, 0}}) {
    cases.push_back(make_case("forward", &Operands::forward, shape));
    cases.push_back(make_case("backward", &Operands::backward, shape));
  }
  return cases;
}

}  // namespace trireme::bench
