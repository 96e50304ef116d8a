// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string_view>

namespace trireme {

/// The order in which an epoch visits samples.
struct SampleOrder {
  enum class Kind {
    full,       ///< a permutation of all samples
    blocks,     ///< blocks permuted, then samples within windows of 64 blocks: nearly sequential reads
    sequential  ///< as stored
  };
  Kind kind = Kind::full;
  std::int64_t block_samples = 0;  ///< blocks only: samples of one block
};

/// Reads "full" or "blocks:MIB" (a positive number of MiB, fractions allowed). `sample_bytes` is the stored
/// size of a sample (its mean where sizes vary) and turns MiB into samples. Throws 64 on anything else.
SampleOrder parse_sample_order(std::string_view text, std::int64_t sample_bytes);

/// A half-open range of positions in an epoch's order.
struct SampleRange {
  std::int64_t begin = 0, end = 0;
  std::int64_t size() const { return end - begin; }
  friend bool operator==(const SampleRange&, const SampleRange&) = default;
};

/// A keyed bijection of 0..N-1 for each epoch, computed per index in O(1) memory: the same on every rank and
/// at any rank count. Any number of threads may ask.
class Sampler {
 public:
  static constexpr std::int64_t kWindowBlocks = 64;

  Sampler(std::int64_t num_samples, std::uint64_t seed, SampleOrder order);

  std::int64_t num_samples() const { return num_samples_; }
  /// The sample at `position` (0 ≤ position < N) of `epoch`.
  std::int64_t sample_at(std::uint32_t epoch, std::int64_t position) const;

 private:
  std::int64_t sample_in_blocks(std::uint32_t epoch, std::int64_t position) const;

  std::int64_t num_samples_;
  std::uint64_t seed_;
  SampleOrder order_;
};

/// Positions that global step `step` takes: [step*G, (step+1)*G) cut at N.
SampleRange step_range(std::int64_t step, std::int64_t global_batch, std::int64_t num_samples);
/// Part `index` of `parts` of a range: contiguous, in order, the first (size % parts) parts one larger.
SampleRange share_of(const SampleRange& range, std::int64_t index, std::int64_t parts);

}  // namespace trireme
