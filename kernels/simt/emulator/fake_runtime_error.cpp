// SPDX-License-Identifier: Apache-2.0
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <utility>

#include "kernels/simt/emulator/fake_runtime.h"
#include "kernels/simt/emulator/stream.h"

namespace trireme::simt::emulator {
namespace {

struct LastError {
  cudaError_t code = cudaSuccess;
  cudaError_t described = cudaSuccess;
  std::string cause;
};

LastError& last_error() {
  thread_local LastError error;
  return error;
}

/// A failure that nobody has been told of. At the end of the process it is printed and becomes the exit
/// status.
class KeptFailure {
 public:
  ~KeptFailure() {
    if (cause_.empty()) return;
    std::fprintf(stderr, "emulator: a failure was never asked for: %s\n", cause_.c_str());
    std::fflush(nullptr);
    std::_Exit(1);
  }
  void keep(const std::string& cause) {
    const std::lock_guard lock(mutex_);
    if (cause_.empty()) cause_ = cause;
  }
  std::string take() {
    const std::lock_guard lock(mutex_);
    return std::exchange(cause_, {});
  }

 private:
  std::mutex mutex_;
  std::string cause_;
};
KeptFailure kept_failure;

struct ErrorName {
  cudaError_t error;
  const char* name;
};
constexpr ErrorName kErrorNames[] = {
    {cudaSuccess, "cudaSuccess"},
    {cudaErrorInvalidValue, "cudaErrorInvalidValue"},
    {cudaErrorMemoryAllocation, "cudaErrorMemoryAllocation"},
    {cudaErrorInsufficientDriver, "cudaErrorInsufficientDriver"},
    {cudaErrorNoDevice, "cudaErrorNoDevice"},
    {cudaErrorInvalidDevice, "cudaErrorInvalidDevice"},
    {cudaErrorInvalidResourceHandle, "cudaErrorInvalidResourceHandle"},
    {cudaErrorIllegalState, "cudaErrorIllegalState"},
    {cudaErrorNotReady, "cudaErrorNotReady"},
    {cudaErrorHostMemoryAlreadyRegistered, "cudaErrorHostMemoryAlreadyRegistered"},
    {cudaErrorHostMemoryNotRegistered, "cudaErrorHostMemoryNotRegistered"},
    {cudaErrorLaunchFailure, "cudaErrorLaunchFailure"},
    {cudaErrorNotPermitted, "cudaErrorNotPermitted"},
    {cudaErrorNotSupported, "cudaErrorNotSupported"},
    {cudaErrorSystemNotReady, "cudaErrorSystemNotReady"},
    {cudaErrorSystemDriverMismatch, "cudaErrorSystemDriverMismatch"},
    {cudaErrorStreamCaptureUnsupported, "cudaErrorStreamCaptureUnsupported"},
    {cudaErrorStreamCaptureInvalidated, "cudaErrorStreamCaptureInvalidated"},
    {cudaErrorStreamCaptureMerge, "cudaErrorStreamCaptureMerge"},
    {cudaErrorStreamCaptureIsolation, "cudaErrorStreamCaptureIsolation"},
    {cudaErrorStreamCaptureImplicit, "cudaErrorStreamCaptureImplicit"},
    {cudaErrorCapturedEvent, "cudaErrorCapturedEvent"},
    {cudaErrorStreamCaptureWrongThread, "cudaErrorStreamCaptureWrongThread"},
};

const char* name_of(cudaError_t error) {
  for (const ErrorName& each : kErrorNames)
    if (each.error == error) return each.name;
  return "unrecognized error code";
}

}  // namespace

cudaError_t report(cudaError_t error, std::string cause) {
  last_error() = {error, error, std::move(cause)};
  return error;
}

cudaError_t guarded(const char* function, const std::function<cudaError_t()>& work) {
  try {
    const cudaError_t result = work();
    const std::string kept = kept_failure.take();
    return kept.empty() ? result : report(cudaErrorLaunchFailure, kept);
  } catch (const StreamError& error) {
    return report(error.code(), std::string(function) + ": " + error.what());
  } catch (const std::exception& error) {
    return report(cudaErrorLaunchFailure, std::string(function) + " waited for: " + error.what());
  }
}

cudaError_t guarded_for_later(const char* function, const std::function<cudaError_t()>& work) {
  try {
    return work();
  } catch (const StreamError& error) {
    return report(error.code(), std::string(function) + ": " + error.what());
  } catch (const std::exception& error) {
    const std::string cause = std::string(function) + " waited for: " + error.what();
    kept_failure.keep(cause);
    return report(cudaErrorLaunchFailure, cause);
  }
}

}  // namespace trireme::simt::emulator

using namespace trireme::simt::emulator;

extern "C" {

cudaError_t cudaGetLastError() {
  return std::exchange(last_error().code, cudaSuccess);
}

cudaError_t cudaPeekAtLastError() {
  return last_error().code;
}

const char* cudaGetErrorName(cudaError_t error) {
  return name_of(error);
}

const char* cudaGetErrorString(cudaError_t error) {
  if (error == cudaSuccess) return "no error";
  const LastError& last = last_error();
  return last.described == error && !last.cause.empty() ? last.cause.c_str() : name_of(error);
}

}  // extern "C"
