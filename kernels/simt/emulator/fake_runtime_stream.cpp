// SPDX-License-Identifier: Apache-2.0
#include <chrono>

#include "kernels/simt/emulator/fake_runtime.h"
#include "kernels/simt/emulator/stream.h"

namespace trireme::simt::emulator {
namespace {

Streams& streams() {
  return Streams::instance();
}

cudaError_t bad_handle(const char* function, const char* what) {
  return report(cudaErrorInvalidResourceHandle,
                std::string(function) + ": the " + what + " does not exist or was destroyed");
}

template <typename Work>
cudaError_t with_stream(const char* function, cudaStream_t stream, Work work) {
  return guarded(function,
                 [&] { return streams().is_stream(stream) ? work() : bad_handle(function, "stream"); });
}

template <typename Work>
cudaError_t with_event(const char* function, cudaEvent_t event, Work work) {
  return guarded(function,
                 [&] { return streams().is_event(event) ? work() : bad_handle(function, "event"); });
}

cudaError_t success_or_not_ready(bool is_done) {
  return is_done ? cudaSuccess : cudaErrorNotReady;
}

}  // namespace
}  // namespace trireme::simt::emulator

using namespace trireme::simt::emulator;

extern "C" {

cudaError_t cudaStreamCreateWithPriority(cudaStream_t* stream, unsigned flags, int priority) {
  if (stream == nullptr || (flags & ~unsigned{cudaStreamNonBlocking}) != 0)
    return report(cudaErrorInvalidValue, "cudaStreamCreate: null, or flags that are not known");
  if (const cudaError_t status = check_for_device("cudaStreamCreate"); status != cudaSuccess) return status;
  *stream = streams().create_stream(flags == cudaStreamDefault, priority);
  return cudaSuccess;
}
cudaError_t cudaStreamCreateWithFlags(cudaStream_t* stream, unsigned flags) {
  return cudaStreamCreateWithPriority(stream, flags, 0);
}
cudaError_t cudaStreamCreate(cudaStream_t* stream) {
  return cudaStreamCreateWithPriority(stream, cudaStreamDefault, 0);
}
cudaError_t cudaStreamDestroy(cudaStream_t stream) {
  return streams().destroy_stream(stream) ? cudaSuccess : bad_handle("cudaStreamDestroy", "stream");
}
cudaError_t cudaDeviceGetStreamPriorityRange(int* least, int* greatest) {
  *least = 0;
  *greatest = -5;
  return cudaSuccess;
}

cudaError_t cudaStreamSynchronize(cudaStream_t stream) {
  return with_stream("cudaStreamSynchronize", stream, [&] {
    streams().forbid_in_captures("cudaStreamSynchronize");
    streams().wait_stream(stream);
    return cudaSuccess;
  });
}
cudaError_t cudaStreamQuery(cudaStream_t stream) {
  return with_stream("cudaStreamQuery", stream, [&] {
    streams().forbid_in_captures("cudaStreamQuery");
    return success_or_not_ready(streams().poll_stream(stream));
  });
}
cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned /*flags*/) {
  return with_stream("cudaStreamWaitEvent", stream, [&] {
    if (!streams().is_event(event)) return bad_handle("cudaStreamWaitEvent", "event");
    streams().wait_event(stream, event);
    return cudaSuccess;
  });
}
cudaError_t cudaDeviceSynchronize() {
  return guarded("cudaDeviceSynchronize", [] {
    streams().forbid_in_captures("cudaDeviceSynchronize");
    streams().wait_all();
    return cudaSuccess;
  });
}

cudaError_t cudaEventCreateWithFlags(cudaEvent_t* event, unsigned flags) {
  if (event == nullptr) return report(cudaErrorInvalidValue, "cudaEventCreate: null");
  *event = streams().create_event((flags & cudaEventDisableTiming) == 0);
  return cudaSuccess;
}
cudaError_t cudaEventCreate(cudaEvent_t* event) {
  return cudaEventCreateWithFlags(event, cudaEventDefault);
}
cudaError_t cudaEventDestroy(cudaEvent_t event) {
  return streams().destroy_event(event) ? cudaSuccess : bad_handle("cudaEventDestroy", "event");
}
cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream) {
  return with_stream("cudaEventRecord", stream, [&] {
    if (!streams().is_event(event)) return bad_handle("cudaEventRecord", "event");
    streams().record(event, stream);
    return cudaSuccess;
  });
}
cudaError_t cudaEventSynchronize(cudaEvent_t event) {
  return with_event("cudaEventSynchronize", event, [&] {
    streams().forbid_captured_event("cudaEventSynchronize", event);
    streams().forbid_in_captures("cudaEventSynchronize");
    if (event->record != nullptr) streams().wait(event->record);
    return cudaSuccess;
  });
}
cudaError_t cudaEventQuery(cudaEvent_t event) {
  return with_event("cudaEventQuery", event, [&] {
    streams().forbid_captured_event("cudaEventQuery", event);
    streams().forbid_in_captures("cudaEventQuery");
    return success_or_not_ready(streams().poll_event(event));
  });
}
cudaError_t cudaEventElapsedTime(float* milliseconds, cudaEvent_t start, cudaEvent_t end) {
  return with_event("cudaEventElapsedTime", start, [&]() -> cudaError_t {
    if (!streams().is_event(end) || !start->has_timing || !end->has_timing || !start->record || !end->record)
      return report(cudaErrorInvalidResourceHandle,
                    "cudaEventElapsedTime: both events must exist, have timing and have been recorded");
    if (!start->record->is_done || !end->record->is_done) return cudaErrorNotReady;
    const std::chrono::duration<float, std::milli> elapsed = end->record->finished - start->record->finished;
    *milliseconds = elapsed.count();
    return cudaSuccess;
  });
}

}  // extern "C"
