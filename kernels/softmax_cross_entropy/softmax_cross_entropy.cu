// SPDX-License-Identifier: Apache-2.0
// One row takes three passes over values that are read from memory once: the largest logit and the label's
// rank; the sums of exponentials and, with smoothing, of the shifted logits; the gradient. With m the largest
// logit,
//   log softmax(z)_j = (z_j - m) - log S,  S = sum_k exp(z_k - m)
//   loss = W log S - (1-s) w_l (z_l - m) - s/C sum_j w_j (z_j - m)
// and since d log softmax(z)_k / dz_j = [k = j] - softmax(z)_j,
//   dz_j = -sum_k w_k t_k ([k = j] - softmax(z)_j) = W softmax(z)_j - w_j t_j.
#include "kernels/softmax_cross_entropy/softmax_cross_entropy.h"

#include <cmath>
#include <limits>

#include "kernels/softmax_cross_entropy/loss_record.h"
#include "kernels/softmax_cross_entropy/rows.cuh"
#include "kernels/vectors.cuh"

namespace trireme::kernels {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

template <typename T>
struct LossArguments {
  SoftmaxCrossEntropyBuffers<T> buffers;
  std::int32_t* ranks;
  std::int64_t batch;
  int classes, pitch;
  float smoothing;

  template <typename Visit>
  __host__ __device__ void visit_pointers(Visit visit) const {
    visit(buffers.logits);
    visit(buffers.labels);
    visit(buffers.class_weights);
    visit(buffers.step);
    visit(buffers.losses);
    visit(buffers.gradient);
    visit(ranks);
  }
};

/// What the third pass needs of a row.
struct RowResult {
  float largest, inverse_sum, target_weight, scale;
};

/// The weights of a vector of classes; all one without weights.
template <typename T, int kSize>
__device__ __forceinline__ void weights_of(const LossArguments<T>& a, int first, float (&values)[kSize]) {
  if (a.buffers.class_weights != nullptr)
    return load_channels(values, a.buffers.class_weights, first, a.classes);
  SIMT_UNROLL
  for (int i = 0; i < kSize; ++i) values[i] = 1.0F;
}

template <typename T, typename Team>
__device__ __forceinline__ void write_padding_row(const LossArguments<T>& a, std::int64_t n,
                                                  const Team& team) {
  if (team.rank() == 0) {
    simt::store(a.buffers.losses + n, 0.0F);
    simt::store(a.ranks + n, kNeverCorrect);
  }
  if (a.buffers.gradient == nullptr) return;
  simt::Vector16<T> zeros;
  SIMT_UNROLL
  for (int i = 0; i < kVectorSize<T>; ++i) zeros[i] = from_float<T>(0.0F);
  for (int c = team.rank() * kVectorSize<T>; c < a.pitch; c += Team::kThreads * kVectorSize<T>)
    simt::store16(a.buffers.gradient + n * a.pitch + c, zeros);
}

template <typename T, typename Team, typename Row>
__device__ __forceinline__ void write_gradient(const LossArguments<T>& a, std::int64_t n, int label,
                                               const Team& team, const Row& row, const RowResult& result) {
  constexpr int kSize = kVectorSize<T>;
  const float everywhere = a.smoothing / static_cast<float>(a.classes), at_label = 1.0F - a.smoothing;
  row.visit(team, [&](int first, const float(&z)[kSize]) {
    float weights[kSize];
    weights_of(a, first, weights);
    simt::Vector16<T> gradient;
    SIMT_UNROLL
    for (int i = 0; i < kSize; ++i) {
      const int j = first + i;
      const float softmax = expf(z[i] - result.largest) * result.inverse_sum;
      const float target = everywhere + (j == label ? at_label : 0.0F);
      const float difference = result.target_weight * softmax - weights[i] * target;
      gradient[i] = from_float<T>(j < a.classes ? result.scale * difference : 0.0F);
    }
    simt::store16(a.buffers.gradient + n * a.pitch + first, gradient);
  });
}

struct Label {
  int index;
  bool is_class;
  float logit;  ///< NaN where the label is no class, which makes loss and gradient NaN
  float weight;
};

template <typename T>
__device__ __forceinline__ Label load_label(const LossArguments<T>& a, std::int64_t n) {
  const int index = simt::load(a.buffers.labels + n);
  if (index < 0 || index >= a.classes) return {index, false, kNan, 1.0F};
  const float* const weights = a.buffers.class_weights;
  return {index, true, to_float(simt::load(a.buffers.logits + n * a.pitch + index)),
          weights == nullptr ? 1.0F : simt::load(weights + index)};
}

/// The largest logit, and how many classes are better than the label.
template <typename T, typename Team, typename Row>
__device__ __forceinline__ void rank_row(const LossArguments<T>& a, const Label& label, const Team& team,
                                         const Row& row, float& largest, int& better) {
  largest = -kInfinity;
  better = 0;
  row.visit(team, [&](int first, const float(&z)[kVectorSize<T>]) {
    SIMT_UNROLL
    for (int i = 0; i < kVectorSize<T>; ++i) {
      if (first + i >= a.classes) continue;
      largest = LargerOrNan()(largest, z[i]);
      better += z[i] > label.logit || (z[i] == label.logit && first + i < label.index) ? 1 : 0;
    }
  });
  largest = team.template reduce<LargerOrNan>(largest, -kInfinity);
  better = team.template reduce<AddValues>(better, 0);
}

/// S, and with smoothing sum_j w_j (z_j - m) and sum_j w_j.
struct RowSums {
  float exponentials = 0, shifted = 0, weights = 0;
};

template <typename T, typename Team, typename Row>
__device__ __forceinline__ RowSums sum_row(const LossArguments<T>& a, float largest, const Team& team,
                                           const Row& row) {
  RowSums sums;
  const bool smooths = a.smoothing > 0;
  row.visit(team, [&](int first, const float(&z)[kVectorSize<T>]) {
    float weights[kVectorSize<T>];
    if (smooths) weights_of(a, first, weights);
    SIMT_UNROLL
    for (int i = 0; i < kVectorSize<T>; ++i) {
      if (first + i >= a.classes) continue;
      sums.exponentials += expf(z[i] - largest);
      if (!smooths) continue;
      sums.shifted += weights[i] * (z[i] - largest);
      sums.weights += weights[i];
    }
  });
  sums.exponentials = team.template reduce<AddValues>(sums.exponentials, 0.0F);
  if (!smooths) return sums;
  sums.shifted = team.template reduce<AddValues>(sums.shifted, 0.0F);
  sums.weights = team.template reduce<AddValues>(sums.weights, 0.0F);
  return sums;
}

template <typename T, typename Team, typename Row>
__device__ __forceinline__ void process_row(const LossArguments<T>& a, std::int64_t n, const Team& team,
                                            Row& row) {
  if (n >= simt::load(&a.buffers.step->valid_samples)) return write_padding_row(a, n, team);
  const Label label = load_label(a, n);
  row.keep(team, a.buffers.logits + n * a.pitch, a.pitch / kVectorSize<T>);
  float largest;
  int better;
  rank_row(a, label, team, row, largest, better);
  const RowSums sums = sum_row(a, largest, team, row);

  const float everywhere = a.smoothing / static_cast<float>(a.classes), at_label = 1.0F - a.smoothing;
  const bool has_weights = a.buffers.class_weights != nullptr;
  const float target_weight = has_weights ? at_label * label.weight + everywhere * sums.weights : 1.0F;
  if (team.rank() == 0) {
    const float target_logit = at_label * label.weight * (label.logit - largest) + everywhere * sums.shifted;
    simt::store(a.buffers.losses + n, target_weight * logf(sums.exponentials) - target_logit);
    const bool can_be_correct = label.is_class && largest == largest;
    simt::store(a.ranks + n, can_be_correct ? better : kNeverCorrect);
  }
  if (a.buffers.gradient == nullptr) return;
  const float scale = simt::load(&a.buffers.step->gradient_scale) * simt::load(&a.buffers.step->loss_scale);
  const float inverse_sum = label.is_class ? 1.0F / sums.exponentials : kNan;
  write_gradient(a, n, label.index, team, row, {largest, inverse_sum, target_weight, scale});
}

constexpr int kRowsPerBlock = 4;

/// A warp for each row.
template <typename T, int kVectors>
__global__ void __launch_bounds__(kRowsPerBlock* simt::kWarpSize)
    softmax_cross_entropy_warp_kernel(LossArguments<T> arguments) {
  const std::int64_t n = static_cast<std::int64_t>(blockIdx.x) * kRowsPerBlock + simt::warp_id();
  if (n >= arguments.batch) return;
  RegisterRow<T, kVectors> row;
  process_row(arguments, n, WarpTeam{}, row);
}

/// A block for each row.
template <typename T, bool kCopies>
__global__ void __launch_bounds__(BlockTeam::kThreads)
    softmax_cross_entropy_block_kernel(LossArguments<T> arguments) {
  SIMT_DYN_SHARED(shared_row);
  SIMT_SHARED(float, floats, simt::kWarpSize);
  SIMT_SHARED(int, integers, simt::kWarpSize);
  StoredRow<T, kCopies> row(shared_row);
  process_row(arguments, blockIdx.x, BlockTeam{floats, integers}, row);
}

constexpr std::size_t kLargestSharedRow = 96 * 1024;

template <typename T>
void launch_rows(const LossArguments<T>& arguments, cudaStream_t stream) {
  constexpr int kMostVectors = 32 / kVectorSize<T>;  // 32 values a lane
  const auto rows = static_cast<unsigned>(arguments.batch);
  const unsigned warp_blocks = divide_up(rows, static_cast<unsigned>(kRowsPerBlock));
  const dim3 warps(kRowsPerBlock * simt::kWarpSize), block(BlockTeam::kThreads);
  const std::size_t row_bytes = static_cast<std::size_t>(arguments.pitch) * sizeof(T);
  if (row_bytes <= simt::kWarpSize * 16)
    SIMT_LAUNCH((softmax_cross_entropy_warp_kernel<T, 1>), warp_blocks, warps, 0, stream, arguments);
  else if (row_bytes <= simt::kWarpSize * 16 * kMostVectors)
    SIMT_LAUNCH((softmax_cross_entropy_warp_kernel<T, kMostVectors>), warp_blocks, warps, 0, stream,
                arguments);
  else if (row_bytes <= kLargestSharedRow)
    SIMT_LAUNCH((softmax_cross_entropy_block_kernel<T, true>), rows, block, row_bytes, stream, arguments);
  else
    SIMT_LAUNCH((softmax_cross_entropy_block_kernel<T, false>), rows, block, 0, stream, arguments);
}

}  // namespace

