// SPDX-License-Identifier: Apache-2.0
// Datasets of H5File.
#include "src/io/h5.h"
#include "src/io/h5_library.h"

namespace trireme {

using h5::Guard;

namespace {

// Groups on the way as needed; a path with "/" in front or not.
H5Handle link_plist() {
  H5Handle plist(H5Pcreate(H5P_LINK_CREATE), h5::close_plist);
  TRIREME_ASSERT(plist && H5Pset_create_intermediate_group(plist.get(), 1) >= 0, "HDF5 makes link lists");
  return plist;
}

enum class Fill { standard, never };

H5Handle creation_plist(Fill fill) {
  H5Handle plist(H5Pcreate(H5P_DATASET_CREATE), h5::close_plist);
  bool ok = plist && H5Pset_obj_track_times(plist.get(), false) >= 0;
  if (fill == Fill::never)
    ok = ok && H5Pset_alloc_time(plist.get(), H5D_ALLOC_TIME_EARLY) >= 0 &&
         H5Pset_fill_time(plist.get(), H5D_FILL_TIME_NEVER) >= 0;
  TRIREME_ASSERT(ok, "HDF5 makes creation lists");
  return plist;
}

H5Handle create_object(hid_t file, const std::string& path, std::string_view name, hid_t type,
                       const Shape& shape, Fill fill) {
  const H5Handle space = h5::make_space(shape);
  const H5Handle links = link_plist();
  const H5Handle creation = creation_plist(fill);
  return h5::own(H5Dcreate2(file, std::string(name).c_str(), type, space.get(), links.get(), creation.get(),
                            H5P_DEFAULT),
                 h5::close_dataset, Status::io_error, "create the dataset", path, name);
}

H5Element element_of(hid_t type) {
  switch (H5Tget_class(type)) {
    case H5T_INTEGER:
      return H5Tget_size(type) == 1 && H5Tget_sign(type) == H5T_SGN_NONE ? H5Element::u8 : H5Element::integer;
    case H5T_FLOAT:
      return H5Element::real;
    case H5T_STRING:
      return H5Element::text;
    default:
      return H5Element::other;
  }
}

std::optional<std::uint64_t> address_of(hid_t dataset) {
  const H5Handle creation(H5Dget_create_plist(dataset), h5::close_plist);
  if (!creation || H5Pget_layout(creation.get()) != H5D_CONTIGUOUS) return std::nullopt;
  if (H5Pget_external_count(creation.get()) != 0) return std::nullopt;
  const haddr_t address = H5Dget_offset(dataset);
  if (address == HADDR_UNDEF) return std::nullopt;
  return address;
}

// At opening, because HDF5 speaks of plugin paths once it comes to reading.
void check_filters(hid_t dataset, const std::string& path, const std::string& name) {
  const H5Handle creation(H5Dget_create_plist(dataset), h5::close_plist);
  const int count =
      creation && H5Pget_layout(creation.get()) == H5D_CHUNKED ? H5Pget_nfilters(creation.get()) : 0;
  for (int i = 0; i < count; ++i) {
    char filter_name[64] = "";
    unsigned flags = 0;
    std::size_t values = 0;
    const H5Z_filter_t filter = H5Pget_filter2(creation.get(), static_cast<unsigned>(i), &flags, &values,
                                               nullptr, sizeof filter_name, filter_name, nullptr);
    if (filter < 0 || H5Zfilter_avail(filter) > 0) continue;
    throw make_error(Status::bad_data, "the file uses HDF5 filter {} ({}), which this HDF5 does not have",
                     filter_name[0] == '\0' ? "without a name" : filter_name, filter)
        .at(name)
        .at(path)
        .hint("repack with gzip or none");
  }
}

H5Handle row_selection(hid_t dataset, const Shape& shape, std::int64_t first, std::int64_t count) {
  H5Handle space(H5Dget_space(dataset), h5::close_space);
  std::vector<hsize_t> start(static_cast<std::size_t>(shape.rank()), 0);
  std::vector<hsize_t> extent(shape.begin(), shape.end());
  start[0] = static_cast<hsize_t>(first);
  extent[0] = static_cast<hsize_t>(count);
  const bool ok = space && H5Sselect_hyperslab(space.get(), H5S_SELECT_SET, start.data(), nullptr,
                                               extent.data(), nullptr) >= 0;
  TRIREME_ASSERT(ok, "HDF5 selects rows");
  return space;
}

void check_rows(const Shape& shape, std::int64_t first, std::int64_t count) {
  TRIREME_ASSERT(shape.rank() > 0 && first >= 0 && count >= 0 && count <= shape[0] - first,
                 "rows lie inside the dataset");
}

Shape rows_shape(Shape shape, std::int64_t count) {
  shape[0] = count;
  return shape;
}

}  // namespace

H5Dataset::H5Dataset(std::string file, std::string name, H5Handle handle)
    : file_(std::move(file)), name_(std::move(name)), handle_(std::move(handle)) {
  const H5Handle space(H5Dget_space(handle_.get()), h5::close_space);
  shape_ = h5::shape_of_space(space.get(), file_, name_);
  const H5Handle type(H5Dget_type(handle_.get()), h5::close_type);
  element_ = element_of(type.get());
  check_filters(handle_.get(), file_, name_);
  address_ = address_of(handle_.get());
}

template <H5Number T>
void H5Dataset::write_rows(std::int64_t first, std::int64_t count, const T* values) {
  check_rows(shape_, first, count);
  if (count == 0) return;
  const Guard guard;
  const H5Handle selection = row_selection(handle_.get(), shape_, first, count);
  const H5Handle memory = h5::make_space(rows_shape(shape_, count));
  if (H5Dwrite(handle_.get(), h5::memory_type<T>(), memory.get(), selection.get(), H5P_DEFAULT, values) < 0)
    h5::fail(Status::io_error, "write", file_, name_);
}

template <H5Number T>
void H5Dataset::read_rows(std::int64_t first, std::int64_t count, T* values) const {
  check_rows(shape_, first, count);
  if (count == 0) return;
  const Guard guard;
  const H5Handle selection = row_selection(handle_.get(), shape_, first, count);
  const H5Handle memory = h5::make_space(rows_shape(shape_, count));
  if (H5Dread(handle_.get(), h5::memory_type<T>(), memory.get(), selection.get(), H5P_DEFAULT, values) < 0)
    h5::fail(Status::bad_data, "read", file_, name_);
}

template <H5Number T>
H5Dataset H5File::create_dataset(std::string_view name, const Shape& shape) {
  const Guard guard;
  return H5Dataset(path_, std::string(name),
                   create_object(handle_.get(), path_, name, h5::memory_type<T>(), shape, Fill::never));
}

H5Dataset H5File::open_dataset(std::string_view name) const {
  const Guard guard;
  return H5Dataset(path_, std::string(name),
                   h5::own(H5Dopen2(handle_.get(), std::string(name).c_str(), H5P_DEFAULT), h5::close_dataset,
                           Status::bad_data, "open the dataset", path_, name));
}

template <H5Number T>
void H5File::write(std::string_view name, const Shape& shape, const T* values) {
  const Guard guard;
  const H5Handle dataset =
      create_object(handle_.get(), path_, name, h5::memory_type<T>(), shape, Fill::never);
  if (shape.count() == 0) return;
  if (H5Dwrite(dataset.get(), h5::memory_type<T>(), H5S_ALL, H5S_ALL, H5P_DEFAULT, values) < 0)
    h5::fail(Status::io_error, "write", path_, name);
}

template <H5Number T>
std::vector<T> H5File::read(std::string_view name) const {
  const Guard guard;
  const H5Dataset dataset = open_dataset(name);
  if (dataset.element() == H5Element::text || dataset.element() == H5Element::other)
    throw make_error(Status::bad_data, "does not hold numbers").at(name).at(path_);
  std::vector<T> values(static_cast<std::size_t>(dataset.shape().count()));
  if (!values.empty() &&
      H5Dread(dataset.handle_.get(), h5::memory_type<T>(), H5S_ALL, H5S_ALL, H5P_DEFAULT, values.data()) < 0)
    h5::fail(Status::bad_data, "read", path_, name);
  return values;
}

void H5File::write_string_values(std::string_view name, std::span<const std::string> values, bool scalar) {
  const Guard guard;
  const H5Handle type = h5::string_type(H5T_VARIABLE);
  const Shape shape = scalar ? Shape{} : Shape{static_cast<std::int64_t>(values.size())};
  const H5Handle dataset = create_object(handle_.get(), path_, name, type.get(), shape, Fill::standard);
  if (values.empty()) return;
  std::vector<const char*> pointers;
  pointers.reserve(values.size());
  for (const std::string& value : values) pointers.push_back(value.c_str());
  if (H5Dwrite(dataset.get(), type.get(), H5S_ALL, H5S_ALL, H5P_DEFAULT, pointers.data()) < 0)
    h5::fail(Status::io_error, "write", path_, name);
}

void H5File::write_strings(std::string_view name, std::span<const std::string> values) {
  write_string_values(name, values, false);
}

void H5File::write_text(std::string_view name, std::string_view text) {
  const std::string value(text);
  write_string_values(name, std::span(&value, 1), true);
}

namespace {

std::vector<std::string> read_variable_strings(hid_t dataset, hid_t file_type, std::size_t count,
                                               const std::string& path, std::string_view name) {
  const H5Handle type = h5::string_type(H5T_VARIABLE, H5Tget_cset(file_type));
  std::vector<char*> pointers(count, nullptr);
  if (H5Dread(dataset, type.get(), H5S_ALL, H5S_ALL, H5P_DEFAULT, pointers.data()) < 0)
    h5::fail(Status::bad_data, "read", path, name);
  std::vector<std::string> values;
  values.reserve(count);
  for (char* pointer : pointers) {
    values.emplace_back(pointer == nullptr ? "" : pointer);
    H5free_memory(pointer);
  }
  return values;
}

std::vector<std::string> read_fixed_strings(hid_t dataset, hid_t file_type, std::size_t count,
                                            const std::string& path, std::string_view name) {
  const std::size_t size = H5Tget_size(file_type) + 1;
  const H5Handle type = h5::string_type(size, H5Tget_cset(file_type));
  std::vector<char> bytes(count * size);
  if (H5Dread(dataset, type.get(), H5S_ALL, H5S_ALL, H5P_DEFAULT, bytes.data()) < 0)
    h5::fail(Status::bad_data, "read", path, name);
  std::vector<std::string> values;
  values.reserve(count);
  for (std::size_t i = 0; i < count; ++i) values.emplace_back(bytes.data() + i * size);
  return values;
}

}  // namespace

std::vector<std::string> H5File::read_strings(std::string_view name) const {
  const Guard guard;
  const H5Dataset dataset = open_dataset(name);
  if (dataset.element() != H5Element::text)
    throw make_error(Status::bad_data, "does not hold strings").at(name).at(path_);
  const std::size_t count = static_cast<std::size_t>(dataset.shape().count());
  if (count == 0) return {};
  const hid_t id = dataset.handle_.get();
  const H5Handle type(H5Dget_type(id), h5::close_type);
  const auto read = H5Tis_variable_str(type.get()) > 0 ? read_variable_strings : read_fixed_strings;
  return read(id, type.get(), count, path_, name);
}

std::string H5File::read_text(std::string_view name) const {
  std::vector<std::string> values = read_strings(name);
  if (values.size() != 1)
    throw make_error(Status::bad_data, "holds {} strings where one is expected", values.size())
        .at(name)
        .at(path_);
  return std::move(values[0]);
}

#define TRIREME_H5_DATASET(T)                                                   \
  template void H5Dataset::write_rows<T>(std::int64_t, std::int64_t, const T*); \
  template void H5Dataset::read_rows<T>(std::int64_t, std::int64_t, T*) const;  \
  template void H5File::write<T>(std::string_view, const Shape&, const T*);     \
  template std::vector<T> H5File::read<T>(std::string_view) const;              \
  template H5Dataset H5File::create_dataset<T>(std::string_view, const Shape&);
TRIREME_H5_DATASET(std::uint8_t)
TRIREME_H5_DATASET(std::int32_t)
TRIREME_H5_DATASET(std::int64_t)
TRIREME_H5_DATASET(std::uint64_t)
TRIREME_H5_DATASET(float)
TRIREME_H5_DATASET(double)
#undef TRIREME_H5_DATASET

}  // namespace trireme
