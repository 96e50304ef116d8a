// SPDX-License-Identifier: Apache-2.0
// What becomes of a finished tile: accumulators are handed over through shared memory, so that a thread has
// 16 bytes of neighbouring columns, always the same ones, in every kGroups-th row.
#pragma once

#include "kernels/gemm/main_loop.cuh"

namespace trireme::kernels {

/// Writes the accumulators to `shared`, fp32 with rows of Tile::kStagedPitch. Barriers before and after.
template <typename Tile>
__device__ __forceinline__ void stage_tile(float* staged, const Accumulators<Tile>& sums) {
  const int row = Tile::warp_row() + simt::lane_id() / 4;
  const int column = Tile::warp_column() + simt::lane_id() % 4 * 2;
  __syncthreads();
  SIMT_UNROLL
  for (int i = 0; i < 2 * Tile::kMmaRows; ++i) SIMT_UNROLL
  for (int j = 0; j < Tile::kMmaColumns; ++j) {
    float* to = staged + (row + 8 * i) * Tile::kStagedPitch + column + 8 * j;
    *reinterpret_cast<float2*>(to) = {sums[i / 2][j][i % 2 * 2], sums[i / 2][j][i % 2 * 2 + 1]};
  }
  __syncthreads();
}

/// What is done to a sum before it is rounded and stored.
template <typename T>
struct OutputParameters {
  T* out;              ///< rows of `pitch`
  const T* addend;     ///< as out, or null
  const float* bias;   ///< [columns], or null
  float* statistics;   ///< [tiles of rows][2][pitch], or null
  int columns, pitch;  ///< columns from `columns` to `pitch` become zero
  bool relu;
  /// As out, or null: what a ReLU gave. Where it is not above zero the result is zero, which makes a gradient
  /// that of what the ReLU got.
  const T* relu_output = nullptr;

  template <typename Visit>
  __host__ __device__ void visit_pointers(Visit visit) const {
    visit(out);
    visit(relu_output);
    visit(addend);
    visit(bias);
    visit(statistics);
  }
};

/// Count, mean and sum of squared deviations of a thread's values of one column. The sums are about the first
/// value: all values lie near each other or the deviations are of the size of the values anyway, so little
/// cancels.
struct ColumnMoments {
  float first = 0, sum = 0, squares = 0;

  __device__ void add(float value, bool is_first) {
    if (is_first) first = value;
    const float difference = value - first;
    sum += difference;
    squares = fmaf(difference, difference, squares);
  }
  __device__ float mean(float count) const { return count > 0 ? first + sum / count : 0.0F; }
  __device__ float m2(float count) const {
    return count > 0 ? fmaxf(squares - sum * (sum / count), 0.0F) : 0.0F;
  }
};

template <typename T, typename Tile>
struct OutputTile {
  static constexpr int kVector = kVectorSize<T>;
  static constexpr int kColumnVectors = Tile::kN / kVector;
  static constexpr int kGroups = Tile::kThreads / kColumnVectors;
  static_assert(Tile::kThreads % kColumnVectors == 0 && Tile::kM % kGroups == 0, "every thread stores alike");

  /// Columns first_column ... of the tile's first `rows` rows; `row_place(row)` is the row of `out` for a row
  /// of the tile. `shared` holds Tile::kSharedBytes.
  template <typename RowPlace>
  static __device__ __forceinline__ void store(const OutputParameters<T>& p, const Accumulators<Tile>& sums,
                                               unsigned char* shared, int rows, int first_column,
                                               int row_tile, const RowPlace& row_place) {
    float* staged = reinterpret_cast<float*>(shared);
    stage_tile<Tile>(staged, sums);
    const int vector = static_cast<int>(threadIdx.x) % kColumnVectors;
    const int group = static_cast<int>(threadIdx.x) / kColumnVectors;
    const int column = first_column + vector * kVector;
    ColumnMoments moments[kVector];
    if (column < p.pitch) {
      float bias[kVector];
      SIMT_UNROLL
      for (int j = 0; j < kVector; ++j)
        bias[j] = p.bias != nullptr && column + j < p.columns ? simt::load(p.bias + column + j) : 0.0F;
      SIMT_NO_UNROLL
      for (int row = group; row < rows; row += kGroups) {
        const std::int64_t place = row_place(row) * p.pitch + column;
        const simt::Vector16<T> result =
            finish(p, staged + row * Tile::kStagedPitch + vector * kVector, bias, column, place);
        simt::store16(p.out + place, result);
        if (p.statistics != nullptr) {
          SIMT_UNROLL
          for (int j = 0; j < kVector; ++j) moments[j].add(to_float(result.values[j]), row == group);
        }
      }
    }
    if (p.statistics != nullptr) store_statistics(p, moments, staged, rows, first_column, row_tile);
  }

