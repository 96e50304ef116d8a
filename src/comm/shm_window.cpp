// SPDX-License-Identifier: Apache-2.0
#include "src/comm/shm_window.h"

#include <sys/mman.h>

#include <cerrno>
#include <chrono>
#include <cstring>
#include <exception>

namespace trireme {
namespace {

constexpr std::size_t kPage = 4096;
constexpr std::size_t kHugePage = std::size_t{2} << 20;
constexpr Group::Seconds kStartTimeout = std::chrono::minutes(10);
constexpr Group::Seconds kEndTimeout{30};

#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23  // Linux 5.14; older C libraries do not know it
#endif

std::size_t rounded_up(std::size_t value, std::size_t unit) {
  return (value + unit - 1) / unit * unit;
}

}  // namespace

ShmWindow::ShmWindow(const Group& group, std::size_t bytes)
    : group_(group.duplicate()), bytes_(rounded_up(bytes, bytes >= kHugePage ? kHugePage : kPage)) {
  group_.barrier(kStartTimeout, "all ranks of the node to ask for shared memory");
  allocate();
  find_memories();
  const std::string trouble = touch_own();
  for (const std::string& text :
       group_.allgather_text(trouble, kStartTimeout, "all ranks to touch shared memory"))
    if (!text.empty())
      throw make_error(Status::configuration, "{}", text)
          .hint("give /dev/shm more room, or use another --comm");
}

void ShmWindow::allocate() {
  MPI_Info info = MPI_INFO_NULL;
  mpi_check(MPI_Info_create(&info), "MPI_Info_create");
  MPI_Info_set(info, "alloc_shared_noncontig", "true");  // every rank's memory on pages of its own
  void* base = nullptr;
  // One page more than asked for: MPI does not promise that the memory begins on one.
  const int code =
      MPI_Win_allocate_shared(static_cast<MPI_Aint>(bytes_ + kPage), 1, info, group_.get(), &base, &window_);
  MPI_Info_free(&info);
  mpi_check(code, "MPI_Win_allocate_shared");
}

void ShmWindow::find_memories() {
  // Mappings begin on pages in every process, so all of them round to the same byte.
  for (int r = 0; r < group_.size(); ++r) {
    MPI_Aint size = 0;
    int unit = 0;
    void* base = nullptr;
    mpi_check(MPI_Win_shared_query(window_, r, &size, &unit, &base), "MPI_Win_shared_query");
    memories_.push_back(
        reinterpret_cast<std::byte*>(rounded_up(reinterpret_cast<std::uintptr_t>(base), kPage)));
  }
}

std::string ShmWindow::touch_own() const {
  std::byte* own = memories_[static_cast<std::size_t>(group_.rank())];
  madvise(own, bytes_, MADV_HUGEPAGE);  // a wish: failure costs speed only
  // A page that cannot be had is an error code here, and a fatal signal in an ordinary store.
  if (madvise(own, bytes_, MADV_POPULATE_WRITE) == 0) return {};
  if (errno != EINVAL)
    return fmt::format("{:.1f} MiB of shared memory for rank {} were promised and then refused: {}",
                       static_cast<double>(bytes_) / 0x1p20, group_.rank(), std::strerror(errno));
  std::memset(own, 0, bytes_);
  return {};
}

ShmWindow::~ShmWindow() {
  if (window_ == MPI_WIN_NULL || std::uncaught_exceptions() > 0) return;  // see Group::~Group
  int finalized = 0;
  MPI_Finalized(&finalized);
  if (finalized != 0) return;
  try {
    // Freeing waits for all ranks without a deadline, so make sure first that all are here.
    group_.barrier(kEndTimeout, "all ranks of the node to free shared memory");
    MPI_Win_free(&window_);
  } catch (const Error&) {
    // Another rank is gone. The kernel frees the memory when the processes end.
  }
}

}  // namespace trireme
