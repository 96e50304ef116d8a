// SPDX-License-Identifier: Apache-2.0
#include "src/io/h5_library.h"

#include <vector>

namespace trireme::h5 {
namespace {

// HDF5 keeps global state of its own; this is its lock, and lives as long as the process. HDF5's cleaning up
// at exit is switched off, because it crashes after a file that could not be written to its end; every handle
// is closed by its owner.
struct Library {
  std::recursive_mutex mutex;
  Library() { H5dont_atexit(); }
};

std::recursive_mutex& library_mutex() {
  static Library library;
  return library.mutex;
}

herr_t take_description(unsigned position, const H5E_error2_t* entry, void* text) {
  if (position == 0 && entry->desc != nullptr) *static_cast<std::string*>(text) = entry->desc;
  return 0;
}

// Drivers describe failures at length ("..., errno = 28, error message = 'No space left on device', buf =
// 0x..."); the quoted part is what a user can act on.
std::string quoted_reason(const std::string& text) {
  constexpr std::string_view kMark = "error message = '";
  const std::size_t start = text.find(kMark);
  if (start == std::string::npos) return text;
  const std::size_t begin = start + kMark.size();
  const std::size_t end = text.find('\'', begin);
  return end == std::string::npos ? text : text.substr(begin, end - begin);
}

}  // namespace

Guard::Guard() : lock_(library_mutex()) {
  H5Eset_auto2(H5E_DEFAULT, nullptr, nullptr);
}

std::string last_reason() {
  std::string text;
  H5Ewalk2(H5E_DEFAULT, H5E_WALK_UPWARD, take_description, &text);
  text = quoted_reason(text);
  return text.empty() ? "HDF5 gives no reason" : text;
}

void fail(Status status, std::string_view verb, std::string_view file, std::string_view object) {
  Error error = make_error(status, "cannot {}: {}", verb, last_reason());
  if (object.empty()) throw std::move(error).at(file);
  throw std::move(error).at(object).at(file);
}

H5Handle own(hid_t id, H5Handle::Close close, Status status, std::string_view verb, std::string_view file,
             std::string_view object) {
  if (id < 0) fail(status, verb, file, object);
  return H5Handle(id, close);
}

H5Handle string_type(std::size_t size, H5T_cset_t cset) {
  H5Handle type(H5Tcopy(H5T_C_S1), close_type);
  const bool ok = type && H5Tset_size(type.get(), size) >= 0 && H5Tset_cset(type.get(), cset) >= 0;
  TRIREME_ASSERT(ok, "HDF5 makes string types");
  return type;
}

H5Handle make_space(const Shape& shape) {
  const std::vector<hsize_t> extents(shape.begin(), shape.end());
  H5Handle space(
      extents.empty() ? H5Screate(H5S_SCALAR) : H5Screate_simple(shape.rank(), extents.data(), nullptr),
      close_space);
  TRIREME_ASSERT(static_cast<bool>(space), "HDF5 makes dataspaces");
  return space;
}

Shape shape_of_space(hid_t space, std::string_view file, std::string_view object) {
  const int rank = H5Sget_simple_extent_ndims(space);
  if (rank < 0) fail(Status::bad_data, "read the shape", file, object);
  if (rank > Shape::kMaxRank)
    throw make_error(Status::bad_data, "{} dimensions, at most {} are supported", rank, Shape::kMaxRank)
        .at(object)
        .at(file);
  std::vector<hsize_t> extents(static_cast<std::size_t>(rank));
  if (rank > 0) H5Sget_simple_extent_dims(space, extents.data(), nullptr);
  Shape shape;
  for (auto extent = extents.rbegin(); extent != extents.rend(); ++extent)
    shape = shape.with_outer(static_cast<std::int64_t>(*extent));
  return shape;
}

int close_file(H5Handle::Id id) {
  return H5Fclose(id);
}
int close_dataset(H5Handle::Id id) {
  return H5Dclose(id);
}
int close_space(H5Handle::Id id) {
  return H5Sclose(id);
}
int close_type(H5Handle::Id id) {
  return H5Tclose(id);
}
int close_attribute(H5Handle::Id id) {
  return H5Aclose(id);
}
int close_plist(H5Handle::Id id) {
  return H5Pclose(id);
}
int close_object(H5Handle::Id id) {
  return H5Oclose(id);
}

}  // namespace trireme::h5
