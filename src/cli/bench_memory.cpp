// SPDX-License-Identifier: Apache-2.0
#include "src/cli/bench_memory.h"

#include <algorithm>
#include <cstring>
#include <limits>

#include "data/staging.h"
#include "src/core/buffer.h"
#include "src/core/deadline.h"
#include "src/core/parse.h"

namespace trireme {

std::int64_t memory_share(const World& world, std::chrono::duration<double> timeout) {
  const std::uint64_t own = available_memory() / static_cast<std::uint64_t>(world.local_size());
  std::int64_t least = std::numeric_limits<std::int64_t>::max();
  for (const std::string& share :
       world.all().allgather_text(fmt::format("{}", own), timeout, "the free memory of all nodes"))
    least = std::min(least, parse_int(share).value_or(0));
  return least;
}

double node_memcpy_bandwidth(const World& world, std::int64_t share, std::chrono::duration<double> timeout) {
  const auto bytes = static_cast<std::size_t>(std::min<std::int64_t>(std::int64_t{64} << 20, share / 4));
  HostMemory memory;
  const auto from = memory.allocate(bytes), to = memory.allocate(bytes);
  world.node().barrier(timeout, "the ranks of the node to copy memory");
  constexpr double kSeconds = 0.3;
  const Stopwatch stopwatch;
  std::int64_t copied = 0;
  do {
    std::memcpy(to->data(), from->data(), bytes);
    copied += static_cast<std::int64_t>(bytes);
  } while (stopwatch.seconds() < kSeconds);
  const double own = static_cast<double>(copied) / stopwatch.seconds();
  double sum = 0;
  for (const std::string& rate :
       world.node().allgather_text(fmt::format("{}", own), timeout, "the copying speed of the node's ranks"))
    sum += parse_double(rate).value_or(0);
  return sum;
}

}  // namespace trireme
