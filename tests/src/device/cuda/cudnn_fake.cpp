// SPDX-License-Identifier: Apache-2.0
#include "tests/src/device/cuda/cudnn_fake.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <functional>
#include <vector>

#include "kernels/numeric.h"
#include "kernels/simt/emulator/stream.h"
#include "tests/kernels/support/products.h"
#include "tests/src/device/cuda/cudnn_fake_types.h"

namespace trireme::test {
namespace {

constexpr std::size_t kAlignment = 256;

FakeCudnnCalls& calls() {
  static FakeCudnnCalls counted;
  return counted;
}

// ---- memory ----

template <typename T>
std::vector<double> widened_as(const void* data, std::size_t count) {
  const T* const values = static_cast<const T*>(data);
  std::vector<double> wide(count);
  std::transform(values, values + count, wide.begin(), [](T value) { return kernels::to_float(value); });
  return wide;
}
std::vector<double> widened(cudnnDataType_t type, const void* data, std::size_t count) {
  if (type == CUDNN_DATA_BFLOAT16) return widened_as<simt::BFloat16>(data, count);
  if (type == CUDNN_DATA_HALF) return widened_as<simt::Half>(data, count);
  return widened_as<float>(data, count);
}

/// An operand as the math reads it: fp32 loses 13 bits where tf32 is allowed.
std::vector<double> operands(cudnnDataType_t type, const void* data, std::size_t count,
                             const cudnnConvolutionStruct& convolution) {
  std::vector<double> values = widened(type, data, count);
  if (type == CUDNN_DATA_FLOAT && convolution.math != CUDNN_FMA_MATH)
    for (double& value : values) value = operand<simt::Tf32>(static_cast<float>(value));
  return values;
}

/// data = values + beta * data; where beta is 0 data is not read.
template <typename T>
void store_as(void* data, const std::vector<double>& values, float beta) {
  T* const to = static_cast<T*>(data);
  for (std::size_t i = 0; i < values.size(); ++i) {
    const double before = beta == 0 ? 0 : beta * static_cast<double>(kernels::to_float(to[i]));
    to[i] = kernels::from_float<T>(static_cast<float>(values[i] + before));
  }
}
void store(cudnnDataType_t type, void* data, const std::vector<double>& values, float beta) {
  if (type == CUDNN_DATA_BFLOAT16) return store_as<simt::BFloat16>(data, values, beta);
  if (type == CUDNN_DATA_HALF) return store_as<simt::Half>(data, values, beta);
  store_as<float>(data, values, beta);
}

// ---- checks ----

bool is_usable(void* workspace, std::size_t given, std::size_t needed) {
  return given >= needed && workspace != nullptr &&
         reinterpret_cast<std::uintptr_t>(workspace) % kAlignment == 0;
}

cudnnStatus_t enqueue(cudnnHandle_t handle, std::function<void()> work) {
  simt::emulator::Streams::instance().enqueue(handle->stream, std::move(work));
  return CUDNN_STATUS_SUCCESS;
}

/// What an algorithm leaves in its workspace.
void scribble(void* workspace, std::size_t bytes) {
  std::memset(workspace, 0x7F, bytes);
}

// ---- descriptors ----

template <typename Struct>
cudnnStatus_t make(Struct** made) {
  *made = new Struct;
  return CUDNN_STATUS_SUCCESS;
}
template <typename Struct>
cudnnStatus_t destroy(Struct* made) {
  delete made;
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t set_stream(cudnnHandle_t handle, cudaStream_t stream) {
  handle->stream = stream;
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t set_tensor(cudnnTensorDescriptor_t tensor, cudnnTensorFormat_t format, cudnnDataType_t type,
                         int n, int c, int h, int w) {
  if (format != CUDNN_TENSOR_NHWC || n < 1 || c < 1 || h < 1 || w < 1) return CUDNN_STATUS_BAD_PARAM;
  *tensor = {type, n, c, h, w};
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t set_filter(cudnnFilterDescriptor_t filter, cudnnDataType_t type, cudnnTensorFormat_t format,
                         int k, int c, int h, int w) {
  if (format != CUDNN_TENSOR_NHWC || k < 1 || c < 1 || h < 1 || w < 1) return CUDNN_STATUS_BAD_PARAM;
  *filter = {type, k, c, h, w};
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t set_convolution(cudnnConvolutionDescriptor_t convolution, int pad_h, int pad_w, int stride_h,
                              int stride_w, int dilation_h, int dilation_w, cudnnConvolutionMode_t mode,
                              cudnnDataType_t sums) {
  if (dilation_h != 1 || dilation_w != 1 || mode != CUDNN_CROSS_CORRELATION || sums != CUDNN_DATA_FLOAT)
    return CUDNN_STATUS_BAD_PARAM;
  *convolution = {pad_h, pad_w, stride_h, stride_w, CUDNN_DEFAULT_MATH};
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t set_math(cudnnConvolutionDescriptor_t convolution, cudnnMathType_t math) {
  convolution->math = math;
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t set_groups(cudnnConvolutionDescriptor_t /*convolution*/, int groups) {
  return groups == 1 ? CUDNN_STATUS_SUCCESS : CUDNN_STATUS_BAD_PARAM;
}

// ---- passes ----

float scale(const void* factor) {
  return *static_cast<const float*>(factor);
}

cudnnStatus_t forward(cudnnHandle_t handle, const void* alpha, const cudnnTensorDescriptor_t x_is,
                      const void* x, const cudnnFilterDescriptor_t w_is, const void* w,
                      const cudnnConvolutionDescriptor_t convolution, cudnnConvolutionFwdAlgo_t algorithm,
                      void* workspace, std::size_t bytes, const void* beta,
                      const cudnnTensorDescriptor_t y_is, void* y) {
  if (!fit(*x_is, *w_is, *convolution, *y_is) || algorithm != kForward.usable || scale(alpha) != 1 ||
      !is_usable(workspace, bytes, kForwardBytes))
    return CUDNN_STATUS_BAD_PARAM;
  ++calls().forward;
  return enqueue(handle, [=, x_is = *x_is, w_is = *w_is, y_is = *y_is, convolution = *convolution,
                          kept = scale(beta)] {
    std::vector<double> made(y_is.count());
    reference::conv2d_forward<double>(made.data(), operands(x_is.type, x, x_is.count(), convolution).data(),
                                      operands(w_is.type, w, w_is.count(), convolution).data(), nullptr,
                                      shape_of(x_is, w_is, convolution));
    scribble(workspace, bytes);
    store(y_is.type, y, made, kept);
  });
}

cudnnStatus_t backward_data(cudnnHandle_t handle, const void* alpha, const cudnnFilterDescriptor_t w_is,
                            const void* w, const cudnnTensorDescriptor_t dy_is, const void* dy,
                            const cudnnConvolutionDescriptor_t convolution,
                            cudnnConvolutionBwdDataAlgo_t algorithm, void* workspace, std::size_t bytes,
                            const void* beta, const cudnnTensorDescriptor_t dx_is, void* dx) {
  if (!fit(*dx_is, *w_is, *convolution, *dy_is) || algorithm != kData.usable || scale(alpha) != 1 ||
      !is_usable(workspace, bytes, kDataBytes))
    return CUDNN_STATUS_BAD_PARAM;
  ++calls().backward_data;
  return enqueue(handle, [=, w_is = *w_is, dy_is = *dy_is, dx_is = *dx_is, convolution = *convolution,
                          kept = scale(beta)] {
    std::vector<double> made(dx_is.count());
    reference::conv2d_backward_data<double>(
        made.data(), operands(dy_is.type, dy, dy_is.count(), convolution).data(),
        operands(w_is.type, w, w_is.count(), convolution).data(), shape_of(dx_is, w_is, convolution));
    scribble(workspace, bytes);
    store(dx_is.type, dx, made, kept);
  });
}

cudnnStatus_t backward_filter(cudnnHandle_t handle, const void* alpha, const cudnnTensorDescriptor_t x_is,
                              const void* x, const cudnnTensorDescriptor_t dy_is, const void* dy,
                              const cudnnConvolutionDescriptor_t convolution,
                              cudnnConvolutionBwdFilterAlgo_t algorithm, void* workspace, std::size_t bytes,
                              const void* beta, const cudnnFilterDescriptor_t dw_is, void* dw) {
  if (!fit(*x_is, *dw_is, *convolution, *dy_is) || algorithm != kFilter.usable || scale(alpha) != 1 ||
      !is_usable(workspace, bytes, kFilterBytes))
    return CUDNN_STATUS_BAD_PARAM;
  ++calls().backward_filter;
  return enqueue(handle, [=, x_is = *x_is, dy_is = *dy_is, dw_is = *dw_is, convolution = *convolution,
                          kept = scale(beta)] {
    std::vector<double> made(dw_is.count());
    reference::conv2d_backward_weights<double>(
        made.data(), nullptr, operands(x_is.type, x, x_is.count(), convolution).data(),
        operands(dy_is.type, dy, dy_is.count(), convolution).data(), shape_of(x_is, dw_is, convolution));
    scribble(workspace, bytes);
    store(dw_is.type, dw, made, kept);
  });
}

cudnnStatus_t backward_bias(cudnnHandle_t handle, const void* alpha, const cudnnTensorDescriptor_t dy_is,
                            const void* dy, const void* beta, const cudnnTensorDescriptor_t db_is, void* db) {
  if (db_is->count() != static_cast<std::size_t>(dy_is->c) || db_is->type != dy_is->type || scale(alpha) != 1)
    return CUDNN_STATUS_BAD_PARAM;
  ++calls().backward_bias;
  return enqueue(handle, [=, dy_is = *dy_is, db_is = *db_is, kept = scale(beta)] {
    const std::vector<double> values = widened(dy_is.type, dy, dy_is.count());
    std::vector<double> sums(db_is.count());
    for (std::size_t i = 0; i < values.size(); ++i) sums[i % sums.size()] += values[i];
    store(db_is.type, db, sums, kept);
  });
}

cudnnStatus_t add_tensor(cudnnHandle_t handle, const void* alpha, const cudnnTensorDescriptor_t a_is,
                         const void* a, const void* beta, const cudnnTensorDescriptor_t c_is, void* c) {
  if (a_is->count() != static_cast<std::size_t>(c_is->c) || a_is->type != c_is->type || scale(alpha) != 1)
    return CUDNN_STATUS_BAD_PARAM;
  ++calls().add_tensor;
  return enqueue(handle, [=, a_is = *a_is, c_is = *c_is, kept = scale(beta)] {
    const std::vector<double> row = widened(a_is.type, a, a_is.count());
    std::vector<double> added(c_is.count());
    for (std::size_t i = 0; i < added.size(); ++i) added[i] = row[i % row.size()];
    store(c_is.type, c, added, kept);
  });
}

CudnnApi make_table() {
  CudnnApi api;
  api.get_version = []() -> std::size_t { return CUDNN_VERSION; };
  api.get_error_string = [](cudnnStatus_t) -> const char* { return "refused by the fake"; };
  api.create = make<cudnnContext>;
  api.destroy = destroy<cudnnContext>;
  api.set_stream = set_stream;
  api.create_tensor_descriptor = make<cudnnTensorStruct>;
  api.set_tensor_4d_descriptor = set_tensor;
  api.destroy_tensor_descriptor = destroy<cudnnTensorStruct>;
  api.create_filter_descriptor = make<cudnnFilterStruct>;
  api.set_filter_4d_descriptor = set_filter;
  api.destroy_filter_descriptor = destroy<cudnnFilterStruct>;
  api.create_convolution_descriptor = make<cudnnConvolutionStruct>;
  api.set_convolution_2d_descriptor = set_convolution;
  api.set_convolution_math_type = set_math;
  api.set_convolution_group_count = set_groups;
  api.destroy_convolution_descriptor = destroy<cudnnConvolutionStruct>;
  fill_algorithms(api);
  api.convolution_forward = forward;
  api.convolution_backward_data = backward_data;
  api.convolution_backward_filter = backward_filter;
  api.convolution_backward_bias = backward_bias;
  api.add_tensor = add_tensor;
  return api;
}

}  // namespace

const CudnnApi& fake_cudnn() {
  static const CudnnApi api = make_table();
  return api;
}

const CudnnApi& fake_cudnn_of_random_gradients() {
  static const CudnnApi api = [] {
    CudnnApi table = make_table();
    fill_random_gradients(table);
    return table;
  }();
  return api;
}

const FakeCudnnCalls& fake_cudnn_calls() {
  return calls();
}

}  // namespace trireme::test
