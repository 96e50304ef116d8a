// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cuda_runtime_api.h>

#include "src/device/device.h"

namespace trireme {

/// A point that has never been recorded counts as reached, as in CUDA. Any thread may ask.
class CudaEvent final : public Event {
 public:
  CudaEvent();
  ~CudaEvent() override;
  CudaEvent(const CudaEvent&) = delete;
  CudaEvent& operator=(const CudaEvent&) = delete;

  bool done() const override;
  void synchronize() override;
  cudaEvent_t handle() const { return event_; }

 private:
  cudaEvent_t event_ = nullptr;
  int device_ = 0;
};

/// A queue that does not wait for the default stream. Events are CudaEvents.
class CudaStream final : public Stream {
 public:
  CudaStream();
  ~CudaStream() override;
  CudaStream(const CudaStream&) = delete;
  CudaStream& operator=(const CudaStream&) = delete;

  void record(Event& event) override;
  void wait(const Event& event) override;
  void synchronize() override;
  void* native_handle() override { return stream_; }
  std::unique_ptr<Event> make_event() override { return std::make_unique<CudaEvent>(); }
  cudaStream_t handle() const { return stream_; }

 private:
  cudaStream_t stream_ = nullptr;
};

/// The queue of a stream that a CUDA device made.
inline cudaStream_t handle_of(Stream& stream) {
  return static_cast<cudaStream_t>(stream.native_handle());
}

}  // namespace trireme
