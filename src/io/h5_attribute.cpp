// SPDX-License-Identifier: Apache-2.0
// Attributes of H5File.
#include "src/io/h5.h"
#include "src/io/h5_library.h"

namespace trireme {

using h5::Guard;

namespace {

std::string shown(std::string_view name, std::string_view object) {
  return object == "/" ? fmt::format("attribute {}", name) : fmt::format("attribute {} of {}", name, object);
}

struct OpenAttribute {
  H5Handle handle;
  Shape shape;
  H5T_class_t type_class = H5T_NO_CLASS;
};

OpenAttribute open_attribute(hid_t file, const std::string& path, std::string_view name,
                             std::string_view object) {
  OpenAttribute open;
  const std::string what = shown(name, object);
  open.handle = h5::own(
      H5Aopen_by_name(file, std::string(object).c_str(), std::string(name).c_str(), H5P_DEFAULT, H5P_DEFAULT),
      h5::close_attribute, Status::bad_data, "read", path, what);
  const H5Handle space(H5Aget_space(open.handle.get()), h5::close_space);
  open.shape = h5::shape_of_space(space.get(), path, what);
  const H5Handle type(H5Aget_type(open.handle.get()), h5::close_type);
  open.type_class = H5Tget_class(type.get());
  return open;
}

void write_value(hid_t file, const std::string& path, std::string_view name, std::string_view object,
                 hid_t type, const Shape& shape, const void* value) {
  const std::string what = shown(name, object);
  const H5Handle space = h5::make_space(shape);
  const H5Handle attribute =
      h5::own(H5Acreate_by_name(file, std::string(object).c_str(), std::string(name).c_str(), type,
                                space.get(), H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT),
              h5::close_attribute, Status::io_error, "create", path, what);
  if (H5Awrite(attribute.get(), type, value) < 0) h5::fail(Status::io_error, "write", path, what);
}

}  // namespace

bool H5File::has_attribute(std::string_view name, std::string_view object) const {
  const Guard guard;
  return has(object) && H5Aexists_by_name(handle_.get(), std::string(object).c_str(),
                                          std::string(name).c_str(), H5P_DEFAULT) > 0;
}

// Variable length: h5py gives such texts as str, and fixed-length ones as bytes.
void H5File::write_text_attribute(std::string_view name, std::string_view text, std::string_view object) {
  const Guard guard;
  const std::string value(text);
  const char* pointer = value.c_str();
  const H5Handle type = h5::string_type(H5T_VARIABLE);
  write_value(handle_.get(), path_, name, object, type.get(), Shape{}, &pointer);
}

std::string H5File::read_text_attribute(std::string_view name, std::string_view object) const {
  const Guard guard;
  const OpenAttribute open = open_attribute(handle_.get(), path_, name, object);
  const std::string what = shown(name, object);
  if (open.type_class != H5T_STRING || open.shape.count() != 1)
    throw make_error(Status::bad_data, "is not a text").at(what).at(path_);
  const H5Handle type(H5Aget_type(open.handle.get()), h5::close_type);
  const H5T_cset_t cset = H5Tget_cset(type.get());
  if (H5Tis_variable_str(type.get()) > 0) {
    const H5Handle memory = h5::string_type(H5T_VARIABLE, cset);
    char* value = nullptr;
    if (H5Aread(open.handle.get(), memory.get(), &value) < 0) h5::fail(Status::bad_data, "read", path_, what);
    std::string text = value == nullptr ? "" : value;
    H5free_memory(value);
    return text;
  }
  std::string text(H5Tget_size(type.get()) + 1, '\0');
  const H5Handle memory = h5::string_type(text.size(), cset);
  if (H5Aread(open.handle.get(), memory.get(), text.data()) < 0)
    h5::fail(Status::bad_data, "read", path_, what);
  text.resize(text.find('\0'));
  return text;
}

template <H5Number T>
void H5File::write_attribute(std::string_view name, T value, std::string_view object) {
  const Guard guard;
  write_value(handle_.get(), path_, name, object, h5::memory_type<T>(), Shape{}, &value);
}

template <H5Number T>
void H5File::write_attribute(std::string_view name, std::span<const T> values, std::string_view object) {
  const Guard guard;
  write_value(handle_.get(), path_, name, object, h5::memory_type<T>(),
              Shape{static_cast<std::int64_t>(values.size())}, values.data());
}

template <H5Number T>
std::vector<T> H5File::read_attribute_array(std::string_view name, std::string_view object) const {
  const Guard guard;
  const OpenAttribute open = open_attribute(handle_.get(), path_, name, object);
  const std::string what = shown(name, object);
  if (open.type_class != H5T_INTEGER && open.type_class != H5T_FLOAT)
    throw make_error(Status::bad_data, "is not a number").at(what).at(path_);
  std::vector<T> values(static_cast<std::size_t>(open.shape.count()));
  if (!values.empty() && H5Aread(open.handle.get(), h5::memory_type<T>(), values.data()) < 0)
    h5::fail(Status::bad_data, "read", path_, what);
  return values;
}

template <H5Number T>
T H5File::read_attribute(std::string_view name, std::string_view object) const {
  const std::vector<T> values = read_attribute_array<T>(name, object);
  if (values.size() != 1)
    throw make_error(Status::bad_data, "holds {} values where one is expected", values.size())
        .at(shown(name, object))
        .at(path_);
  return values[0];
}

#define TRIREME_H5_ATTRIBUTE(T)                                                                     \
  template void H5File::write_attribute<T>(std::string_view, T, std::string_view);                  \
  template void H5File::write_attribute<T>(std::string_view, std::span<const T>, std::string_view); \
  template T H5File::read_attribute<T>(std::string_view, std::string_view) const;                   \
  template std::vector<T> H5File::read_attribute_array<T>(std::string_view, std::string_view) const;
TRIREME_H5_ATTRIBUTE(std::uint8_t)
TRIREME_H5_ATTRIBUTE(std::int32_t)
TRIREME_H5_ATTRIBUTE(std::int64_t)
TRIREME_H5_ATTRIBUTE(std::uint64_t)
TRIREME_H5_ATTRIBUTE(float)
TRIREME_H5_ATTRIBUTE(double)
#undef TRIREME_H5_ATTRIBUTE

}  // namespace trireme
