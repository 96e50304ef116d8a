// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "tests/src/device/cuda/cuda_op_harness.h"
#include "tests/support/numbers.h"

namespace trireme::testing {

/// A device of each type of activations, and numbers that they hold exactly.
class CudaOpTest : public ::testing::TestWithParam<Precision> {
 protected:
  CudaDevice& device() { return *device_; }
  DType element() const { return element_of(GetParam()); }
  std::vector<float> numbers(std::int64_t count, std::uint32_t seed) const {
    return in_element(random_values<float>(count, seed));
  }
  std::vector<float> in_element(std::vector<float> values) const {
    return rounded(std::move(values), element());
  }
  /// What a ReLU makes of numbers: half of them zero.
  std::vector<float> numbers_after_relu(std::int64_t count, std::uint32_t seed) const {
    std::vector<float> values = numbers(count, seed);
    for (float& value : values) value = std::max(value, 0.0F);
    return values;
  }
  double unit() const { return unit_of(GetParam()); }

 private:
  std::unique_ptr<CudaDevice> device_ = make_test_device(GetParam());
};

inline auto all_elements() {
  return ::testing::Values(Precision::fp32, Precision::bf16, Precision::fp16);
}
inline std::string precision_name(const ::testing::TestParamInfo<Precision>& info) {
  return text_of(info.param);
}

/// `gradient` where `y` is positive, else 0.
inline std::vector<float> cut_by(const std::vector<float>& y, std::vector<float> gradient) {
  for (std::size_t i = 0; i < y.size(); ++i)
    if (!(y[i] > 0)) gradient[i] = 0;
  return gradient;
}

inline std::vector<double> widened(const std::vector<float>& values) {
  return {values.begin(), values.end()};
}

}  // namespace trireme::testing
