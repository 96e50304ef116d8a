// SPDX-License-Identifier: Apache-2.0
#include "bench/kernels/kernel_case.h"
#include "bench/kernels/operands.h"
#include "kernels/cast/cast.h"
#include "kernels/cast/wire.h"

namespace trireme::bench {
namespace {

using T = kernels::BFloat16;

struct Operands {
  explicit Operands(std::int64_t count)
      : from(random_array<float>(count / 64, 64, 64, 1)),
        residual(random_array<float>(count / 64, 64, 64, 2)),
        to(make_array<T>(count)),
        tiles(make_array(kernels::make_wire_tiles(std::vector<kernels::WirePiece>{{0, 0, count}}))) {}
  void narrow(cudaStream_t stream) const {
    kernels::cast(to->data(), from->data(), static_cast<std::int64_t>(from->size()), stream);
  }
  void wire(cudaStream_t stream) const {
    kernels::round_to_wire({tiles->data(), static_cast<int>(tiles->size())}, from->data(), residual->data(),
                           to->data(), stream);
  }

  Array<float> from, residual;
  Array<T> to;
  Array<kernels::WireTile> tiles;
};

std::string check() {
  const Operands o(640);
  const std::vector<float> from = o.from->to_host(), owed = o.residual->to_host();
  o.narrow(nullptr);
  std::string wrong = compare("cast", dense_values(*o.to, 64, 64), widened(from), 0.004);
  o.wire(nullptr);
  const std::vector<float> sent = dense_values(*o.to, 64, 64), kept = o.residual->to_host();
  std::vector<double> expected(from.size());
  std::vector<float> both(from.size());
  for (std::size_t i = 0; i < from.size(); ++i) {
    expected[i] = static_cast<double>(from[i]) + static_cast<double>(owed[i]);
    both[i] = sent[i] + kept[i];
  }
  return wrong + compare("sent and kept", both, expected, 1e-6);
}

KernelCase make_case(const char* name, void (Operands::*pass)(cudaStream_t) const, double bytes,
                     std::int64_t count) {
  KernelCase one;
  one.name = std::string("cast/") + name + "/bf16/" + std::to_string(count);
  one.check = check;
  one.prepare = [count, pass] {
    return [operands = std::make_shared<Operands>(count), pass](cudaStream_t stream) {
      ((*operands).*pass)(stream);
    };
  };
  one.bytes = bytes * static_cast<double>(count);
  return one;
}

}  // namespace

std::vector<KernelCase> cast_cases(Scale scale) {
  const std::int64_t count = scale == Scale::card ? std::int64_t{64} << 20 : 1 << 14;
  return {make_case("narrow", &Operands::narrow, 6, count),
          make_case("round_to_wire", &Operands::wire, 14, count)};
}

}  // namespace trireme::bench
