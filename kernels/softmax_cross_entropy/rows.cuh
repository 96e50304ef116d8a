// SPDX-License-Identifier: Apache-2.0
// Who works on a row of logits together (a warp or a block), and where the row is kept between its passes. A
// thread of a team reads the same vectors in every pass, so rows in shared memory need no barrier.
#pragma once

#include "kernels/team_reduce.cuh"
#include "kernels/vectors.cuh"

namespace trireme::kernels {

struct WarpTeam {
  static constexpr int kThreads = simt::kWarpSize;

  __device__ __forceinline__ int rank() const { return simt::lane_id(); }
  template <typename Combine, typename T>
  __device__ __forceinline__ T reduce(T value, T /*identity*/) const {
    return reduce_warp<Combine>(value);
  }
};

struct BlockTeam {
  static constexpr int kThreads = 256;

  float* floats;  ///< shared, one for each warp
  int* integers;

  __device__ __forceinline__ int rank() const { return static_cast<int>(threadIdx.x); }
  template <typename Combine>
  __device__ __forceinline__ float reduce(float value, float identity) const {
    return reduce_block<Combine>(value, identity, floats);
  }
  template <typename Combine>
  __device__ __forceinline__ int reduce(int value, int identity) const {
    return reduce_block<Combine>(value, identity, integers);
  }
};

/// A row of at most kVectors 16-byte vectors a thread, kept in registers. Rows have `keep` (once, first) and
/// `visit`, which calls body(index of the vector's first element, its elements as float) for each vector of
/// this thread.
template <typename T, int kVectors>
class RegisterRow {
 public:
  static constexpr int kSize = kVectorSize<T>;

  template <typename Team>
  __device__ __forceinline__ void keep(const Team& team, const T* row, int vectors) {
    vectors_ = vectors;
    SIMT_UNROLL
    for (int k = 0; k < kVectors; ++k) {
      const int vector = team.rank() + k * Team::kThreads;
      if (vector >= vectors) continue;
      unpack<T>(values_[k], simt::load16(row + vector * kSize));
    }
  }

  template <typename Team, typename Body>
  __device__ __forceinline__ void visit(const Team& team, Body body) const {
    SIMT_UNROLL
    for (int k = 0; k < kVectors; ++k) {
      const int vector = team.rank() + k * Team::kThreads;
      if (vector < vectors_) body(vector * kSize, values_[k]);
    }
  }

 private:
  int vectors_;
  float values_[kVectors][kSize];
};

/// A row kept as it is in shared memory (kCopies), or read again from global memory in every pass.
template <typename T, bool kCopies>
class StoredRow {
 public:
  static constexpr int kSize = kVectorSize<T>;

  __device__ __forceinline__ explicit StoredRow(unsigned char* shared)
      : shared_(reinterpret_cast<simt::Vector16<T>*>(shared)) {}

  template <typename Team>
  __device__ __forceinline__ void keep(const Team& team, const T* row, int vectors) {
    row_ = row;
    vectors_ = vectors;
    if constexpr (kCopies)
      for (int vector = team.rank(); vector < vectors; vector += Team::kThreads)
        shared_[vector] = simt::load16(row + vector * kSize);
  }

  template <typename Team, typename Body>
  __device__ __forceinline__ void visit(const Team& team, Body body) const {
    for (int vector = team.rank(); vector < vectors_; vector += Team::kThreads) {
      float values[kSize];
      unpack<T>(values, kCopies ? shared_[vector] : simt::load16(row_ + vector * kSize));
      body(vector * kSize, values);
    }
  }

 private:
  simt::Vector16<T>* shared_;
  const T* row_;
  int vectors_;
};

}  // namespace trireme::kernels
