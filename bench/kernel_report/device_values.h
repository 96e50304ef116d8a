// SPDX-License-Identifier: Apache-2.0
// Device memory of an emulated network: what grows with the batch is told from what does not.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <vector>

#include "kernels/numeric.h"
#include "tests/kernels/support/device_array.h"

namespace trireme::bench {

using Bytes = test::DeviceArray<std::uint8_t>;

/// All zero: what is counted does not depend on values.
inline Bytes zeroed(std::size_t size) {
  Bytes memory(size);
  test::check_cuda(cudaMemset(memory.data(), 0, size), "cudaMemset");
  return memory;
}

class DeviceMemory {
 public:
  enum class Kind { image, step };

  template <typename T>
  T* allocate(std::int64_t count, Kind kind) {
    memory_.push_back(zeroed(static_cast<std::size_t>(count) * sizeof(T)));
    std::uint8_t* data = memory_.back().data();
    kinds_[data] = kind;
    return reinterpret_cast<T*>(data);
  }
  Kind kind_of(const void* begin) const { return kinds_.at(begin); }

 private:
  std::vector<Bytes> memory_;
  std::map<const void*, Kind> kinds_;
};

}  // namespace trireme::bench
