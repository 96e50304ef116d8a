// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstdint>
#include <cstring>
#include <exception>
#include <thread>
#include <utility>

#include "src/comm/world.h"
#include "src/core/deadline.h"

namespace trireme {
namespace {

constexpr std::size_t kMaxPieceBytes = std::size_t{1} << 30;  // a count must fit an int

void await(MPI_Request request, Deadline& deadline, const char* what) {
  constexpr int kTestsBeforeSleep = 200;
  for (int tests = 0;; ++tests) {
    int complete = 0;
    mpi_check(MPI_Test(&request, &complete, MPI_STATUS_IGNORE), "MPI_Test");
    if (complete != 0) return;
    if (deadline.passed())
      throw make_error(Status::peer_gone, "waited {:.3g} s for {}", deadline.seconds_waited(), what)
          .hint(
              "another rank is gone, stopped or late; the command's help shows which timeout allows longer "
              "waits");
    if (tests >= kTestsBeforeSleep) std::this_thread::sleep_for(std::chrono::microseconds(50));
  }
}

void broadcast_bytes(void* data, std::size_t bytes, int root, MPI_Comm comm, Deadline& deadline,
                     const char* what) {
  for (std::size_t done = 0; done < bytes;) {
    const std::size_t piece = std::min(bytes - done, kMaxPieceBytes);
    MPI_Request request = MPI_REQUEST_NULL;
    mpi_check(MPI_Ibcast(static_cast<std::byte*>(data) + done, static_cast<int>(piece), MPI_BYTE, root, comm,
                         &request),
              "MPI_Ibcast");
    await(request, deadline, what);
    done += piece;
  }
}

}  // namespace

void mpi_check(int code, const char* call) {
  if (code == MPI_SUCCESS) return;
  char text[MPI_MAX_ERROR_STRING] = "";
  int length = 0;
  MPI_Error_string(code, text, &length);
  throw make_error(Status::peer_gone, "{} failed: {}", call, text);
}

Group::~Group() {
  // While an error unwinds this rank, the others do not come to a collective free; the process ends soon.
  if (comm_ == MPI_COMM_NULL || std::uncaught_exceptions() > 0) return;
  int finalized = 0;
  MPI_Finalized(&finalized);
  if (finalized == 0) MPI_Comm_free(&comm_);
}

Group::Group(Group&& other) noexcept : comm_(std::exchange(other.comm_, MPI_COMM_NULL)) {}

Group& Group::operator=(Group&& other) noexcept {
  std::swap(comm_, other.comm_);
  return *this;
}

int Group::rank() const {
  int rank = 0;
  mpi_check(MPI_Comm_rank(comm_, &rank), "MPI_Comm_rank");
  return rank;
}

int Group::size() const {
  int size = 1;
  mpi_check(MPI_Comm_size(comm_, &size), "MPI_Comm_size");
  return size;
}

Group Group::duplicate() const {
  MPI_Comm copy = MPI_COMM_NULL;
  mpi_check(MPI_Comm_dup(comm_, &copy), "MPI_Comm_dup");
  return Group(copy);
}

std::vector<std::byte> Group::broadcast(std::vector<std::byte> bytes, int root, Seconds timeout,
                                        const char* what) const {
  Deadline deadline(timeout);
  std::uint64_t size = bytes.size();
  broadcast_bytes(&size, sizeof size, root, comm_, deadline, what);
  bytes.resize(size);
  broadcast_bytes(bytes.data(), bytes.size(), root, comm_, deadline, what);
  return bytes;
}

std::string Group::broadcast_text(const std::string& text, int root, Seconds timeout,
                                  const char* what) const {
  const auto* begin = reinterpret_cast<const std::byte*>(text.data());
  const std::vector<std::byte> bytes = broadcast({begin, begin + text.size()}, root, timeout, what);
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

std::vector<std::string> Group::allgather_text(const std::string& text, Seconds timeout,
                                               const char* what) const {
  Deadline deadline(timeout);
  std::vector<std::uint64_t> sizes(static_cast<std::size_t>(size()));
  const std::uint64_t mine = text.size();
  MPI_Request request = MPI_REQUEST_NULL;
  mpi_check(MPI_Iallgather(&mine, 1, MPI_UINT64_T, sizes.data(), 1, MPI_UINT64_T, comm_, &request),
            "MPI_Iallgather");
  await(request, deadline, what);
  // One broadcast per rank: texts of any length without a displacement that must fit an int.
  std::vector<std::string> all(sizes.size());
  all[static_cast<std::size_t>(rank())] = text;
  for (std::size_t r = 0; r < all.size(); ++r) {
    all[r].resize(sizes[r]);
    broadcast_bytes(all[r].data(), all[r].size(), static_cast<int>(r), comm_, deadline, what);
  }
  return all;
}

void Group::barrier(Seconds timeout, const char* what) const {
  MPI_Request request = MPI_REQUEST_NULL;
  mpi_check(MPI_Ibarrier(comm_, &request), "MPI_Ibarrier");
  Deadline deadline(timeout);
  await(request, deadline, what);
}

}  // namespace trireme
