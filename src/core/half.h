// SPDX-License-Identifier: Apache-2.0
// The 16-bit float types of tensors and of the wire, as bits. Conversions are branch-free so that loops over
// them are vectorised: choices are made by masks, since a compiler may move floating-point work into a
// branch.
#pragma once

#include <bit>
#include <cstdint>

namespace trireme {

/// `yes` where the condition holds, else `no`.
inline std::uint32_t choose(bool condition, std::uint32_t yes, std::uint32_t no) {
  const std::uint32_t mask = 0U - static_cast<std::uint32_t>(condition);
  return (yes & mask) | (no & ~mask);
}

/// bfloat16: the upper half of an fp32.
struct BFloat16 {
  std::uint16_t bits = 0;
  friend bool operator==(BFloat16, BFloat16) = default;
};

/// IEEE 754 binary16: 5 bits of exponent, 10 of mantissa.
struct Float16 {
  std::uint16_t bits = 0;
  friend bool operator==(Float16, Float16) = default;
};

inline float to_float(BFloat16 value) {
  return std::bit_cast<float>(static_cast<std::uint32_t>(value.bits) << 16);
}

/// Round to nearest, ties to even; every NaN becomes a quiet one.
inline BFloat16 to_bfloat16(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  const std::uint32_t rounded = (bits + 0x7FFFU + ((bits >> 16) & 1U)) >> 16;
  const bool is_nan = (bits & 0x7FFFFFFFU) > 0x7F800000U;
  return {static_cast<std::uint16_t>(choose(is_nan, (bits >> 16) | 0x0040U, rounded))};
}

/// Exact, subnormal numbers included.
inline float to_float(Float16 value) {
  // Exponent and mantissa moved to their place in an fp32 are the number times 2^-112; infinities and NaNs
  // then still need the largest exponent.
  const std::uint32_t magnitude = static_cast<std::uint32_t>(value.bits & 0x7FFFU) << 13;
  const std::uint32_t sign = static_cast<std::uint32_t>(value.bits & 0x8000U) << 16;
  const float scaled = std::bit_cast<float>(magnitude) * 0x1p112F;
  const bool is_special = magnitude >= (0x7C00U << 13);
  const std::uint32_t bits =
      choose(is_special, magnitude | 0x7F800000U, std::bit_cast<std::uint32_t>(scaled));
  return std::bit_cast<float>(bits | sign);
}

/// Round to nearest, ties to even; what is too large becomes infinity, every NaN a quiet one.
inline Float16 to_float16(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  const std::uint32_t sign = (bits >> 16) & 0x8000U;
  const std::uint32_t magnitude = bits & 0x7FFFFFFFU;
  // Normal results: the exponent loses 112 and the mantissa 13 bits.
  const std::uint32_t normal = (magnitude + 0xFFFU + ((magnitude >> 13) & 1U) - (112U << 23)) >> 13;
  // Subnormal results: adding 0.5 makes the FPU round at 2^-24, the distance between them.
  const std::uint32_t subnormal = std::bit_cast<std::uint32_t>(std::bit_cast<float>(magnitude) + 0.5F) -
                                  std::bit_cast<std::uint32_t>(0.5F);
  constexpr std::uint32_t kSmallestNormal = 113U << 23, kOverflow = 0x477FF000U, kInfinity = 255U << 23;
  const std::uint32_t finite = choose(magnitude < kSmallestNormal, subnormal, normal);
  const std::uint32_t large = choose(magnitude > kInfinity, 0x7E00U, 0x7C00U);
  return {static_cast<std::uint16_t>(choose(magnitude >= kOverflow, large, finite) | sign)};
}

}  // namespace trireme
