// SPDX-License-Identifier: Apache-2.0
#include "bench/kernels/kernel_case.h"
#include "bench/kernels/operands.h"
#include "kernels/optimizer/norms.h"
#include "kernels/optimizer/optimizer.h"

namespace trireme::bench {
namespace {

constexpr float kRate = 0.1F;

struct Operands {
  explicit Operands(std::int64_t count)
      : host(
            kernels::make_segments(std::vector<kernels::Segment>{{0, count, kernels::SegmentRule::decayed}})),
        tiles(make_array(host.tiles)),
        rules(make_array(host.rules)),
        first_tile(make_array(host.first_tile)),
        parameters(random_array<float>(count / 64, 64, 64, 1)),
        gradients(random_array<float>(count / 64, 64, 64, 2)),
        momentum(make_array(std::vector<float>(static_cast<std::size_t>(count)))),
        factors(make_array(std::vector<kernels::UpdateFactors>{{kRate, 1, 1, 1, 0}})),
        norms(make_array<double>(2)),
        workspace(make_array<std::uint8_t>(
            static_cast<std::int64_t>(kernels::squared_norms_workspace_bytes(host) + 16))) {}
  kernels::SegmentTable table() const {
    return {tiles->data(), rules->data(), first_tile->data(), static_cast<int>(host.tiles.size()), 1};
  }
  void sgd(cudaStream_t stream) const {
    kernels::UpdateBuffers buffers;
    buffers.parameters = parameters->data();
    buffers.gradients = gradients->data();
    buffers.first = momentum->data();
    buffers.factors = factors->data();
    kernels::sgd_step(table(), kernels::make_range(host, 0, static_cast<std::int64_t>(parameters->size())),
                      buffers, {}, stream);
  }
  void norm(cudaStream_t stream) const {
    kernels::squared_norms(table(), gradients->data(), norms->data(), norms->data() + 1, workspace->data(),
                           stream);
  }

  kernels::HostSegments host;
  Array<kernels::SegmentTile> tiles;
  Array<kernels::SegmentRule> rules;
  Array<std::int32_t> first_tile;
  Array<float> parameters, gradients, momentum;
  Array<kernels::UpdateFactors> factors;
  Array<double> norms;
  Array<std::uint8_t> workspace;
};

std::string check() {
  const Operands o(640);
  const std::vector<float> before = o.parameters->to_host(), gradients = o.gradients->to_host();
  o.norm(nullptr);
  o.sgd(nullptr);
  std::vector<double> expected(before.size());
  double square = 0;
  for (std::size_t i = 0; i < before.size(); ++i) {
    const double gradient = gradients[i];
    square += gradient * gradient;
    expected[i] = before[i] - static_cast<double>(kRate) * (gradient + 5e-4 * static_cast<double>(before[i]));
  }
  const std::vector<double> norms = o.norms->to_host();
  return compare("parameters", o.parameters->to_host(), expected, 1e-6) +
         compare("norm", {static_cast<float>(norms[1])}, {square}, 1e-6);
}

KernelCase make_case(const char* name, void (Operands::*pass)(cudaStream_t) const, int buffers,
                     std::int64_t count) {
  KernelCase one;
  one.name = std::string("optimizer/") + name + "/" + std::to_string(count);
  one.check = check;
  one.prepare = [count, pass] {
    return [operands = std::make_shared<Operands>(count), pass](cudaStream_t stream) {
      ((*operands).*pass)(stream);
    };
  };
  one.bytes = static_cast<double>(buffers) * static_cast<double>(count) * sizeof(float);
  return one;
}

}  // namespace

std::vector<KernelCase> optimizer_cases(Scale scale) {
  const std::int64_t count = scale == Scale::card ? std::int64_t{64} << 20 : 1 << 14;
  return {make_case("sgd_momentum", &Operands::sgd, 5, count),
          make_case("squared_norms", &Operands::norm, 1, count)};
}

}  // namespace trireme::bench
