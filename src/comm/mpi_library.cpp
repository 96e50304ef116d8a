// SPDX-License-Identifier: Apache-2.0
// Every collective is a fixed list of non-blocking MPI calls, which the ranks start in the same order,
// whatever completes first. Long tensors are cut into pieces, because Open MPI allocates a temporary of the
// length of each call and a count must fit an int.
#include "src/comm/mpi_library.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "src/comm/mpi_type.h"
#include "src/comm/reduce.h"

namespace trireme {
namespace {

constexpr std::int64_t kMaxPieceElements = std::int64_t{1} << 28;

/// Cuts each of `parts` rows of `count` elements.
std::vector<MpiPiece> cut(int parts, std::int64_t count, std::int64_t piece_elements) {
  std::vector<MpiPiece> pieces;
  for (int part = 0; part < parts; ++part)
    for (std::int64_t begin = 0; begin < count; begin += piece_elements)
      pieces.push_back({part, begin, static_cast<int>(std::min(piece_elements, count - begin))});
  return pieces;
}

std::byte* at(const Tensor& tensor, std::int64_t begin) {
  return element_at(tensor.data, tensor.dtype, begin);
}

}  // namespace

MpiLibrary::MpiLibrary(const Group& group, CommThread& thread, std::int64_t piece_bytes)
    : HostCommunicator(thread, group.rank(), group.size()),
      group_(group.duplicate()),
      piece_bytes_(piece_bytes) {}

std::string MpiLibrary::description() const {
  return fmt::format("mpi: MPI_Iallreduce of {}", mpi_library_name());
}

bool MpiLibrary::can_sum(DType type) const {
  return type == DType::f32 || type == DType::f64 || type == DType::i64;
}

std::int64_t MpiLibrary::piece_elements(DType type) const {
  return std::clamp<std::int64_t>(piece_bytes_ / static_cast<std::int64_t>(size_of(type)), 1,
                                  kMaxPieceElements);
}

std::unique_ptr<Collective> MpiLibrary::make(std::vector<MpiPiece> pieces, MpiCollective::Start start,
                                             std::string description) {
  return std::make_unique<MpiCollective>(pipeline_, std::move(pieces), std::move(start),
                                         std::move(description));
}

std::unique_ptr<Collective> MpiLibrary::make_allreduce(const Tensor& tensor, std::string description) {
  const auto start = [tensor, comm = group_.get()](const MpiPiece& piece, MPI_Request* request) {
    mpi_check(MPI_Iallreduce(MPI_IN_PLACE, at(tensor, piece.begin), piece.count, mpi_type(tensor.dtype),
                             MPI_SUM, comm, request),
              "MPI_Iallreduce");
  };
  return make(cut(1, tensor.count(), piece_elements(tensor.dtype)), start, std::move(description));
}

std::unique_ptr<Collective> MpiLibrary::make_broadcast(const Tensor& tensor, int root,
                                                       std::string description) {
  const auto start = [tensor, root, comm = group_.get()](const MpiPiece& piece, MPI_Request* request) {
    mpi_check(MPI_Ibcast(at(tensor, piece.begin), piece.count, mpi_type(tensor.dtype), root, comm, request),
              "MPI_Ibcast");
  };
  return make(cut(1, tensor.count(), piece_elements(tensor.dtype)), start, std::move(description));
}

std::unique_ptr<Collective> MpiLibrary::make_reduce_scatter(const Tensor& tensor, const Tensor& result,
                                                            std::string description) {
  const std::int64_t count = result.count();
  const bool in_place = result.data == at(tensor, count * rank());
  if (count <= piece_elements(tensor.dtype) && !in_place) {
    const auto start = [tensor, result, comm = group_.get()](const MpiPiece& piece, MPI_Request* request) {
      mpi_check(MPI_Ireduce_scatter_block(tensor.data, result.data, piece.count, mpi_type(tensor.dtype),
                                          MPI_SUM, comm, request),
                "MPI_Ireduce_scatter_block");
    };
    return make({{0, 0, static_cast<int>(count)}}, start, std::move(description));
  }
  // The parts lie apart, so that pieces of all of them are not one row: each part is reduced to its rank.
  const auto start = [=, comm = group_.get(), self = rank()](const MpiPiece& piece, MPI_Request* request) {
    const void* send = at(tensor, count * piece.part + piece.begin);
    if (piece.part == self && in_place) send = MPI_IN_PLACE;
    mpi_check(MPI_Ireduce(send, at(result, piece.begin), piece.count, mpi_type(tensor.dtype), MPI_SUM,
                          piece.part, comm, request),
              "MPI_Ireduce");
  };
  return make(cut(size(), count, piece_elements(tensor.dtype)), start, std::move(description));
}

std::unique_ptr<Collective> MpiLibrary::make_allgather(const Tensor& tensor, const Tensor& result,
                                                       std::string description) {
  const std::int64_t count = tensor.count();
  const bool in_place = tensor.data == at(result, count * rank());
  if (count <= piece_elements(tensor.dtype)) {
    const auto start = [=, comm = group_.get()](const MpiPiece& piece, MPI_Request* request) {
      mpi_check(MPI_Iallgather(in_place ? MPI_IN_PLACE : tensor.data, piece.count, mpi_type(tensor.dtype),
                               result.data, piece.count, mpi_type(tensor.dtype), comm, request),
                "MPI_Iallgather");
    };
    return make({{0, 0, static_cast<int>(count)}}, start, std::move(description));
  }
  const auto start = [=, comm = group_.get(), self = rank()](const MpiPiece& piece, MPI_Request* request) {
    std::byte* target = at(result, count * piece.part + piece.begin);
    if (piece.part == self && !in_place)
      std::memcpy(target, at(tensor, piece.begin),
                  static_cast<std::size_t>(piece.count) * size_of(tensor.dtype));
    mpi_check(MPI_Ibcast(target, piece.count, mpi_type(tensor.dtype), piece.part, comm, request),
              "MPI_Ibcast");
  };
  return make(cut(size(), count, piece_elements(tensor.dtype)), start, std::move(description));
}

}  // namespace trireme