 private:
  static __device__ __forceinline__ simt::Vector16<T> finish(const OutputParameters<T>& p, const float* sums,
                                                             const float (&bias)[kVector], int column,
                                                             std::int64_t place) {
    simt::Vector16<T> addend{};
    if (p.addend != nullptr) addend = simt::load16(p.addend + place);
    simt::Vector16<T> relu_output{};
    if (p.relu_output != nullptr) relu_output = simt::load16(p.relu_output + place);
    simt::Vector16<T> result;
    SIMT_UNROLL
    for (int j = 0; j < kVector; ++j) {
      float value = sums[j] + bias[j];
      if (p.addend != nullptr) value += to_float(addend.values[j]);
      if (p.relu && value < 0) value = 0;
      if (p.relu_output != nullptr && !(to_float(relu_output.values[j]) > 0)) value = 0;
      // Not left to the zero weights: infinity times zero is not zero.
      result.values[j] = from_float<T>(column + j < p.columns ? value : 0.0F);
    }
    return result;
  }

  /// Rows of the group among `rows`.
  static __device__ float group_count(int group, int rows) {
    return static_cast<float>(group < rows ? (rows - group + kGroups - 1) / kGroups : 0);
  }

  // Chan's merge of (n, mean, M2) with (m, mean', M2'), with d = mean' - mean:
  //   mean + d m / (n + m),   M2 + M2' + d^2 n m / (n + m); here over the groups in order.
  static __device__ __forceinline__ void store_statistics(const OutputParameters<T>& p,
                                                          const ColumnMoments (&moments)[kVector],
                                                          float* shared, int rows, int first_column,
                                                          int row_tile) {
    float* means = shared;
    float* m2s = shared + kGroups * Tile::kN;
    static_assert(2 * kGroups * Tile::kN * sizeof(float) <= Tile::kSharedBytes,
                  "both fit over the staged tile");
    const int vector = static_cast<int>(threadIdx.x) % kColumnVectors;
    const int own_group = static_cast<int>(threadIdx.x) / kColumnVectors;
    const float own_count = group_count(own_group, rows);
    __syncthreads();
    SIMT_UNROLL
    for (int j = 0; j < kVector; ++j) {
      means[own_group * Tile::kN + vector * kVector + j] = moments[j].mean(own_count);
      m2s[own_group * Tile::kN + vector * kVector + j] = moments[j].m2(own_count);
    }
    __syncthreads();
    for (int column = static_cast<int>(threadIdx.x); column < Tile::kN; column += Tile::kThreads) {
      if (first_column + column >= p.pitch) continue;
      float count = 0, mean = 0, m2 = 0;
      for (int group = 0; group < kGroups; ++group) {
        const float more = group_count(group, rows);
        if (more == 0) break;
        const float difference = means[group * Tile::kN + column] - mean;
        const float share = more / (count + more);
        mean = fmaf(difference, share, mean);
        m2 += m2s[group * Tile::kN + column] + difference * difference * count * share;
        count += more;
      }
      float* to = p.statistics + static_cast<std::int64_t>(row_tile) * 2 * p.pitch + first_column + column;
      simt::store(to, mean);
      simt::store(to + p.pitch, m2);
    }
  }
};

}  // namespace trireme::kernels
