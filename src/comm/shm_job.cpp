// SPDX-License-Identifier: Apache-2.0
#include "src/comm/shm_job.h"

#include <array>
#include <cstring>

#include "src/comm/reduce.h"

namespace trireme {

const char* name_of(ShmJob::Kind kind) {
  constexpr std::array kNames = {"allreduce", "reduce-scatter", "allgather", "broadcast"};
  return kNames[static_cast<std::size_t>(kind)];
}

std::size_t ShmJob::source_bytes() const {
  return static_cast<std::size_t>(row() * rows()) * size_of(tensor.dtype);
}

void ShmJob::put(std::int64_t begin, std::int64_t end, std::byte* to) const {
  if (!gives()) return;
  const std::size_t bytes = static_cast<std::size_t>(end - begin) * size_of(tensor.dtype);
  for (int r = 0; r < rows(); ++r)
    std::memcpy(to + static_cast<std::size_t>(r) * bytes,
                element_at(tensor.data, tensor.dtype, r * row() + begin), bytes);
}

void ShmJob::take(std::span<const void* const> sources, std::int64_t begin, std::int64_t end) const {
  const std::size_t bytes = static_cast<std::size_t>(end - begin) * size_of(tensor.dtype);
  const auto copy = [&](int from, std::int64_t to) {
    std::byte* target = element_at(result.data, result.dtype, to);
    const void* source = sources[static_cast<std::size_t>(from)];
    if (target != source) std::memcpy(target, source, bytes);
  };
  switch (kind) {
    case Kind::allreduce:
    case Kind::reduce_scatter: {
      void* const target = element_at(result.data, result.dtype, begin);
      return sum_to_all(tensor.dtype, sources, {&target, 1}, end - begin);
    }
    case Kind::allgather:
      for (int r = 0; r < size; ++r) copy(r, r * row() + begin);
      return;
    case Kind::broadcast:
      if (rank != root) copy(root, begin);
  }
}

}  // namespace trireme