std::size_t softmax_cross_entropy_workspace_bytes(std::int64_t batch) {
  return static_cast<std::size_t>(batch) * sizeof(std::int32_t);
}

template <typename T>
void softmax_cross_entropy(const SoftmaxCrossEntropyShape& shape, float label_smoothing,
                           const SoftmaxCrossEntropyBuffers<T>& buffers, cudaStream_t stream) {
  if (shape.batch == 0) return;
  auto* const ranks = static_cast<std::int32_t*>(buffers.workspace);
  launch_rows<T>({buffers, ranks, shape.batch, shape.classes, shape.pitch, label_smoothing}, stream);
  add_to_record({buffers.losses, ranks, shape.batch, buffers.step, buffers.record}, stream);
}

template void softmax_cross_entropy(const SoftmaxCrossEntropyShape&, float,
                                    const SoftmaxCrossEntropyBuffers<BFloat16>&, cudaStream_t);
template void softmax_cross_entropy(const SoftmaxCrossEntropyShape&, float,
                                    const SoftmaxCrossEntropyBuffers<Half>&, cudaStream_t);
template void softmax_cross_entropy(const SoftmaxCrossEntropyShape&, float,
                                    const SoftmaxCrossEntropyBuffers<float>&, cudaStream_t);

}  // namespace trireme::kernels
