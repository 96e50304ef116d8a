// SPDX-License-Identifier: Apache-2.0
// Checked where the answer is plain: a picture of the net's size without augmentation is its normalised
// levels.
#include "bench/kernels/kernel_case.h"
#include "bench/kernels/operands.h"
#include "kernels/augment/augment.h"

namespace trireme::bench {
namespace {

using T = kernels::BFloat16;

struct Operands {
  Operands(std::int64_t batch, int size, int image_size, kernels::AugmentKind kind)
      : options{kind, 0.875}, levels(kernels::normalised_levels(mean, deviation)) {
    shape.batch = batch;
    shape.height = shape.width = size;
    shape.image_size = image_size;
    shape.out_pitch = 4;
    bytes.resize(static_cast<std::size_t>(batch * size * size * 3));
    for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<std::uint8_t>(i * 31 % 251);
    pictures = make_array(bytes);
    device_levels = make_array(levels);
    ids = make_array(std::vector<std::int64_t>(static_cast<std::size_t>(batch), 5));
    kernels::StepValues values;
    values.valid_samples = batch;
    step = make_array(std::vector<kernels::StepValues>{values});
    out = make_array<T>(batch * image_size * image_size * 4);
  }
  void run(cudaStream_t stream) const {
    kernels::augment<T>(shape, options,
                        {pictures->data(), ids->data(), device_levels->data(), step->data(), out->data()},
                        stream);
  }

  std::vector<double> mean{0.5, 0.4, 0.3}, deviation{0.2, 0.25, 0.3};
  kernels::AugmentShape shape;
  kernels::AugmentOptions options;
  std::vector<float> levels;
  std::vector<std::uint8_t> bytes;
  Array<std::uint8_t> pictures;
  Array<float> device_levels;
  Array<std::int64_t> ids;
  Array<kernels::StepValues> step;
  Array<T> out;
};

std::string check() {
  const Operands o(2, 16, 16, kernels::AugmentKind::none);
  o.run(nullptr);
  std::vector<double> expected(o.bytes.size());
  for (std::size_t i = 0; i < expected.size(); ++i)
    expected[i] = static_cast<double>(o.levels[i % 3 * 256 + o.bytes[i]]);
  return compare("out", dense_values(*o.out, 3, 4), expected, 0.004);
}

}  // namespace

std::vector<KernelCase> augment_cases(Scale scale) {
  std::vector<KernelCase> cases;
  const std::int64_t batch = scale == Scale::card ? 256 : 1;
  const int size = scale == Scale::card ? 256 : 32, image_size = scale == Scale::card ? 224 : 28;
  for (const auto& [name, kind] : {std::pair{"crop_flip", kernels::AugmentKind::crop_flip},
                                   std::pair{"resized_crop", kernels::AugmentKind::resized_crop}}) {
    KernelCase one;
    one.name =
        std::string("augment/") + name + "/bf16/" + std::to_string(size) + "to" + std::to_string(image_size);
    one.check = check;
    one.prepare = [batch, size, image_size, kind = kind] {
      return [operands = std::make_shared<Operands>(batch, size, image_size, kind)](cudaStream_t stream) {
        operands->run(stream);
      };
    };
    one.bytes = static_cast<double>(batch) * (static_cast<double>(size) * size * 3 +
                                              static_cast<double>(image_size) * image_size * 4 * sizeof(T));
    cases.push_back(std::move(one));
  }
  return cases;
}

}  // namespace trireme::bench
