// SPDX-License-Identifier: Apache-2.0
// Shuffles, votes and reductions of a warp, with CUDA's names and meaning.
#pragma once

#include <cstdint>

#include "kernels/simt/emulator/block.h"
#include "kernels/simt/vector16.h"

namespace trireme::simt::emulator {

template <typename T>
struct Shuffle {
  T value;
  int source;  ///< the lane that is read, any: of the lane itself where it is outside its section of `width`
  T result;
};

// The last lane to come reads and writes what stands on the stacks of the others: no race of the kernel's.
#define SIMT_NOT_WATCHED __attribute__((no_sanitize("thread")))

template <typename T>
SIMT_NOT_WATCHED void resolve_shuffle(void* const* lanes, std::uint32_t mask) {
  for (int lane = 0; lane < kWarpSize; ++lane) {
    if ((mask >> lane & 1U) == 0) continue;
    auto& reader = *static_cast<Shuffle<T>*>(lanes[lane]);
    // A lane that does not take part has no value: its bits are poison.
    if (const auto* source = static_cast<const Shuffle<T>*>(lanes[reader.source]); source != nullptr)
      reader.result = source->value;
    else
      __builtin_memset(static_cast<void*>(&reader.result), 0xFF, sizeof(T));
  }
}

template <typename T>
T shuffle(const char* name, unsigned mask, T value, int source, int width, Site site) {
  if (width < 1 || width > kWarpSize || (width & (width - 1)) != 0)
    fail(site, "%s: width %d is not a power of two up to 32", name, width);
  Shuffle<T> arguments{value, source, value};
  warp_collective(name, resolve_shuffle<T>, mask, &arguments, site);
  return arguments.result;
}

/// The first lane of the caller's section of `width` lanes.
inline int section_begin(int width) {
  return lane_id() & ~(width - 1);
}

struct Vote {
  unsigned value;
  unsigned result;
};

enum class VoteKind { ballot, any, all };

template <VoteKind kKind>
SIMT_NOT_WATCHED void resolve_vote(void* const* lanes, std::uint32_t mask) {
  unsigned ballot = 0;
  for (int lane = 0; lane < kWarpSize; ++lane)
    if ((mask >> lane & 1U) != 0 && static_cast<const Vote*>(lanes[lane])->value != 0) ballot |= 1U << lane;
  const unsigned result = kKind == VoteKind::ballot ? ballot
                          : kKind == VoteKind::any  ? static_cast<unsigned>(ballot != 0)
                                                    : static_cast<unsigned>(ballot == mask);
  for (int lane = 0; lane < kWarpSize; ++lane)
    if ((mask >> lane & 1U) != 0) static_cast<Vote*>(lanes[lane])->result = result;
}

template <VoteKind kKind>
unsigned vote(const char* name, unsigned mask, int predicate, Site site) {
  Vote arguments{static_cast<unsigned>(predicate != 0), 0};
  warp_collective(name, resolve_vote<kKind>, mask, &arguments, site);
  return arguments.result;
}

template <typename Combine>
SIMT_NOT_WATCHED void resolve_reduction(void* const* lanes, std::uint32_t mask) {
  bool is_first = true;
  unsigned result = 0;
  for (int lane = 0; lane < kWarpSize; ++lane) {
    if ((mask >> lane & 1U) == 0) continue;
    const unsigned value = static_cast<const Vote*>(lanes[lane])->value;
    result = is_first ? value : Combine()(result, value);
    is_first = false;
  }
  for (int lane = 0; lane < kWarpSize; ++lane)
    if ((mask >> lane & 1U) != 0) static_cast<Vote*>(lanes[lane])->result = result;
}

template <typename Combine>
unsigned reduce(const char* name, unsigned mask, unsigned value, Site site) {
  Vote arguments{value, 0};
  warp_collective(name, resolve_reduction<Combine>, mask, &arguments, site);
  return arguments.result;
}

struct Sum {
  unsigned operator()(unsigned a, unsigned b) const { return a + b; }
};
struct Maximum {
  unsigned operator()(unsigned a, unsigned b) const { return a > b ? a : b; }
};
struct Minimum {
  unsigned operator()(unsigned a, unsigned b) const { return a < b ? a : b; }
};

#undef SIMT_NOT_WATCHED

inline void resolve_nothing(void* const* /*lanes*/, std::uint32_t /*mask*/) {}

}  // namespace trireme::simt::emulator

// NOLINTBEGIN(bugprone-reserved-identifier): these are CUDA's names.
#define SIMT_SITE trireme::simt::emulator::Site site = trireme::simt::emulator::Site::here()

inline void __syncwarp(unsigned mask = trireme::simt::kFullMask, SIMT_SITE) {
  trireme::simt::emulator::warp_collective("__syncwarp", trireme::simt::emulator::resolve_nothing, mask,
                                           nullptr, site);
}

template <typename T>
T __shfl_sync(unsigned mask, T value, int source, int width = 32, SIMT_SITE) {
  using namespace trireme::simt::emulator;
  return shuffle("__shfl_sync", mask, value, section_begin(width) + (source & (width - 1)), width, site);
}
template <typename T>
T __shfl_xor_sync(unsigned mask, T value, int lane_mask, int width = 32, SIMT_SITE) {
  using namespace trireme::simt::emulator;
  const int source = lane_id() ^ lane_mask;  // a lane of an earlier section may be read, of a later one not
  return shuffle("__shfl_xor_sync", mask, value, source < section_begin(width) + width ? source : lane_id(),
                 width, site);
}
template <typename T>
T __shfl_down_sync(unsigned mask, T value, unsigned delta, int width = 32, SIMT_SITE) {
  using namespace trireme::simt::emulator;
  const int source = lane_id() + static_cast<int>(delta);
  return shuffle("__shfl_down_sync", mask, value, source < section_begin(width) + width ? source : lane_id(),
                 width, site);
}
template <typename T>
T __shfl_up_sync(unsigned mask, T value, unsigned delta, int width = 32, SIMT_SITE) {
  using namespace trireme::simt::emulator;
  const int source = lane_id() - static_cast<int>(delta);
  return shuffle("__shfl_up_sync", mask, value, source >= section_begin(width) ? source : lane_id(), width,
                 site);
}

inline unsigned __ballot_sync(unsigned mask, int predicate, SIMT_SITE) {
  using namespace trireme::simt::emulator;
  return vote<VoteKind::ballot>("__ballot_sync", mask, predicate, site);
}
inline int __any_sync(unsigned mask, int predicate, SIMT_SITE) {
  using namespace trireme::simt::emulator;
  return static_cast<int>(vote<VoteKind::any>("__any_sync", mask, predicate, site));
}
inline int __all_sync(unsigned mask, int predicate, SIMT_SITE) {
  using namespace trireme::simt::emulator;
  return static_cast<int>(vote<VoteKind::all>("__all_sync", mask, predicate, site));
}
inline unsigned __reduce_add_sync(unsigned mask, unsigned value, SIMT_SITE) {
  using namespace trireme::simt::emulator;
  return reduce<Sum>("__reduce_add_sync", mask, value, site);
}
inline unsigned __reduce_max_sync(unsigned mask, unsigned value, SIMT_SITE) {
  using namespace trireme::simt::emulator;
  return reduce<Maximum>("__reduce_max_sync", mask, value, site);
}
inline unsigned __reduce_min_sync(unsigned mask, unsigned value, SIMT_SITE) {
  using namespace trireme::simt::emulator;
  return reduce<Minimum>("__reduce_min_sync", mask, value, site);
}
#undef SIMT_SITE
// NOLINTEND(bugprone-reserved-identifier)
