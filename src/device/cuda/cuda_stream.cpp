// SPDX-License-Identifier: Apache-2.0
#include "src/device/cuda/cuda_stream.h"

#include "src/device/cuda/cuda_check.h"

namespace trireme {
namespace {

cudaEvent_t event_of(const Event& event) {
  const auto* ours = dynamic_cast<const CudaEvent*>(&event);
  TRIREME_ASSERT(ours != nullptr, "streams of a CUDA device take its own events");
  return ours->handle();
}

}  // namespace

CudaEvent::CudaEvent() {
  check_cuda(cudaGetDevice(&device_), "cudaGetDevice");
  check_cuda(cudaEventCreateWithFlags(&event_, cudaEventDisableTiming), "cudaEventCreate");
}
CudaEvent::~CudaEvent() {
  cudaEventDestroy(event_);
}

bool CudaEvent::done() const {
  // A thread that only asks has no device yet, and would get the first one, with memory of its own there.
  check_cuda(cudaSetDevice(device_), "cudaSetDevice");
  const cudaError_t status = cudaEventQuery(event_);
  if (status == cudaErrorNotReady) return false;
  check_cuda(status, "cudaEventQuery");
  return true;
}

void CudaEvent::synchronize() {
  check_cuda(cudaEventSynchronize(event_), "cudaEventSynchronize");
}

CudaStream::CudaStream() {
  check_cuda(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), "cudaStreamCreate");
}
CudaStream::~CudaStream() {
  cudaStreamDestroy(stream_);
}

void CudaStream::record(Event& event) {
  check_cuda(cudaEventRecord(event_of(event), stream_), "cudaEventRecord");
}
void CudaStream::wait(const Event& event) {
  check_cuda(cudaStreamWaitEvent(stream_, event_of(event), 0), "cudaStreamWaitEvent");
}
void CudaStream::synchronize() {
  check_cuda(cudaStreamSynchronize(stream_), "cudaStreamSynchronize");
}

}  // namespace trireme
