// SPDX-License-Identifier: Apache-2.0
// Batch norm behind the last convolution of a resnet50 block, bf16: with addition and ReLU.
#include "bench/kernels/kernel_case.h"
#include "bench/kernels/operands.h"
#include "kernels/batch_norm/batch_norm.h"
#include "kernels/reference/batch_norm.h"
#include "kernels/reference/elementwise.h"

namespace trireme::bench {
namespace {

using T = kernels::BFloat16;
constexpr double kEpsilon = 1e-5;

struct Operands {
  Operands(std::int64_t rows, int channels)
      : shape{rows, channels, static_cast<int>(test::pitch_of<T>(channels))},
        tiles(kernels::batch_norm_tiles<T>(shape)),
        x(random_array<T>(rows, channels, shape.pitch, 1)),
        residual(random_array<T>(rows, channels, shape.pitch, 2)),
        dy(random_array<T>(rows, channels, shape.pitch, 3)),
        y(make_array<T>(rows * shape.pitch)),
        dx(make_array<T>(rows * shape.pitch)),
        masked(make_array<T>(rows * shape.pitch)),
        signs(make_array<std::uint8_t>(rows * shape.pitch / kernels::kVectorSize<T>)),
        scale(test::random_rows<float>(1, channels, 4)),
        shift(test::random_rows<float>(1, channels, 5)),
        device_scale(make_array(scale)),
        device_shift(make_array(shift)),
        mean(make_array<float>(channels)),
        deviation(make_array<float>(channels)),
        dscale(make_array<float>(channels)),
        dshift(make_array<float>(channels)),
        statistics(make_array<float>(static_cast<std::int64_t>(
            kernels::tile_statistics_bytes(tiles.tiles, shape.pitch) / sizeof(float)))),
        sums(make_array<float>(
            static_cast<std::int64_t>(kernels::batch_norm_backward_sums_bytes<T>(shape) / sizeof(float)))),
        coefficients(make_array<float>(2 * static_cast<std::int64_t>(shape.pitch))),
        workspace(make_array<std::uint8_t>(static_cast<std::int64_t>(
            kernels::batch_norm_finish_workspace_bytes(tiles.tiles, shape.pitch) + 16))) {
    statistics_pass(nullptr);
    finish(nullptr);
    apply(nullptr);
    backward_sums(nullptr);
    backward_apply(nullptr);
  }

  kernels::BatchNormFactors factors() const {
    return {device_scale->data(), device_shift->data(), mean->data(), deviation->data()};
  }
  kernels::BatchNormGradientInputs<T> inputs() const {
    return {x->data(), dy->data(), signs->data(), masked->data(), factors(), kernels::ReluMask::stored};
  }
  kernels::BatchNormSaved saved() const { return {mean->data(), deviation->data(), nullptr, nullptr}; }

  void statistics_pass(cudaStream_t stream) const {
    kernels::batch_norm_statistics(statistics->data(), x->data(), shape, stream);
  }
  void finish(cudaStream_t stream) const {
    kernels::batch_norm_finish_statistics(saved(), {}, {statistics->data(), tiles.tiles, tiles.rows_per_tile},
                                          shape, kEpsilon, workspace->data(), stream);
  }
  void apply(cudaStream_t stream) const {
    kernels::batch_norm_apply<T>(y->data(), x->data(), residual->data(), factors(), true, shape, stream,
                                 signs->data());
  }
  void backward_sums(cudaStream_t stream) const {
    kernels::batch_norm_backward_reduce(sums->data(), inputs(), shape, stream);
    kernels::batch_norm_backward_finish<T>({dscale->data(), dshift->data(), {}}, coefficients->data(),
                                           sums->data(), saved(), shape, stream);
  }
  void backward_apply(cudaStream_t stream) const {
    kernels::batch_norm_backward_apply(dx->data(), inputs(), coefficients->data(), shape, stream);
  }

  kernels::BatchNormShape shape;
  kernels::StatisticsTiles tiles;
  Array<T> x, residual, dy, y, dx, masked;
  Array<std::uint8_t> signs;
  std::vector<float> scale, shift;
  Array<float> device_scale, device_shift, mean, deviation, dscale, dshift, statistics, sums, coefficients;
  Array<std::uint8_t> workspace;
};

std::string check() {
  const Operands o(301, 72);
  const auto dense = [&o](const Array<T>& array) {
    return widened(dense_values(*array, o.shape.channels, o.shape.pitch));
  };
  const std::vector<double> x = dense(o.x), residual = dense(o.residual), stored = dense(o.y);
  std::vector<double> y(x.size()), dy = dense(o.dy), dx(x.size());
  std::vector<double> mean(o.scale.size()), variance(mean.size()), dscale(mean.size()), dshift(mean.size());
  const std::vector<double> scale = widened(o.scale), shift = widened(o.shift);
  const reference::BatchNormShape r{o.shape.rows, o.shape.channels, kEpsilon};
  const auto count = static_cast<std::int64_t>(x.size());
  reference::batch_norm_forward_training(y.data(), mean.data(), variance.data(), x.data(), scale.data(),
                                         shift.data(), r);
  reference::add_forward(y.data(), y.data(), residual.data(), count);
  reference::relu_forward(y.data(), y.data(), count);
  reference::relu_backward(dy.data(), dy.data(), stored.data(), count);
  reference::batch_norm_backward(dx.data(), dscale.data(), dshift.data(), dy.data(), x.data(), scale.data(),
                                 mean.data(), variance.data(), r);
  constexpr double kLimit = 0.01;
  return compare("y", dense_values(*o.y, o.shape.channels, o.shape.pitch), y, kLimit) +
         compare("dx", dense_values(*o.dx, o.shape.channels, o.shape.pitch), dx, kLimit) +
         compare("dscale", o.dscale->to_host(), dscale, kLimit);
}

KernelCase make_case(const char* name, void (Operands::*pass)(cudaStream_t) const, double activations,
                     std::int64_t rows, int channels) {
  KernelCase one;
  one.name =
      std::string("batch_norm/") + name + "/bf16/" + std::to_string(rows) + "x" + std::to_string(channels);
  one.check = check;
  one.prepare = [rows, channels, pass] {
    return [operands = std::make_shared<Operands>(rows, channels), pass](cudaStream_t stream) {
      ((*operands).*pass)(stream);
    };
  };
  one.bytes = activations * static_cast<double>(rows) * channels * sizeof(T);
  return one;
}

}  // namespace

std::vector<KernelCase> batch_norm_cases(Scale scale) {
  std::vector<KernelCase> cases;
  struct Size {
    std::int64_t rows;
    int channels;
  };
  const std::vector<Size> sizes =
      scale == Scale::card
          ? std::vector<Size>{{256 * 56 * 56, 256}, {256 * 28 * 28, 512}, {256 * 7 * 7, 2048}}
          : std::vector<Size>{{98, 64}};
  constexpr double kSigns = 1.0 / 16;
  for (const auto& [rows, channels] : sizes) {
    cases.push_back(make_case("statistics", &Operands::statistics_pass, 1, rows, channels));
    cases.push_back(make_case("forward", &Operands::apply, 3 + kSigns, rows, channels));
    cases.push_back(make_case("backward_sums", &Operands::backward_sums, 3 + kSigns, rows, channels));
    cases.push_back(make_case("backward", &Operands::backward_apply, 3, rows, channels));
  }
  return cases;
}

}  // namespace trireme::bench
