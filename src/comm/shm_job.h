// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <span>

#include "src/core/tensor.h"

namespace trireme {

/// One collective as this rank calls it: which elements go where. No waiting, no flags.
///
///   a source is what a rank gives: `rows()` rows of `row()` elements (reduce_scatter: a row for every rank,
///   else one row); each rank takes one row of every source, or of the root's.
struct ShmJob {
  enum class Kind : std::uint32_t { allreduce, reduce_scatter, allgather, broadcast };

  Kind kind = Kind::allreduce;
  Tensor tensor;  ///< as in Communicator
  Tensor result;  ///< allreduce, broadcast: the tensor
  int root = 0;
  int rank = 0, size = 1;

  std::int64_t row() const { return kind == Kind::allgather ? tensor.count() : result.count(); }
  int rows() const { return kind == Kind::reduce_scatter ? size : 1; }
  /// The row of a source that this rank takes.
  int own_row() const { return kind == Kind::reduce_scatter ? rank : 0; }
  bool gives() const { return kind != Kind::broadcast || rank == root; }
  std::size_t source_bytes() const;

  /// Copies elements [begin, end) of each row of this rank's source to `to`, row behind row.
  void put(std::int64_t begin, std::int64_t end, std::byte* to) const;
  /// Makes elements [begin, end) of the result from every rank's element `begin` of the row that this rank
  /// takes and those behind it. Only the root's of a broadcast are read.
  void take(std::span<const void* const> sources, std::int64_t begin, std::int64_t end) const;
};

/// "allreduce", …
const char* name_of(ShmJob::Kind kind);

/// How long one step may work: CommThread has other collectives.
class WorkBudget {
 public:
  bool spent() const { return std::chrono::steady_clock::now() >= end_; }

 private:
  std::chrono::steady_clock::time_point end_ =
      std::chrono::steady_clock::now() + std::chrono::milliseconds(1);
};

}  // namespace trireme
