// SPDX-License-Identifier: Apache-2.0
// Philox4x32-10, the counter-based generator of Salmon et al., "Parallel random numbers: as easy as 1, 2, 3"
// (SC'11). Every random number of a run is a pure function of (seed, stream, epoch, sample, index): it
// depends on neither rank nor thread count, and is the same on every kind of machine.
#pragma once

#include <array>
#include <cstdint>

namespace trireme {

/// What the numbers are for; keeps draws for different purposes apart.
enum class RandomStream : std::uint16_t {
  initialisation = 0,  ///< sample = ordinal of the parameter in the graph
  shuffle = 1,         ///< keys of the sampler's permutation; sample = round
  augmentation = 2,    ///< sample = sample id
  pack_order = 3,      ///< keys of the order in which a pack stores its samples
  synthetic = 4,       ///< synthetic data; sample = sample id
  dropout = 256,       ///< + ordinal of the dropout node in the graph; sample = sample id
};

/// Four 32-bit words from a 128-bit counter and a 64-bit key; ten rounds.
std::array<std::uint32_t, 4> philox4x32(std::array<std::uint32_t, 4> counter,
                                        std::array<std::uint32_t, 2> key);

/// A position in the random numbers of one (seed, stream, epoch, sample). Counter layout, least significant
/// word first: block index (32 bit), epoch (32 bit), sample (48 bit), stream (16 bit); the key is the seed.
class Philox {
 public:
  Philox(std::uint64_t seed, std::uint16_t stream, std::uint32_t epoch, std::uint64_t sample);
  Philox(std::uint64_t seed, RandomStream stream, std::uint32_t epoch, std::uint64_t sample)
      : Philox(seed, static_cast<std::uint16_t>(stream), epoch, sample) {}

  /// The four words of block `index`, without moving the position.
  std::array<std::uint32_t, 4> block(std::uint32_t index) const;

  std::uint32_t next_u32();
  /// Uniform in [0, 1): the upper 24 bits of one word times 2^-24.
  float next_uniform() { return static_cast<float>(next_u32() >> 8) * 0x1p-24F; }
  /// Uniform integer in [0, bound), without bias worth naming (64-bit multiply-shift); bound > 0.
  std::uint32_t next_below(std::uint32_t bound) {
    return static_cast<std::uint32_t>((static_cast<std::uint64_t>(next_u32()) * bound) >> 32);
  }

 private:
  std::array<std::uint32_t, 4> counter_;
  std::array<std::uint32_t, 2> key_;
  std::array<std::uint32_t, 4> words_{};
  std::uint32_t next_block_ = 0;
  unsigned used_ = 4;
};

/// Fills `count` floats with N(0, 1) times `stddev`. Element i comes from block i/4: Box-Muller in float64
/// over the word pairs (0,1) and (2,3), u1 = (w0 + 1) 2^-32, u2 = w1 2^-32, giving r cos and r sin.
void fill_normal(const Philox& random, float stddev, float* values, std::int64_t count);
/// Fills `count` floats with uniform numbers in [-bound, bound): bound * (2u - 1), u as next_uniform, element
/// i from word i%4 of block i/4.
void fill_uniform(const Philox& random, float bound, float* values, std::int64_t count);

}  // namespace trireme
