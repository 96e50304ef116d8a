// SPDX-License-Identifier: Apache-2.0
#include "src/io/h5.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "src/io/h5_library.h"

namespace trireme {

using h5::Guard;

namespace {

constexpr hsize_t kAlignment = hsize_t{1} << 20;
constexpr hsize_t kAlignedFrom = hsize_t{64} << 10;

H5Handle access_plist(H5Alignment alignment = H5Alignment::none) {
  H5Handle plist(H5Pcreate(H5P_FILE_ACCESS), h5::close_plist);
  bool ok = static_cast<bool>(plist);
  if (alignment == H5Alignment::stripes)
    ok = ok && H5Pset_alignment(plist.get(), kAlignedFrom, kAlignment) >= 0;
#if H5_VERSION_GE(1, 12, 1) || (H5_VERSION_GE(1, 10, 7) && !H5_VERSION_GE(1, 12, 0))
  // HDF5_USE_FILE_LOCKING, where it is set, overrides this inside HDF5.
  ok = ok && H5Pset_file_locking(plist.get(), false, true) >= 0;
#endif
  TRIREME_ASSERT(ok, "HDF5 makes file access lists");
  return plist;
}

// HDF5's own messages for these are long-winded or missing.
void check_readable(const std::string& path) {
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) throw make_error(Status::input_missing, "cannot open: {}", std::strerror(errno)).at(path);
  struct stat facts {};
  const bool is_folder = ::fstat(fd, &facts) == 0 && S_ISDIR(facts.st_mode);
  ::close(fd);
  if (is_folder) throw make_error(Status::input_missing, "a folder where an HDF5 file is expected").at(path);
}

}  // namespace

H5Handle& H5Handle::operator=(H5Handle&& other) noexcept {
  if (this != &other) {
    reset();
    id_ = std::exchange(other.id_, -1);
    close_ = std::exchange(other.close_, nullptr);
  }
  return *this;
}

bool H5Handle::reset() noexcept {
  if (id_ < 0) return true;
  const Guard guard;
  return close_(std::exchange(id_, -1)) >= 0;
}

H5File H5File::create(const std::string& path, H5Alignment alignment) {
  const Guard guard;
  const H5Handle access = access_plist(alignment);
  return H5File(path, h5::own(H5Fcreate(path.c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, access.get()),
                              h5::close_file, Status::cannot_create, "create the file", path));
}

H5File H5File::open_read(const std::string& path) {
  const Guard guard;
  check_readable(path);
  const H5Handle access = access_plist();
  const hid_t id = H5Fopen(path.c_str(), H5F_ACC_RDONLY, access.get());
  if (id < 0) {
    const std::string reason = h5::last_reason();
    if (H5Fis_hdf5(path.c_str()) == 0) throw make_error(Status::bad_data, "not an HDF5 file").at(path);
    throw make_error(Status::bad_data, "cannot open as HDF5: {}", reason).at(path);
  }
  return H5File(path, H5Handle(id, h5::close_file));
}

bool H5File::has(std::string_view name) const {
  const Guard guard;
  // HDF5 wants every group on the way to be asked for.
  for (std::size_t end = name.find('/', 1);; end = name.find('/', end + 1)) {
    const std::string prefix(name.substr(0, end));
    if (prefix == "/" || prefix.empty()) return true;
    if (H5Lexists(handle_.get(), prefix.c_str(), H5P_DEFAULT) <= 0) return false;
    if (end == std::string_view::npos)
      return H5Oexists_by_name(handle_.get(), prefix.c_str(), H5P_DEFAULT) > 0;
  }
}

std::vector<std::string> H5File::members(std::string_view group) const {
  const Guard guard;
  const std::string name(group);
  std::vector<std::string> names;
  const auto collect = [](hid_t, const char* member, const H5L_info_t*, void* list) -> herr_t {
    static_cast<std::vector<std::string>*>(list)->emplace_back(member);
    return 0;
  };
  const H5Handle object = h5::own(H5Oopen(handle_.get(), name.c_str(), H5P_DEFAULT), h5::close_object,
                                  Status::bad_data, "open the group", path_, group);
  if (H5Literate(object.get(), H5_INDEX_NAME, H5_ITER_NATIVE, nullptr, collect, &names) < 0)
    h5::fail(Status::bad_data, "list the group", path_, group);
  std::sort(names.begin(), names.end());
  return names;
}

void H5File::close() {
  const Guard guard;
  if (!handle_.reset()) h5::fail(Status::io_error, "write and close", path_);
}

}  // namespace trireme
