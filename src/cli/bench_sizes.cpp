// SPDX-License-Identifier: Apache-2.0
#include "src/cli/bench_sizes.h"

#include <algorithm>
#include <array>
#include <cctype>

#include "models/models.h"
#include "src/core/parse.h"
#include "src/train/setting_value.h"

namespace trireme {

namespace {

constexpr std::int64_t kElementBytes = sizeof(float);

struct Unit {
  char letter;
  int shift;
};
constexpr std::array kUnits = {Unit{'G', 30}, Unit{'M', 20}, Unit{'K', 10}};

std::int64_t whole_elements(std::int64_t bytes) {
  return (bytes + kElementBytes - 1) / kElementBytes * kElementBytes;
}

}  // namespace

std::int64_t ByteSize::read(std::string_view text) const {
  if (!zero_word.empty() && text == zero_word) return 0;
  std::string_view digits = text;
  int shift = 0;
  for (const Unit& unit : kUnits)
    if (!text.empty() && std::toupper(static_cast<unsigned char>(text.back())) == unit.letter) {
      shift = unit.shift;
      digits.remove_suffix(1);
    }
  const auto number = parse_int(digits);
  if (!number) throw bad_value("'{}' is not a size (8, 64K, 4M, 1G)", text);
  if (*number > (std::numeric_limits<std::int64_t>::max() >> (shift + 1)))
    throw bad_value("'{}' is out of range", text);
  if (*number * (std::int64_t{1} << shift) < least) throw bad_value("{} is below {}", text, least);
  return *number * (std::int64_t{1} << shift);
}

std::string ByteSize::write(Value value) const {
  if (value == 0 && !zero_word.empty()) return zero_word;
  for (const Unit& unit : kUnits)
    if (value > 0 && value % (std::int64_t{1} << unit.shift) == 0)
      return fmt::format("{}{}", value >> unit.shift, unit.letter);
  return fmt::format("{}", value);
}

std::vector<SweepSize> sweep_sizes(std::int64_t begin, std::int64_t end, std::int64_t factor,
                                   std::span<const SweepSize> special) {
  std::vector<SweepSize> sizes;
  for (const SweepSize& size : special)
    if (size.bytes >= begin && size.bytes <= end) sizes.push_back({whole_elements(size.bytes), size.note});
  for (std::int64_t bytes = begin; bytes <= end; bytes *= factor) {
    sizes.push_back({whole_elements(bytes)});
    if (bytes > end / factor) break;  // the next might overflow
  }
  const auto by_bytes = [](const SweepSize& a, const SweepSize& b) { return a.bytes < b.bytes; };
  std::stable_sort(sizes.begin(), sizes.end(), by_bytes);  // of equal ones, that with a note comes first
  const auto same_bytes = [](const SweepSize& a, const SweepSize& b) { return a.bytes == b.bytes; };
  sizes.erase(std::unique(sizes.begin(), sizes.end(), same_bytes), sizes.end());
  return sizes;
}

std::vector<SweepSize> gradient_sizes() {
  const ModelOptions options{.image = Shape{224, 224, 3}, .num_classes = 1000};
  std::vector<SweepSize> sizes;
  for (const char* name : {"resnet50", "vgg16"})
    sizes.push_back({build_model(name, options).num_trainable() * kElementBytes, name});
  return sizes;
}

}  // namespace trireme
