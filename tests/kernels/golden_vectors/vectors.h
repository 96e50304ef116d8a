// SPDX-License-Identifier: Apache-2.0
// Golden vectors: what each hardware instruction behind the vocabulary makes of fixed random input. A GPU
// writes them once (dump.cpp), and the emulator must give the same from then on.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace trireme::golden {

/// How a result of the emulator is compared with the hardware's.
enum class Comparison {
  bits,
  sums,       ///< fp32 sums of products: hardware adds in an order and a width of its own
  few_units,  ///< fp32 functions: a few units in the last place
};

struct Vector {
  std::string name;
  Comparison comparison;
  std::vector<std::uint32_t> words;
};

/// Runs every wrapper, on the device or in the emulator.
std::vector<Vector> run_all();

/// The file: for each vector a line "name count" and a line of hexadecimal words.
std::string to_text(const std::vector<Vector>& vectors);
/// Words by name. Throws std::runtime_error for what to_text does not write.
std::vector<Vector> from_text(const std::string& text);

/// An empty text, or the first difference.
std::string difference(const Vector& computed, const Vector& golden);

}  // namespace trireme::golden
