// SPDX-License-Identifier: Apache-2.0
#include <bit>
#include <cmath>
#include <cstdio>
#include <sstream>
#include <stdexcept>

#include "tests/kernels/golden_vectors/vectors.h"

namespace trireme::golden {
namespace {

bool is_close(std::uint32_t computed, std::uint32_t golden, Comparison comparison) {
  if (computed == golden) return true;
  if (comparison == Comparison::bits) return false;
  const auto a = std::bit_cast<float>(computed), b = std::bit_cast<float>(golden);
  if (std::isnan(a) || std::isnan(b)) return std::isnan(a) && std::isnan(b);
  // Sums: up to 17 terms of size 1, of which hardware may cut bits below 2^-23 of the largest. Functions: 2
  // units.
  const float allowed = comparison == Comparison::sums ? 17 * 0x1p-22F : 0x1p-22F * std::fabs(b);
  return std::fabs(a - b) <= allowed;
}

}  // namespace

std::string to_text(const std::vector<Vector>& vectors) {
  std::string text;
  for (const Vector& vector : vectors) {
    text += vector.name + " " + std::to_string(vector.words.size()) + "\n";
    char word[16];
    for (const std::uint32_t value : vector.words) {
      std::snprintf(word, sizeof word, "%08x ", value);
      text += word;
    }
    text.back() = '\n';
  }
  return text;
}

std::vector<Vector> from_text(const std::string& text) {
  std::vector<Vector> vectors;
  std::istringstream stream(text);
  std::string name;
  for (std::size_t count = 0; stream >> name >> std::dec >> count;) {
    Vector& vector = vectors.emplace_back(Vector{name, Comparison::bits, std::vector<std::uint32_t>(count)});
    for (std::uint32_t& word : vector.words)
      if (!(stream >> std::hex >> word))
        throw std::runtime_error("golden vectors: " + name + " ends too early");
  }
  if (!stream.eof() || vectors.empty())
    throw std::runtime_error("golden vectors: no vectors, or not their format");
  return vectors;
}

std::string difference(const Vector& computed, const Vector& golden) {
  if (computed.words.size() != golden.words.size()) return computed.name + ": another number of words";
  for (std::size_t i = 0; i < golden.words.size(); ++i) {
    if (is_close(computed.words[i], golden.words[i], computed.comparison)) continue;
    char message[120];
    std::snprintf(message, sizeof message, ", word %zu: %08x, and %08x on the GPU", i, computed.words[i],
                  golden.words[i]);
    return computed.name + message;
  }
  return "";
}

}  // namespace trireme::golden
