// SPDX-License-Identifier: Apache-2.0
// Capture of one stream: what it is given is kept. A stream that would join a capture by an event is refused,
// as is all that CUDA refuses; the first misuse makes the capture invalid, as on the device.
#include <thread>
#include <utility>

#include "kernels/simt/emulator/stream.h"

namespace trireme::simt::emulator {
namespace {

[[noreturn]] void invalidate(Capture& capture, cudaError_t code, const std::string& cause) {
  if (capture.fault.empty()) capture.fault = cause;
  throw StreamError(code, cause);
}

}  // namespace

void Streams::begin_capture(cudaStream_t stream, cudaStreamCaptureMode mode) {
  const Lock held = lock();
  CUstream_st* resolved = resolve(stream);
  if (resolved == &default_)
    throw StreamError(cudaErrorStreamCaptureUnsupported, "the default stream cannot be captured");
  if (resolved->capture != nullptr)
    throw StreamError(cudaErrorIllegalState, "the stream is being captured already");
  resolved->capture =
      std::make_unique<Capture>(Capture{mode, std::this_thread::get_id(), ++captures_, {}, {}});
}

KeptOperations Streams::end_capture(cudaStream_t stream) {
  const Lock held = lock();
  CUstream_st* resolved = resolve(stream);
  if (resolved->capture == nullptr)
    throw StreamError(cudaErrorIllegalState, "the stream is not being captured");
  if (resolved->capture->mode != cudaStreamCaptureModeRelaxed &&
      resolved->capture->thread != std::this_thread::get_id())
    throw StreamError(cudaErrorStreamCaptureWrongThread, "another thread began the capture");
  const std::unique_ptr<Capture> capture = std::move(resolved->capture);
  if (!capture->fault.empty())
    throw StreamError(cudaErrorStreamCaptureInvalidated, "the capture is invalid: " + capture->fault);
  return std::move(capture->operations);
}

cudaStreamCaptureStatus Streams::capture_status(cudaStream_t stream) {
  const Lock held = lock();
  const CUstream_st* resolved = resolve(stream);
  if (resolved->capture == nullptr) return cudaStreamCaptureStatusNone;
  return resolved->capture->fault.empty() ? cudaStreamCaptureStatusActive
                                          : cudaStreamCaptureStatusInvalidated;
}

void Streams::forbid_in_captures(const char* function) {
  const Lock held = lock();
  for (const auto& stream : streams_) {
    Capture* capture = stream->capture.get();
    if (capture == nullptr || capture->mode == cudaStreamCaptureModeRelaxed) continue;
    if (capture->mode == cudaStreamCaptureModeGlobal || capture->thread == std::this_thread::get_id())
      invalidate(*capture, cudaErrorStreamCaptureUnsupported,
                 std::string(function) + " is not permitted while a stream is captured");
  }
}

void Streams::forbid_if_captured(cudaStream_t stream, const std::string& cause) {
  const Lock held = lock();
  if (CUstream_st* resolved = resolve(stream); resolved != nullptr && resolved->capture != nullptr)
    invalidate(*resolved->capture, cudaErrorStreamCaptureUnsupported, cause);
}

void Streams::forbid_captured_event(const char* function, cudaEvent_t event) {
  const Lock held = lock();
  if (event->capture == 0) return;
  const std::string cause = std::string(function) + ": the event was last recorded in a capture";
  for (const auto& stream : streams_)
    if (stream->capture != nullptr && stream->capture->id == event->capture)
      invalidate(*stream->capture, cudaErrorCapturedEvent, cause);
  throw StreamError(cudaErrorCapturedEvent, cause);
}

/// True where the stream captures.
bool Streams::keep(CUstream_st* stream, const KeptOperation& kept) {
  if (stream->capture == nullptr) return false;
  if (!stream->capture->fault.empty())
    throw StreamError(cudaErrorStreamCaptureInvalidated, "the capture is invalid: " + stream->capture->fault);
  stream->capture->operations.push_back(kept);
  return true;
}

void Streams::refuse_implicit_order(const CUstream_st* stream) {
  if (stream != &default_) return;
  for (const auto& each : streams_)
    if (each->is_blocking && each->capture != nullptr)
      invalidate(*each->capture, cudaErrorStreamCaptureImplicit,
                 "the default stream would wait for a stream that captures");
}

bool Streams::is_capturing(std::uint64_t id) const {
  for (const auto& stream : streams_)
    if (stream->capture != nullptr && stream->capture->id == id) return true;
  return false;
}

bool Streams::wait_in_capture(CUstream_st* stream, const CUevent_st& event) {
  if (stream->capture != nullptr) {
    if (event.capture == stream->capture->id) return true;  // in order anyway
    if (event.capture != 0)
      invalidate(*stream->capture, cudaErrorStreamCaptureMerge, "the event belongs to another capture");
    if (event.record == nullptr) return true;
    invalidate(*stream->capture, cudaErrorStreamCaptureIsolation,
               "the event was recorded outside the capture");
  }
  if (event.capture == 0) return false;
  if (!is_capturing(event.capture))
    throw StreamError(cudaErrorCapturedEvent, "the event was last recorded in a capture");
  throw StreamError(cudaErrorStreamCaptureUnsupported,
                    "a second stream would join the capture: the emulator captures one stream alone");
}

}  // namespace trireme::simt::emulator
