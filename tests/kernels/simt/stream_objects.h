// SPDX-License-Identifier: Apache-2.0
// Streams, events and pinned memory that clean up behind themselves.
#pragma once

#include <algorithm>
#include <cstddef>

#include "kernels/simt/emulator/settings.h"
#include "kernels/simt/emulator/stream.h"
#include "tests/kernels/support/device_array.h"

namespace trireme::test {

/// Streams of the mode that a test is about; after it those of the environment again.
class WithStreams {
 public:
  explicit WithStreams(simt::emulator::StreamMode mode, unsigned seed = 0) {
    simt::emulator::Streams::instance().set_mode(mode, seed);
  }
  ~WithStreams() {
    using simt::emulator::StreamMode;
    const auto& settings = simt::emulator::settings();
    simt::emulator::Streams::instance().set_mode(settings.lazy_streams ? StreamMode::lazy : StreamMode::eager,
                                                 static_cast<unsigned>(settings.stream_seed));
  }
  WithStreams(const WithStreams&) = delete;
  WithStreams& operator=(const WithStreams&) = delete;
};

class Stream {
 public:
  explicit Stream(unsigned flags = cudaStreamNonBlocking) {
    check_cuda(cudaStreamCreateWithFlags(&stream_, flags), "cudaStreamCreateWithFlags");
  }
  ~Stream() { cudaStreamDestroy(stream_); }
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;
  operator cudaStream_t() const { return stream_; }

 private:
  cudaStream_t stream_ = nullptr;
};

class Event {
 public:
  Event() { check_cuda(cudaEventCreate(&event_), "cudaEventCreate"); }
  ~Event() { cudaEventDestroy(event_); }
  Event(const Event&) = delete;
  Event& operator=(const Event&) = delete;
  operator cudaEvent_t() const { return event_; }

 private:
  cudaEvent_t event_ = nullptr;
};

/// Pinned host memory.
template <typename T>
class Pinned {
 public:
  explicit Pinned(int size) : size_(size) {
    check_cuda(cudaMallocHost(reinterpret_cast<void**>(&values_), static_cast<std::size_t>(size) * sizeof(T)),
               "cudaMallocHost");
  }
  ~Pinned() { cudaFreeHost(values_); }
  Pinned(const Pinned&) = delete;
  Pinned& operator=(const Pinned&) = delete;
  T* data() { return values_; }
  T& operator[](int i) { return values_[i]; }
  void fill(T value) { std::fill(values_, values_ + size_, value); }

 private:
  T* values_ = nullptr;
  int size_ = 0;
};

}  // namespace trireme::test
