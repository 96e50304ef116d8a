// SPDX-License-Identifier: Apache-2.0
#include "data/synthetic_dataset.h"

#include <array>
#include <cmath>

#include "src/core/error.h"
#include "src/core/hash.h"
#include "src/core/parse.h"
#include "src/core/philox.h"

namespace trireme {
namespace {

constexpr std::string_view kPrefix = "synthetic:";
constexpr std::int64_t kDefaultSamples = 10000;
constexpr int kBoard = 4;
constexpr std::uint8_t kLevels = 128;

// Noise and boards draw from different epochs of the stream, so that they stay apart.
constexpr std::uint32_t kNoise = 0;
constexpr std::uint32_t kBoards = 1;

struct Numbers {
  std::int64_t height = 0, width = 0, channels = 0, classes = 0, samples = kDefaultSamples;
};

Error malformed(std::string_view spec) {
  return make_error(Status::usage, "'{}' does not describe synthetic data", spec)
      .hint("synthetic:HEIGHTxWIDTHxCHANNELS:CLASSES[:SAMPLES], such as synthetic:224x224x3:1000");
}

Numbers parse(std::string_view spec) {
  const std::vector<std::string> parts = split(spec.substr(kPrefix.size()), ':');
  if (parts.size() != 2 && parts.size() != 3) throw malformed(spec);
  const std::vector<std::string> extents = split(parts[0], 'x');
  if (extents.size() != 3) throw malformed(spec);
  Numbers numbers;
  const auto take = [&](const std::string& text, std::int64_t& number) {
    const auto value = parse_int(text);
    if (!value) throw malformed(spec);
    number = *value;
  };
  take(extents[0], numbers.height);
  take(extents[1], numbers.width);
  take(extents[2], numbers.channels);
  take(parts[1], numbers.classes);
  if (parts.size() == 3) take(parts[2], numbers.samples);
  return numbers;
}

void check(const Numbers& numbers, std::string_view spec) {
  const auto require = [&](std::int64_t value, std::int64_t low, std::int64_t high, const char* what) {
    if (value < low || value > high)
      throw make_error(Status::configuration, "{} of synthetic data must be in {}..{}, not {}", what, low,
                       high, value)
          .at(spec);
  };
  constexpr std::int64_t kLargestSide = 65535;
  require(numbers.height, 1, kLargestSide, "height");
  require(numbers.width, 1, kLargestSide, "width");
  if (numbers.channels != 1 && numbers.channels != 3)
    throw make_error(Status::configuration, "channels of synthetic data must be 1 or 3, not {}",
                     numbers.channels)
        .at(spec);
  require(numbers.classes, 1, 1000000, "classes");
  require(numbers.samples, 1, std::int64_t{1} << 40, "samples");
}

}  // namespace

bool SyntheticDataset::is_synthetic(std::string_view spec) {
  return spec.starts_with(kPrefix);
}

SyntheticDataset::SyntheticDataset(std::string_view spec, std::uint64_t seed) : seed_(seed) {
  const Numbers numbers = parse(spec);
  check(numbers, spec);
  info_.name = spec;
  info_.synthetic = true;
  info_.sample_shape = Shape{numbers.height, numbers.width, numbers.channels};
  info_.num_samples = numbers.samples;
  for (std::int64_t k = 0; k < numbers.classes; ++k) info_.class_names.push_back(fmt::format("class{}", k));
  // The sum of two independent uniform integers in 0..127.
  const double variance = 2 * (double{kLevels} * kLevels - 1) / 12;
  info_.channel_mean.assign(static_cast<std::size_t>(numbers.channels), (kLevels - 1) / 255.0);
  info_.channel_std.assign(static_cast<std::size_t>(numbers.channels), std::sqrt(variance) / 255);
  info_.fingerprint = Hasher()
                          .add_text(info_.sample_shape.text())
                          .add(&numbers.classes, sizeof numbers.classes)
                          .add(&numbers.samples, sizeof numbers.samples)
                          .add(&seed, sizeof seed)
                          .digest();
}

void SyntheticDataset::read(std::int64_t sample, Picture& picture) const {
  TRIREME_ASSERT(sample >= 0 && sample < info_.num_samples, "samples are numbered from 0 to N-1");
  const Shape& shape = info_.sample_shape;
  picture.resize(static_cast<int>(shape[0]), static_cast<int>(shape[1]), static_cast<int>(shape[2]));

  const auto channels = static_cast<std::size_t>(shape[2]);
  std::array<std::uint8_t, kBoard * kBoard * 3> board{};
  Philox levels(seed_, RandomStream::synthetic, kBoards, static_cast<std::uint64_t>(label(sample)));
  for (std::uint8_t& level : board) level = static_cast<std::uint8_t>(levels.next_below(kLevels));

  const Philox noise(seed_, RandomStream::synthetic, kNoise, static_cast<std::uint64_t>(sample));
  std::array<std::uint32_t, 4> words{};
  std::size_t i = 0;
  for (int y = 0; y < picture.height; ++y) {
    const auto row = static_cast<std::size_t>(std::int64_t{y} * kBoard / picture.height);
    for (int x = 0; x < picture.width; ++x) {
      const auto column = static_cast<std::size_t>(std::int64_t{x} * kBoard / picture.width);
      for (std::size_t c = 0; c < channels; ++c, ++i) {  // 16 pixels' bytes from each block of four words
        if (i % 16 == 0) words = noise.block(static_cast<std::uint32_t>(i / 16));
        const std::uint32_t draw = words[i % 16 / 4] >> (8 * (i % 4)) & (kLevels - 1U);
        picture.pixels[i] = static_cast<std::uint8_t>(board[(row * kBoard + column) * 3 + c] + draw);
      }
    }
  }
}

}  // namespace trireme
