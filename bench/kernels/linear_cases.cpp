// SPDX-License-Identifier: Apache-2.0
// The linear layers of vgg16 and resnet50 in bf16.
#include "bench/kernels/kernel_case.h"
#include "bench/kernels/operands.h"
#include "kernels/linear/linear.h"
#include "kernels/reference/linear.h"

namespace trireme::bench {
namespace {

using T = kernels::BFloat16;
using kernels::LinearShape;

struct Layer {
  const char* name;
  std::int64_t in, out;
};
constexpr Layer kLayers[] = {
    {"vgg16.fc1", 25088, 4096}, {"vgg16.fc2", 4096, 4096}, {"resnet50.fc", 2048, 1000}};
constexpr int kMultiprocessors = 132;

LinearShape shape_of(const Layer& layer, std::int64_t batch) {
  return {batch, layer.in, test::pitch_of<T>(layer.in), layer.out, test::pitch_of<T>(layer.out)};
}

struct Operands {
  explicit Operands(const LinearShape& s)
      : shape(s),
        x(random_array<T>(s.batch, s.in, s.in_pitch, 1)),
        y(random_array<T>(s.batch, s.out, s.out_pitch, 2)),
        dx(make_array<T>(s.batch * s.in_pitch)),
        packed(make_array<T>(kernels::linear_packed_weights_size<T>(s))),
        weights(test::random_rows<T>(s.out, s.in, 3)),
        master(make_array(weights)),
        dweights(make_array<float>(s.out * s.in)),
        workspace(make_array<std::uint8_t>(static_cast<std::int64_t>(
            kernels::linear_backward_weights_workspace_bytes<T>(s, kMultiprocessors) + 16))) {
    kernels::linear_pack_weights(packed->data(), master->data(), s, nullptr);
  }

  LinearShape shape;
  Array<T> x, y, dx, packed;
  std::vector<float> weights;
  Array<float> master, dweights;
  Array<std::uint8_t> workspace;
};

using Launch = void (*)(const Operands&, cudaStream_t);

void forward(const Operands& o, cudaStream_t stream) {
  kernels::LinearForward<T> pass{o.y->data(), o.x->data(), o.packed->data()};
  kernels::linear_forward(pass, o.shape, stream);
}
void backward_data(const Operands& o, cudaStream_t stream) {
  kernels::LinearBackwardData<T> pass{o.dx->data(), o.y->data(), o.packed->data()};
  kernels::linear_backward_data(pass, o.shape, stream);
}
void backward_weights(const Operands& o, cudaStream_t stream) {
  kernels::LinearBackwardWeights<T> pass{o.dweights->data(), nullptr, o.x->data(), o.y->data(),
                                         o.workspace->data()};
  kernels::linear_backward_weights(pass, o.shape, kMultiprocessors, stream);
}

/// All three passes of a small layer, whatever the pass to be timed.
std::string check() {
  const LinearShape s = shape_of({"", 520, 200}, 5);
  const reference::LinearShape r{s.batch, s.in, s.out};
  const Operands o(s);
  const std::vector<double> x = widened(dense_values(*o.x, s.in, s.in_pitch));
  const std::vector<double> dy = widened(dense_values(*o.y, s.out, s.out_pitch));
  const std::vector<double> weights = widened(o.weights);
  std::vector<double> y(dy.size()), dx(x.size()), dweights(weights.size());
  reference::linear_backward_data(dx.data(), dy.data(), weights.data(), r);
  reference::linear_backward_weights<double>(dweights.data(), nullptr, x.data(), dy.data(), r);
  reference::linear_forward<double>(y.data(), x.data(), weights.data(), nullptr, r);
  backward_data(o, nullptr);
  backward_weights(o, nullptr);
  forward(o, nullptr);
  constexpr double kLimit = 0.01;
  return compare("dx", dense_values(*o.dx, s.in, s.in_pitch), dx, kLimit) +
         compare("dweights", o.dweights->to_host(), dweights, kLimit) +
         compare("y", dense_values(*o.y, s.out, s.out_pitch), y, kLimit);
}

KernelCase make_case(const Layer& layer, const char* pass, Launch launch, Scale scale) {
  const LinearShape s = scale == Scale::card ? shape_of(layer, 256) : shape_of({layer.name, 520, 200}, 5);
  KernelCase one;
  one.name = std::string("linear/") + pass + "/bf16/" + layer.name;
  one.check = check;
  one.prepare = [s, launch] {
    return [operands = std::make_shared<Operands>(s), launch](cudaStream_t stream) {
      launch(*operands, stream);
    };
  };
  one.flops = 2.0 * static_cast<double>(s.batch * s.in * s.out);
  one.bytes = static_cast<double>(s.batch * (s.in_pitch + s.out_pitch) + s.out * s.in_pitch) * sizeof(T);
  return one;
}

}  // namespace

std::vector<KernelCase> linear_cases(Scale scale) {
  std::vector<KernelCase> cases;
  for (const Layer& layer : kLayers) {
    cases.push_back(make_case(layer, "forward", forward, scale));
    cases.push_back(make_case(layer, "backward_data", backward_data, scale));
    cases.push_back(make_case(layer, "backward_weights", backward_weights, scale));
  }
  return cases;
}

}  // namespace trireme::bench
