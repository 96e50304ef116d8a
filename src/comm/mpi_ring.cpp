// SPDX-License-Identifier: Apache-2.0
#include "src/comm/mpi_ring.h"

#include <algorithm>
#include <utility>

#include "src/comm/halving_doubling.h"
#include "src/comm/pairwise_sum.h"
#include "src/comm/ring_collective.h"
#include "src/comm/tree_broadcast.h"

namespace trireme {
namespace {

bool is_16_bit_float(DType type) {
  return type == DType::bf16 || type == DType::f16;
}

/// The parts of a row, whose cuts depend on the count only.
std::vector<PartRange> cut(std::int64_t count, int ranks, DType type) {
  std::vector<PartRange> parts;
  parts.reserve(static_cast<std::size_t>(ranks));
  for (int rank = 0; rank < ranks; ++rank) parts.push_back(part_of(count, ranks, rank, type));
  return parts;
}

std::vector<PartRange> equal_parts(std::int64_t part, int ranks) {
  std::vector<PartRange> parts;
  parts.reserve(static_cast<std::size_t>(ranks));
  for (int rank = 0; rank < ranks; ++rank) parts.push_back({part * rank, part * (rank + 1)});
  return parts;
}

std::byte* bytes_of(const Tensor& tensor) {
  return tensor.as<std::byte>();
}

}  // namespace

MpiRing::MpiRing(const Group& group, CommThread& thread, const CommTuning& tuning)
    : HostCommunicator(thread, group.rank(), group.size()),
      group_(group.duplicate()),
      tuning_(tuning),
      context_(std::make_shared<MessageContext>(group_.get(), rank(), size())) {}

std::string MpiRing::description() const {
  return fmt::format("ring: segments of {} KiB, halving-doubling up to {} KiB, over {}",
                     tuning_.segment_bytes / 1024, tuning_.small_bytes / 1024, mpi_library_name());
}

std::unique_ptr<Collective> MpiRing::make_allreduce(const Tensor& tensor, std::string description) {
  std::byte* const data = bytes_of(tensor);
  std::vector<PartRange> parts = cut(tensor.count(), size(), tensor.dtype);
  std::byte* const own = element_at(data, tensor.dtype, parts[static_cast<std::size_t>(rank())].begin);
  if (is_16_bit_float(tensor.dtype))
    return std::make_unique<PairwiseSum>(context_,
                                         PairwiseSum::Row{data, tensor.dtype, std::move(parts), own, true},
                                         tuning_.segment_bytes, std::move(description));
  if (static_cast<std::int64_t>(tensor.bytes()) <= std::min(tuning_.small_bytes, HalvingDoubling::kMaxBytes))
    return std::make_unique<HalvingDoubling>(context_, tensor, std::move(description));
  RingRow row{data, tensor.dtype, std::move(parts), own};
  const auto plan = RingPlan::make(RingPlan::Half::both, row, tuning_.segment_bytes);
  return std::make_unique<RingCollective>(context_, std::move(row), plan, std::move(description));
}

std::unique_ptr<Collective> MpiRing::make_reduce_scatter(const Tensor& tensor, const Tensor& result,
                                                         std::string description) {
  std::vector<PartRange> parts = equal_parts(result.count(), size());
  if (is_16_bit_float(tensor.dtype))
    return std::make_unique<PairwiseSum>(
        context_, PairwiseSum::Row{bytes_of(tensor), tensor.dtype, std::move(parts), bytes_of(result), false},
        tuning_.segment_bytes, std::move(description));
  RingRow row{bytes_of(tensor), tensor.dtype, std::move(parts), bytes_of(result)};
  const auto plan = RingPlan::make(RingPlan::Half::reduce_scatter, row, tuning_.segment_bytes);
  return std::make_unique<RingCollective>(context_, std::move(row), plan, std::move(description));
}

std::unique_ptr<Collective> MpiRing::make_allgather(const Tensor& tensor, const Tensor& result,
                                                    std::string description) {
  RingRow row{bytes_of(result), result.dtype, equal_parts(tensor.count(), size()), bytes_of(tensor)};
  const auto plan = RingPlan::make(RingPlan::Half::allgather, row, tuning_.segment_bytes);
  return std::make_unique<RingCollective>(context_, std::move(row), plan, std::move(description));
}

std::unique_ptr<Collective> MpiRing::make_broadcast(const Tensor& tensor, int root, std::string description) {
  const bool is_short = static_cast<std::int64_t>(tensor.bytes()) <= tuning_.small_bytes;
  const TreePlace place =
      is_short ? TreePlace::binomial(size(), rank(), root) : TreePlace::chain(size(), rank(), root);
  return std::make_unique<TreeBroadcast>(context_, tensor, place, tuning_.segment_bytes,
                                         std::move(description));
}

}  // namespace trireme
