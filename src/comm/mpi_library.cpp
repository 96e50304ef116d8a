// SPDX-License-Identifier: Apache-2.0
// Every collective is a fixed list of non-blocking MPI calls, all started in start(): the ranks start them in
// the same order, whatever completes first. Long tensors are cut into pieces, because Open MPI allocates a
// temporary of the length of each call and a count must fit an int.
#include "src/comm/mpi_library.h"

#include <algorithm>
#include <cstring>
#include <utility>

namespace trireme {
namespace {

constexpr std::int64_t kMaxPieceElements = std::int64_t{1} << 28;

MPI_Datatype mpi_type(DType type) {
  switch (type) {
    case DType::u8:
      return MPI_UINT8_T;
    case DType::i32:
      return MPI_INT32_T;
    case DType::i64:
      return MPI_INT64_T;
    case DType::f32:
      return MPI_FLOAT;
    case DType::f64:
      return MPI_DOUBLE;
  }
  return MPI_DATATYPE_NULL;
}

bool can_be_summed(DType type) {
  return type == DType::f32 || type == DType::f64 || type == DType::i64;
}

/// `count` elements from element `begin` on.
std::byte* at_element(const Tensor& tensor, std::int64_t begin) {
  return tensor.as<std::byte>() + static_cast<std::size_t>(begin) * size_of(tensor.dtype);
}

/// Cuts each of `parts` rows of `count` elements.
std::vector<MpiPiece> cut(int parts, std::int64_t count, std::int64_t piece_elements) {
  std::vector<MpiPiece> pieces;
  for (int part = 0; part < parts; ++part)
    for (std::int64_t begin = 0; begin < count; begin += piece_elements)
      pieces.push_back({part, begin, static_cast<int>(std::min(piece_elements, count - begin))});
  return pieces;
}

}  // namespace

MpiLibrary::MpiLibrary(const Group& group, CommThread& thread, std::int64_t piece_bytes)
    : group_(group.duplicate()),
      thread_(thread),
      rank_(group_.rank()),
      size_(group_.size()),
      piece_bytes_(piece_bytes) {}

std::string MpiLibrary::describe(std::string_view verb, std::string_view what, const Tensor& tensor) const {
  return fmt::format("{} of {}, {:.1f} KiB, on rank {} of {}", verb, what,
                     static_cast<double>(tensor.bytes()) / 1024, rank_, size_);
}

std::int64_t MpiLibrary::piece_elements(DType type) const {
  return std::clamp<std::int64_t>(piece_bytes_ / static_cast<std::int64_t>(size_of(type)), 1,
                                  kMaxPieceElements);
}

Ticket MpiLibrary::submit(std::vector<MpiPiece> pieces, MpiCollective::Start start, std::string description,
                          Stream& stream) {
  stream.synchronize();  // the tensors are host memory: what made them must be done before MPI reads them
  return thread_.submit(std::make_unique<MpiCollective>(pipeline_, std::move(pieces), std::move(start),
                                                        std::move(description)));
}

Ticket MpiLibrary::allreduce(const Tensor& tensor, Stream& stream, std::string_view what) {
  TRIREME_ASSERT(can_be_summed(tensor.dtype), "allreduce takes f32, f64 and i64");
  if (size_ == 1 || tensor.count() == 0) return {};
  const auto start = [tensor, comm = group_.get()](const MpiPiece& piece, MPI_Request* request) {
    mpi_check(MPI_Iallreduce(MPI_IN_PLACE, at_element(tensor, piece.begin), piece.count,
                             mpi_type(tensor.dtype), MPI_SUM, comm, request),
              "MPI_Iallreduce");
  };
  return submit(cut(1, tensor.count(), piece_elements(tensor.dtype)), start,
                describe("allreduce", what, tensor), stream);
}

Ticket MpiLibrary::broadcast(const Tensor& tensor, int root, Stream& stream, std::string_view what) {
  TRIREME_ASSERT(root >= 0 && root < size_, "the root of a broadcast is a rank");
  if (size_ == 1 || tensor.count() == 0) return {};
  const auto start = [tensor, root, comm = group_.get()](const MpiPiece& piece, MPI_Request* request) {
    mpi_check(
        MPI_Ibcast(at_element(tensor, piece.begin), piece.count, mpi_type(tensor.dtype), root, comm, request),
        "MPI_Ibcast");
  };
  return submit(cut(1, tensor.count(), piece_elements(tensor.dtype)), start,
                describe("broadcast", what, tensor), stream);
}

Ticket MpiLibrary::reduce_scatter(const Tensor& tensor, const Tensor& result, Stream& stream,
                                  std::string_view what) {
  const std::int64_t count = result.count();
  TRIREME_ASSERT(can_be_summed(tensor.dtype) && result.dtype == tensor.dtype,
                 "reduce_scatter takes f32, f64, i64");
  TRIREME_ASSERT(tensor.count() == count * size_, "reduce_scatter takes one part per rank");
  if (count == 0) return {};
  if (size_ == 1) return copy_alone(tensor, result, stream);
  const std::byte* own = at_element(tensor, count * rank_);
  const bool in_place = result.data == own;
  std::string description = describe("reduce-scatter", what, tensor);
  if (count <= piece_elements(tensor.dtype) && !in_place) {
    const auto start = [tensor, result, comm = group_.get()](const MpiPiece& piece, MPI_Request* request) {
      mpi_check(MPI_Ireduce_scatter_block(tensor.data, result.data, piece.count, mpi_type(tensor.dtype),
                                          MPI_SUM, comm, request),
                "MPI_Ireduce_scatter_block");
    };
    return submit({{0, 0, static_cast<int>(count)}}, start, std::move(description), stream);
  }
  // The parts lie apart, so that pieces of all of them are not one row: each part is reduced to its rank.
  const auto start = [=, comm = group_.get(), rank = rank_](const MpiPiece& piece, MPI_Request* request) {
    const void* send = at_element(tensor, count * piece.part + piece.begin);
    if (piece.part == rank && in_place) send = MPI_IN_PLACE;
    mpi_check(MPI_Ireduce(send, at_element(result, piece.begin), piece.count, mpi_type(tensor.dtype), MPI_SUM,
                          piece.part, comm, request),
              "MPI_Ireduce");
  };
  return submit(cut(size_, count, piece_elements(tensor.dtype)), start, std::move(description), stream);
}

Ticket MpiLibrary::allgather(const Tensor& tensor, const Tensor& result, Stream& stream,
                             std::string_view what) {
  const std::int64_t count = tensor.count();
  TRIREME_ASSERT(result.dtype == tensor.dtype, "allgather does not convert");
  TRIREME_ASSERT(result.count() == count * size_, "allgather gives one part per rank");
  if (count == 0) return {};
  if (size_ == 1) return copy_alone(tensor, result, stream);
  const bool in_place = tensor.data == at_element(result, count * rank_);
  std::string description = describe("allgather", what, result);
  if (count <= piece_elements(tensor.dtype)) {
    const auto start = [=, comm = group_.get()](const MpiPiece& piece, MPI_Request* request) {
      mpi_check(MPI_Iallgather(in_place ? MPI_IN_PLACE : tensor.data, piece.count, mpi_type(tensor.dtype),
                               result.data, piece.count, mpi_type(tensor.dtype), comm, request),
                "MPI_Iallgather");
    };
    return submit({{0, 0, static_cast<int>(count)}}, start, std::move(description), stream);
  }
  const auto start = [=, comm = group_.get(), rank = rank_](const MpiPiece& piece, MPI_Request* request) {
    std::byte* target = at_element(result, count * piece.part + piece.begin);
    if (piece.part == rank && !in_place)
      std::memcpy(target, at_element(tensor, piece.begin),
                  static_cast<std::size_t>(piece.count) * size_of(tensor.dtype));
    mpi_check(MPI_Ibcast(target, piece.count, mpi_type(tensor.dtype), piece.part, comm, request),
              "MPI_Ibcast");
  };
  return submit(cut(size_, count, piece_elements(tensor.dtype)), start, std::move(description), stream);
}

Ticket MpiLibrary::copy_alone(const Tensor& from, const Tensor& to, Stream& stream) {
  stream.synchronize();
  if (to.data != from.data) std::memcpy(to.data, from.data, from.bytes());
  return {};
}

void MpiLibrary::wait(Ticket ticket, Stream& /*stream*/) {
  // The result is in host memory when this returns: whatever the stream gets next comes after it.
  if (ticket.id != 0) thread_.wait(ticket);
}

bool MpiLibrary::done(Ticket ticket) {
  return ticket.id == 0 || thread_.done(ticket);
}

std::unique_ptr<Buffer> MpiLibrary::allocate(std::size_t bytes) {
  return HostMemory().allocate(bytes);
}

}  // namespace trireme
