// SPDX-License-Identifier: Apache-2.0
#include "src/comm/shm_obstacle.h"

#include <sys/statvfs.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <vector>

#include "src/comm/shm_memory.h"

namespace trireme {
namespace {

constexpr Group::Seconds kTimeout = std::chrono::minutes(10);

std::string size_text(std::uint64_t bytes) {
  const auto value = static_cast<double>(bytes);
  return bytes >= std::uint64_t{1} << 30 ? fmt::format("{:.1f} GiB", value / 0x1p30)
                                         : fmt::format("{:.1f} MiB", value / 0x1p20);
}

std::string host_name() {
  std::array<char, 256> name{};
  gethostname(name.data(), name.size() - 1);
  return name.data();
}

/// Open MPI says by one of its control variables where it keeps shared windows; /dev/shm is its default and
/// where MPICH and its relatives have theirs.
std::string window_folder() {
  std::string folder = "/dev/shm";
  // Open MPI 4 takes the level given here for that of the whole process: ask for the one that it has.
  int level = MPI_THREAD_SINGLE, provided = 0;
  if (MPI_Query_thread(&level) != MPI_SUCCESS || MPI_T_init_thread(level, &provided) != MPI_SUCCESS)
    return folder;
  int index = 0, count = 0;
  MPI_T_cvar_handle handle = MPI_T_CVAR_HANDLE_NULL;
  if (MPI_T_cvar_get_index("osc_sm_backing_directory", &index) == MPI_SUCCESS &&
      MPI_T_cvar_handle_alloc(index, nullptr, &handle, &count) == MPI_SUCCESS) {
    std::vector<char> text(static_cast<std::size_t>(std::max(count, 1)) + 1);
    if (MPI_T_cvar_read(handle, text.data()) == MPI_SUCCESS && text[0] == '/') folder = text.data();
    MPI_T_cvar_handle_free(&handle);
  }
  MPI_T_finalize();
  return folder;
}

std::string node_obstacle(const Group& group) {
  MPI_Comm node = MPI_COMM_NULL;
  mpi_check(MPI_Comm_split_type(group.get(), MPI_COMM_TYPE_SHARED, group.rank(), MPI_INFO_NULL, &node),
            "MPI_Comm_split_type");
  const int here = Group(node).size();
  if (here == group.size()) return {};
  return fmt::format("the {} ranks are not on one node: {} has {} of them", group.size(), host_name(), here);
}

/// A window of one page, made and freed.
std::string window_obstacle(const Group& group) {
  MPI_Win window = MPI_WIN_NULL;
  void* base = nullptr;
  const int code = MPI_Win_allocate_shared(4096, 1, MPI_INFO_NULL, group.get(), &base, &window);
  if (code == MPI_SUCCESS) {
    MPI_Win_free(&window);
    return {};
  }
  std::array<char, MPI_MAX_ERROR_STRING> text{};
  int length = 0;
  MPI_Error_string(code, text.data(), &length);
  return fmt::format("{} gives no shared windows: {}", mpi_library_name(), text.data());
}

/// The first rank's trouble, on all ranks.
std::string agreed(const Group& group, const std::string& mine) {
  for (const std::string& text : group.allgather_text(mine, kTimeout, "all ranks to look at shared memory"))
    if (!text.empty()) return text;
  return {};
}

}  // namespace

std::string room_obstacle(const ShmRoom& room) {
  // The MPI library's own blocks, rounding, and other files that appear there while the job runs.
  constexpr std::uint64_t kSpare = std::uint64_t{8} << 20;
  const std::uint64_t needed = static_cast<std::uint64_t>(room.ranks) * room.bytes_per_rank;
  if (room.free_bytes >= needed + needed / 32 + kSpare) return {};
  return fmt::format("{} of {} has {} free, {} are needed for {} ranks", room.folder, room.host,
                     size_text(room.free_bytes), size_text(needed + needed / 32 + kSpare), room.ranks);
}

std::string shared_memory_obstacle(const Group& group, std::size_t window_bytes) {
  if (std::string text = agreed(group, node_obstacle(group)); !text.empty()) return text;

  ShmRoom room{window_folder(), host_name(), 0, ShmMemory::bytes_for(window_bytes), group.size()};
  struct statvfs facts {};
  std::string mine;
  if (statvfs(room.folder.c_str(), &facts) == 0) {
    room.free_bytes = static_cast<std::uint64_t>(facts.f_bavail) * facts.f_frsize;
    mine = room_obstacle(room);
  } else {
    mine = fmt::format("{} of {}, where shared memory lies, cannot be read", room.folder, room.host);
  }
  if (std::string text = agreed(group, mine); !text.empty()) return text;

  return agreed(group, window_obstacle(group));
}

}  // namespace trireme
