// SPDX-License-Identifier: Apache-2.0
// Between the .cpp files of this folder: HDF5's lock, its errors, its types.
#pragma once

#include <hdf5.h>

#include <mutex>
#include <string>
#include <string_view>

#include "src/core/error.h"
#include "src/core/shape.h"
#include "src/io/h5.h"

namespace trireme::h5 {

static_assert(std::is_same_v<hid_t, H5Handle::Id> || sizeof(hid_t) == sizeof(H5Handle::Id),
              "HDF5 1.10 or newer: identifiers of 64 bits");

/// Holds the process-wide lock and keeps HDF5 from printing its error stack (a setting of the thread).
class Guard {
 public:
  Guard();

 private:
  std::unique_lock<std::recursive_mutex> lock_;
};

/// HDF5's innermost reason for the failure of the last call, in one line.
std::string last_reason();

/// "cannot VERB: reason" at the file (and object).
[[noreturn]] void fail(Status status, std::string_view verb, std::string_view file,
                       std::string_view object = {});

/// Takes over `id`, or fails.
H5Handle own(hid_t id, H5Handle::Close close, Status status, std::string_view verb, std::string_view file,
             std::string_view object = {});

/// The type of T in memory and (little-endian where the machine is) in files.
template <H5Number T>
hid_t memory_type();
template <>
inline hid_t memory_type<std::uint8_t>() {
  return H5T_NATIVE_UINT8;
}
template <>
inline hid_t memory_type<std::int32_t>() {
  return H5T_NATIVE_INT32;
}
template <>
inline hid_t memory_type<std::int64_t>() {
  return H5T_NATIVE_INT64;
}
template <>
inline hid_t memory_type<std::uint64_t>() {
  return H5T_NATIVE_UINT64;
}
template <>
inline hid_t memory_type<float>() {
  return H5T_NATIVE_FLOAT;
}
template <>
inline hid_t memory_type<double>() {
  return H5T_NATIVE_DOUBLE;
}

/// A string type of `size` bytes (H5T_VARIABLE too), UTF-8 unless another character set is given.
H5Handle string_type(std::size_t size, H5T_cset_t cset = H5T_CSET_UTF8);
/// A dataspace; rank 0 is scalar.
H5Handle make_space(const Shape& shape);
/// The extents of a dataspace; 65 where there are more than Shape holds.
Shape shape_of_space(hid_t space, std::string_view file, std::string_view object);

/// Closing functions as plain function pointers.
int close_file(H5Handle::Id id);
int close_dataset(H5Handle::Id id);
int close_space(H5Handle::Id id);
int close_type(H5Handle::Id id);
int close_attribute(H5Handle::Id id);
int close_plist(H5Handle::Id id);
int close_object(H5Handle::Id id);

}  // namespace trireme::h5
