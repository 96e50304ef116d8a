// SPDX-License-Identifier: Apache-2.0
#include "kernels/linear/linear.h"

#include "kernels/conv2d/conv2d.h"

namespace trireme::kernels {
namespace {

Conv2dShape one_pixel(const LinearShape& s) {
  return {.batch = s.batch,
          .in_h = 1,
          .in_w = 1,
          .in_channels = s.in,
          .in_pitch = s.in_pitch,
          .out_channels = s.out,
          .out_pitch = s.out_pitch,
          .kernel_h = 1,
          .kernel_w = 1,
          .stride_h = 1,
          .stride_w = 1,
          .pad_h = 0,
          .pad_w = 0};
}

}  // namespace

template <typename T>
std::int64_t linear_packed_weights_size(const LinearShape& shape) {
  return conv2d_packed_weights_size<T>(one_pixel(shape));
}

template <typename T>
void linear_pack_weights(T* packed, const float* weights, const LinearShape& shape, cudaStream_t stream) {
  conv2d_pack_weights(packed, weights, one_pixel(shape), stream);
}

template <typename T>
void linear_forward(const LinearForward<T>& pass, const LinearShape& shape, cudaStream_t stream,
                    TileShape tile) {
  Conv2dForward<T> convolution{};
  convolution.y = pass.y;
  convolution.x = pass.x;
  convolution.weights = pass.weights;
  convolution.bias = pass.bias;
  convolution.relu = pass.relu;
  conv2d_forward(convolution, one_pixel(shape), stream, tile);
}

template <typename T>
void linear_backward_data(const LinearBackwardData<T>& pass, const LinearShape& shape, cudaStream_t stream,
                          TileShape tile) {
  conv2d_backward_data<T>({pass.dx, pass.dy, pass.weights, pass.addend, pass.relu_output}, one_pixel(shape),
                          stream, tile);
}

template <typename T>
std::size_t linear_backward_weights_workspace_bytes(const LinearShape& shape, int multiprocessors,
                                                    TileShape tile) {
  return conv2d_backward_weights_workspace_bytes<T>(one_pixel(shape), multiprocessors, tile);
}

template <typename T>
void linear_backward_weights(const LinearBackwardWeights<T>& pass, const LinearShape& shape,
                             int multiprocessors, cudaStream_t stream, TileShape tile) {
  conv2d_backward_weights<T>({pass.dweights, pass.dbias, pass.x, pass.dy, pass.workspace, pass.accumulate},
                             one_pixel(shape), multiprocessors, stream, tile);
}

#define INSTANTIATE(T)                                                                                   \
  template std::int64_t linear_packed_weights_size<T>(const LinearShape&);                               \
  template void linear_pack_weights<T>(T*, const float*, const LinearShape&, cudaStream_t);              \
  template void linear_forward<T>(const LinearForward<T>&, const LinearShape&, cudaStream_t, TileShape); \
  template void linear_backward_data<T>(const LinearBackwardData<T>&, const LinearShape&, cudaStream_t,  \
                                        TileShape);                                                      \
  template std::size_t linear_backward_weights_workspace_bytes<T>(const LinearShape&, int, TileShape);   \
  template void linear_backward_weights<T>(const LinearBackwardWeights<T>&, const LinearShape&, int,     \
                                           cudaStream_t, TileShape)
INSTANTIATE(BFloat16);
INSTANTIATE(Half);
INSTANTIATE(Tf32);
INSTANTIATE(float);
#undef INSTANTIATE

}  // namespace trireme::kernels
