// SPDX-License-Identifier: Apache-2.0
// A rank with an emulated GPU, and numbers in its memory.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "kernels/simt/emulator/stream.h"
#include "src/comm/communicator.h"
#include "src/comm/nccl_emulated/emulated_nccl.h"
#include "src/device/cuda/cuda_device.h"
#include "tests/src/comm/exact_values.h"
#include "tests/src/comm/groups.h"

namespace trireme::testing_support {

/// Streams do their work as late as they may, in an order that the seed chooses; 0: at once.
class StreamsScope {
 public:
  explicit StreamsScope(unsigned seed) { set(seed); }
  ~StreamsScope() { set(0); }
  StreamsScope(const StreamsScope&) = delete;
  StreamsScope& operator=(const StreamsScope&) = delete;

 private:
  static void set(unsigned seed) {
    using simt::emulator::StreamMode;
    simt::emulator::Streams::instance().set_mode(seed == 0 ? StreamMode::eager : StreamMode::lazy, seed);
  }
};

/// Numbers in device memory. Is not destroyed before they have been used: the copy to it reads its own.
/// Nothing waits for anything but on the compute stream.
template <typename T>
class OnDevice {
 public:
  OnDevice(Device& device, BufferSource& source, std::vector<T> values)
      : device_(&device), memory_(source.allocate(values.size() * sizeof(T))), values_(std::move(values)) {
    device_->copy(tensor(), row_of(values_.data(), std::ssize(values_)), device_->compute_stream());
  }

  Tensor tensor() const { return row_of(static_cast<T*>(memory_->data()), std::ssize(values_)); }
  /// `count` elements from `begin` on.
  Tensor part(std::int64_t begin, std::int64_t count) const {
    return row_of(static_cast<T*>(memory_->data()) + begin, count);
  }
  /// What the compute stream finds there; waits for it.
  std::vector<T> values() const { return values(0, std::ssize(values_)); }
  std::vector<T> values(std::int64_t begin, std::int64_t count) const {
    std::vector<T> found(static_cast<std::size_t>(count));
    device_->copy(row_of(found.data(), count), part(begin, count), device_->compute_stream());
    device_->compute_stream().synchronize();
    return found;
  }

 private:
  Device* device_;
  std::unique_ptr<Buffer> memory_;
  std::vector<T> values_;  // until the copy has read them
};

/// Device first, communicators after it.
struct GpuRank {
  explicit GpuRank(const NcclApi* nccl = &emulated_nccl()) { gpu.nccl = nccl; }

  CommunicatorOptions options(std::string kind, std::size_t window_bytes = 0) const {
    CommunicatorOptions all{std::move(kind), window_bytes};
    all.gpu = &gpu;
    return all;
  }
  Stream& stream() const { return device->compute_stream(); }

  std::unique_ptr<CudaDevice> device = make_cuda_device({});
  GpuCommunication gpu{device.get(), nullptr, "", false};
};

/// What a test of one communicator holds: a group, a GPU, the thread, and the communicator that the test
/// makes.
class GpuRun {
 protected:
  explicit GpuRun(unsigned seed) : streams_(seed) {}
  ~GpuRun() { end(); }

  /// The thread ends before the communicator, as its contract says.
  void end() {
    thread_.reset();
    communicator_.reset();
  }
  Communicator& comm() { return *communicator_; }
  Stream& stream() { return rank_.stream(); }
  int ranks() const { return group_.size(); }
  int self() const { return group_.rank(); }
  /// In memory of the communicator, or of the device.
  template <typename T>
  OnDevice<T> on_device(std::vector<T> values, bool by_communicator = true) {
    BufferSource& source = by_communicator ? static_cast<BufferSource&>(comm()) : *rank_.device;
    return {*rank_.device, source, std::move(values)};
  }
  template <typename T>
  void check_allreduce(std::int64_t count, bool by_communicator = true) {
    const OnDevice<T> values = on_device(exact_values<T>(self(), count), by_communicator);
    comm().wait(comm().allreduce(values.tensor(), stream(), "test"), stream());
    EXPECT_EQ(values.values(), exact_sums<T>(ranks(), count)) << count;
  }

  const StreamsScope streams_;
  Group group_ = all_ranks();
  GpuRank rank_;
  std::unique_ptr<CommThread> thread_ = std::make_unique<CommThread>(kTimeout);
  std::unique_ptr<Communicator> communicator_;
};

/// Lengths around what is cut into parts.
inline constexpr std::int64_t kCounts[] = {0, 1, 3, 1023, 40003};

}  // namespace trireme::testing_support
