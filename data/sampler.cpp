// SPDX-License-Identifier: Apache-2.0
// The keys are derived anew for each index: a few Philox blocks cost less than a microsecond, far less than
// reading a sample, and leave nothing to share between threads.
#include "data/sampler.h"

#include <algorithm>
#include <cmath>

#include "data/permutation.h"
#include "src/core/error.h"
#include "src/core/parse.h"

namespace trireme {

SampleOrder parse_sample_order(std::string_view text, std::int64_t sample_bytes) {
  TRIREME_ASSERT(sample_bytes > 0, "samples have a size");
  constexpr std::string_view kBlocks = "blocks:";
  constexpr double kMaxMib = 0x1p40;
  if (text == "full") return {};
  if (text.starts_with(kBlocks)) {
    const auto mib = parse_double(text.substr(kBlocks.size()));
    if (mib && *mib > 0 && *mib <= kMaxMib) {
      const double samples = std::floor(*mib * 0x1p20 / static_cast<double>(sample_bytes));
      return {SampleOrder::Kind::blocks, std::max<std::int64_t>(1, static_cast<std::int64_t>(samples))};
    }
  }
  throw make_error(Status::usage, "'{}' is no sample order", text)
      .hint("use full, or blocks:MIB with the MiB of a block, as in blocks:4");
}

Sampler::Sampler(std::int64_t num_samples, std::uint64_t seed, SampleOrder order)
    : num_samples_(num_samples), seed_(seed), order_(order) {
  TRIREME_ASSERT(num_samples >= 0, "a dataset has no negative size");
  TRIREME_ASSERT(order.kind != SampleOrder::Kind::blocks || order.block_samples > 0, "blocks hold samples");
}

std::int64_t Sampler::sample_at(std::uint32_t epoch, std::int64_t position) const {
  TRIREME_ASSERT(position >= 0 && position < num_samples_, "position outside of the epoch");
  switch (order_.kind) {
    case SampleOrder::Kind::sequential:
      return position;
    case SampleOrder::Kind::blocks:
      return sample_in_blocks(epoch, position);
    case SampleOrder::Kind::full:
      break;
  }
  return KeyedPermutation(num_samples_, seed_, RandomStream::shuffle, epoch).at(position);
}

// A keyed permutation says which block stands at which place of the epoch. Only the last block of the file
// may be short; its place, found with the inverse permutation, shifts all that comes after. Sixty-four places
// make a window, and a second permutation, keyed by the window too, mixes the window's samples.
std::int64_t Sampler::sample_in_blocks(std::uint32_t epoch, std::int64_t position) const {
  const std::int64_t block = std::min(order_.block_samples, num_samples_);
  const std::int64_t blocks = (num_samples_ + block - 1) / block;
  const std::int64_t missing = blocks * block - num_samples_;  // what the short block lacks
  const KeyedPermutation block_order(blocks, seed_, RandomStream::shuffle, epoch);
  const std::int64_t short_place = block_order.inverse(blocks - 1);
  // The epoch's first position that is taken by `place`.
  const auto start_of = [&](std::int64_t place) {
    return place * block - (place > short_place ? missing : 0);
  };

  // Counted as if the short block were whole, a position behind it lies `missing` further on.
  const bool behind = position >= start_of(short_place + 1);
  const std::int64_t window = (position + (behind ? missing : 0)) / block / kWindowBlocks;
  const std::int64_t begin = start_of(window * kWindowBlocks);
  const std::int64_t end = start_of(std::min((window + 1) * kWindowBlocks, blocks));
  const KeyedPermutation window_order(end - begin, seed_, RandomStream::shuffle, epoch,
                                      KeyedPermutation::kRounds, static_cast<std::uint32_t>(window));
  const std::int64_t mixed = begin + window_order.at(position - begin);
  const std::int64_t whole = mixed + (mixed >= start_of(short_place + 1) ? missing : 0);
  return block_order.at(whole / block) * block + whole % block;
}

SampleRange step_range(std::int64_t step, std::int64_t global_batch, std::int64_t num_samples) {
  const std::int64_t begin = std::min(step * global_batch, num_samples);
  return {begin, std::min(begin + global_batch, num_samples)};
}

SampleRange share_of(const SampleRange& range, std::int64_t index, std::int64_t parts) {
  TRIREME_ASSERT(parts > 0 && index >= 0 && index < parts, "a share is one of its parts");
  const std::int64_t each = range.size() / parts, larger = range.size() % parts;
  const std::int64_t begin = range.begin + index * each + std::min(index, larger);
  return {begin, begin + each + (index < larger ? 1 : 0)};
}

}  // namespace trireme
