// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernels/simt/simt.h"

namespace trireme::kernels {

/// Division by a number that is known on the host: one multiplication and one shift on the device, for
/// dividends from 0 to 2^31 - 1. With l = ceil(log2 d) and m = floor(2^32 (2^l - d) / d) + 1, n / d is
/// (high(m n) + n) >> l: the round-up method of Granlund and Montgomery, whose error stays below 1/d for 32
/// bits.
class FastDivide {
 public:
  FastDivide() = default;
  /// 1 <= divisor < 2^31
  explicit FastDivide(int divisor) : divisor_(static_cast<unsigned>(divisor)) {
    while ((1ULL << shift_) < divisor_) ++shift_;
    multiplier_ = static_cast<unsigned>(((1ULL << 32) * ((1ULL << shift_) - divisor_)) / divisor_ + 1);
  }

  __host__ __device__ int divisor() const { return static_cast<int>(divisor_); }
  __device__ int quotient(int dividend) const {
    const auto n = static_cast<unsigned>(dividend);
    return static_cast<int>((simt::multiply_high(multiplier_, n) + n) >> shift_);
  }
  /// Quotient, and the remainder in its place.
  __device__ int divide(int dividend, int& remainder) const {
    const int result = quotient(dividend);
    remainder = dividend - result * divisor();
    return result;
  }

 private:
  unsigned divisor_ = 1;
  unsigned multiplier_ = 1;
  int shift_ = 0;
};

}  // namespace trireme::kernels
