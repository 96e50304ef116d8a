// SPDX-License-Identifier: Apache-2.0
// The gradient of a bias. First a slab of rows is summed by each block: a thread has 16 bytes of columns and
// every 32nd row, then the 32 rows of threads are added in order. Then the slabs are added in order.
#include "kernels/conv2d/backward_weights.h"

namespace trireme::kernels {
namespace {

constexpr int kVectorsOfBlock = 8;
constexpr int kRowsOfBlock = 32;
constexpr int kThreads = kVectorsOfBlock * kRowsOfBlock;
constexpr std::int64_t kMostSlabs = 512;

std::int64_t slab_rows(std::int64_t rows) {
  return round_up<std::int64_t>(divide_up(rows > 0 ? rows : 1, kMostSlabs), 4 * kRowsOfBlock);
}
std::int64_t slab_count(std::int64_t rows) {
  return divide_up(rows, slab_rows(rows));
}

template <typename T>
__global__ void __launch_bounds__(kThreads)
    column_sums_slab_kernel(float* sums, const T* data, std::int64_t rows, int pitch, std::int64_t slab) {
  constexpr int kVector = kVectorSize<T>;
  SIMT_SHARED(float, shared, kRowsOfBlock* kVectorsOfBlock* kVector);
  const int vector = static_cast<int>(threadIdx.x) % kVectorsOfBlock;
  const int own_row = static_cast<int>(threadIdx.x) / kVectorsOfBlock;
  const int first_column = static_cast<int>(blockIdx.x) * kVectorsOfBlock * kVector;
  const int column = first_column + vector * kVector;
  const std::int64_t begin = static_cast<std::int64_t>(blockIdx.y) * slab;
  const std::int64_t end = begin + slab < rows ? begin + slab : rows;
  float own[kVector] = {};
  if (column < pitch)
    for (std::int64_t row = begin + own_row; row < end; row += kRowsOfBlock) {
      const simt::Vector16<T> values = simt::load16(data + row * pitch + column);
      SIMT_UNROLL
      for (int j = 0; j < kVector; ++j) own[j] += to_float(values.values[j]);
    }
  SIMT_UNROLL
  for (int j = 0; j < kVector; ++j) shared[(own_row * kVectorsOfBlock + vector) * kVector + j] = own[j];
  __syncthreads();
  const int place = static_cast<int>(threadIdx.x);
  if (place >= kVectorsOfBlock * kVector || first_column + place >= pitch) return;
  float sum = 0;
  for (int row = 0; row < kRowsOfBlock; ++row) sum += shared[row * kVectorsOfBlock * kVector + place];
  simt::store(sums + static_cast<std::int64_t>(blockIdx.y) * pitch + first_column + place, sum);
}

__global__ void __launch_bounds__(kThreads)
    column_sums_total_kernel(float* to, const float* sums, int slabs, int columns, int pitch,
                             bool accumulate) {
  const int column = static_cast<int>(blockIdx.x) * kThreads + static_cast<int>(threadIdx.x);
  if (column >= columns) return;
  float sum = 0;
  for (int slab = 0; slab < slabs; ++slab)
    sum += simt::load(sums + static_cast<std::int64_t>(slab) * pitch + column);
  simt::store(to + column, accumulate ? simt::load(to + column) + sum : sum);
}

}  // namespace

std::size_t column_sums_workspace_bytes(std::int64_t rows, std::int64_t pitch) {
  return static_cast<std::size_t>(slab_count(rows) * pitch) * sizeof(float);
}

template <typename T>
void column_sums(float* to, const T* data, const ColumnSumsShape& shape, void* workspace, bool accumulate,
                 cudaStream_t stream) {
  auto* sums = static_cast<float*>(workspace);
  const auto slabs = static_cast<int>(slab_count(shape.rows));
  const auto pitch = static_cast<int>(shape.pitch), columns = static_cast<int>(shape.columns);
  if (slabs > 0) {
    const dim3 grid(static_cast<unsigned>(divide_up(pitch, kVectorsOfBlock * kVectorSize<T>)),
                    static_cast<unsigned>(slabs));
    SIMT_LAUNCH(column_sums_slab_kernel<T>, grid, dim3(kThreads), 0, stream, sums, data, shape.rows, pitch,
                slab_rows(shape.rows));
  }
  SIMT_LAUNCH(column_sums_total_kernel, dim3(static_cast<unsigned>(divide_up(columns, kThreads))),
              dim3(kThreads), 0, stream, to, static_cast<const float*>(sums), slabs, columns, pitch,
              accumulate);
}

#define INSTANTIATE(T) \
  template void column_sums<T>(float*, const T*, const ColumnSumsShape&, void*, bool, cudaStream_t)
INSTANTIATE(BFloat16);
INSTANTIATE(Half);
INSTANTIATE(Tf32);
INSTANTIATE(float);
#undef INSTANTIATE

}  // namespace trireme::kernels
