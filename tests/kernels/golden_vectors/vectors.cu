// SPDX-License-Identifier: Apache-2.0
#include "tests/kernels/golden_vectors/vectors.h"

#include <cstring>

#include "kernels/numeric.h"
#include "kernels/simt/simt.h"
#include "tests/kernels/support/device_array.h"

namespace trireme::golden {
namespace {

using namespace simt;
using test::DeviceArray;
using Words = std::vector<std::uint32_t>;

// Each kernel is one warp: lane l reads words l, l + 32, ... of the input and writes such words of the
// output.

template <typename T>
__global__ void mma_kernel(const std::uint32_t* input, std::uint32_t* output) {
  const int lane = lane_id();
  std::uint32_t a[4], b[2];
  float d[4];
  for (int i = 0; i < 4; ++i) a[i] = load(input + 32 * i + lane);
  for (int i = 0; i < 2; ++i) b[i] = load(input + 32 * (4 + i) + lane);
  for (int i = 0; i < 4; ++i) d[i] = load(reinterpret_cast<const float*>(input) + 32 * (6 + i) + lane);
  mma<T>(d, a, b);
  for (int i = 0; i < 4; ++i) store(reinterpret_cast<float*>(output) + 32 * i + lane, d[i]);
}

template <bool kTranspose>
__global__ void ldmatrix_kernel(const std::uint32_t* input, std::uint32_t* output) {
  SIMT_SHARED(Vector16<std::uint32_t>, rows, 32);
  const int lane = lane_id();
  rows[lane] = load16(input + 4 * lane);
  __syncwarp();
  std::uint32_t fragment[4];
  ldmatrix_x4<kTranspose>(fragment, &rows[lane ^ 5]);
  for (int i = 0; i < 4; ++i) store(output + 32 * i + lane, fragment[i]);
}

__global__ void stmatrix_kernel(const std::uint32_t* input, std::uint32_t* output) {
  SIMT_SHARED(Vector16<std::uint32_t>, rows, 32);
  const int lane = lane_id();
  std::uint32_t fragment[4];
  for (int i = 0; i < 4; ++i) fragment[i] = load(input + 32 * i + lane);
  stmatrix_x4(&rows[lane ^ 9], fragment);
  __syncwarp();
  store16(output + 4 * lane, rows[lane]);
}

/// Every third copy is not valid.
template <int Bytes>
__global__ void cp_async_kernel(const std::uint32_t* input, std::uint32_t* output) {
  SIMT_SHARED(Vector16<std::uint32_t>, shared, 32);
  const int lane = lane_id();
  Vector16<std::uint32_t> before;
  for (int i = 0; i < 4; ++i) before[i] = 0x11111111U * static_cast<unsigned>(i + 1);
  shared[lane] = before;
  cp_async<Bytes>(&shared[lane], input + 4 * lane, lane % 3 != 0);
  cp_async_commit();
  cp_async_wait<0>();
  store16(output + 4 * lane, shared[lane]);
}

__global__ void tf32_kernel(const std::uint32_t* input, std::uint32_t* output) {
  for (int i = 0; i < 10; ++i)
    store(output + 32 * i + lane_id(),
          to_tf32(load(reinterpret_cast<const float*>(input) + 32 * i + lane_id())));
}

__global__ void shuffle_kernel(const std::uint32_t* input, std::uint32_t* output) {
  const int lane = lane_id();
  const std::uint32_t value = load(input + lane);
  int place = 0;
  for (int width = 2; width <= 32; width *= 2) {
    store(output + 32 * place++ + lane, __shfl_sync(kFullMask, value, lane * 3 + 1, width));
    store(output + 32 * place++ + lane, __shfl_xor_sync(kFullMask, value, 5, width));
    store(output + 32 * place++ + lane, __shfl_up_sync(kFullMask, value, 3U, width));
    store(output + 32 * place++ + lane, __shfl_down_sync(kFullMask, value, 3U, width));
  }
}

__global__ void vote_kernel(const std::uint32_t* input, std::uint32_t* output) {
  const unsigned lane = static_cast<unsigned>(lane_id());
  const std::uint32_t value = load(input + lane);
  const unsigned mask = lane < 16 ? 0x0000FFFFU : 0xFFFF0000U;
  store(output + lane, __ballot_sync(mask, static_cast<int>(value & 1U)));
  store(output + 32 + lane, static_cast<std::uint32_t>(__any_sync(mask, value % 16 == 3) != 0));
  store(output + 64 + lane, static_cast<std::uint32_t>(__all_sync(mask, value % 16 != 3) != 0));
  store(output + 96 + lane, __reduce_add_sync(mask, value));
  store(output + 128 + lane, __reduce_max_sync(mask, value));
  store(output + 160 + lane, __reduce_min_sync(mask, value));
}

/// All kinds of bit patterns: words 0 to 319 as fp32.
template <typename T>
__global__ void conversion_kernel(const std::uint32_t* input, std::uint32_t* output) {
  for (int i = 0; i < 10; ++i) {
    const float value = load(reinterpret_cast<const float*>(input) + 32 * i + lane_id());
    store(reinterpret_cast<float*>(output) + 32 * i + lane_id(),
          kernels::to_float(kernels::from_float<T>(value)));
  }
}

__global__ void function_kernel(const std::uint32_t* input, std::uint32_t* output) {
  auto* results = reinterpret_cast<float*>(output);
  for (int i = 0; i < 3; ++i) {
    // A number between 0 and 1, and from it arguments of the ranges that kernels use.
    const float unit = static_cast<float>(load(input + 32 * i + lane_id()) >> 8) * 0x1p-24F;
    store(results + 32 * i + lane_id(), expf(unit * -80.0F));
    store(results + 32 * (3 + i) + lane_id(), simt::rsqrt(unit * 1000.0F + 1e-5F));
    store(results + 32 * (6 + i) + lane_id(), logf(unit * 1000.0F + 1e-5F));
    store(results + 32 * (9 + i) + lane_id(), sqrtf(unit * 1000.0F));
  }
}

/// Numbers of a small generator that is the same everywhere.
Words random_words(std::size_t count, std::uint32_t seed) {
  Words words(count);
  for (std::uint32_t& word : words) {
    seed = seed * 1664525U + 1013904223U;
    word = seed ^ seed >> 15;
  }
  return words;
}

template <typename T>
std::uint32_t bits_of(float value) {
  const T element = kernels::from_float<T>(value);
  std::uint32_t bits = 0;
  std::memcpy(&bits, &element, sizeof element);
  return bits;
}

/// Elements between -1 and 1 as registers of T, then accumulators in fp32.
template <typename T>
Words mma_input(std::uint32_t seed) {
  Words words = random_words(10 * 32, seed);
  const auto unit = [](std::uint32_t bits) { return static_cast<float>(bits & 0xFFFFU) * 0x1p-15F - 1.0F; };
  for (std::size_t i = 0; i < words.size(); ++i) {
    const std::uint32_t word = words[i];
    words[i] = i >= 6 * 32      ? bits_of<float>(unit(word))
               : sizeof(T) == 2 ? bits_of<T>(unit(word)) | bits_of<T>(unit(word >> 16)) << 16
                                : bits_of<T>(unit(word));
  }
  return words;
}

/// Random bits; among them the values where rounding has its corners.
Words patterns() {
  Words words = random_words(10 * 32, 5);
  const std::uint32_t corners[] = {
      0x00000000U, 0x80000000U, 0x3F800000U, 0x3F801000U, 0x3F803000U, 0x3F808000U, 0x3F818000U, 0x3F808001U,
      0x7F7FFFFFU, 0x7F800000U, 0xFF800000U, 0x7FC00000U, 0x00000001U, 0x007FFFFFU, 0x00800000U, 0x33000000U,
      0x33000001U, 0x387FC000U, 0x477FE000U, 0x477FF000U, 0x38800000U, 0x3F801001U, 0x3F800FFFU, 0x7F7FF000U};
  std::copy(std::begin(corners), std::end(corners), words.begin());
  for (std::uint32_t& word : words)  // one NaN stands for all: which one comes out is not defined
    if ((word & 0x7FFFFFFFU) > 0x7F800000U) word = 0x7FC00000U;
  return words;
}

using Kernel = void (*)(const std::uint32_t*, std::uint32_t*);

Vector run(const char* name, Comparison comparison, Kernel kernel, const Words& input, std::size_t count) {
  const DeviceArray<std::uint32_t> from(input);
  DeviceArray<std::uint32_t> to(count);
  SIMT_LAUNCH(kernel, 1, 32, 0, nullptr, from.data(), to.data());
  Vector vector{name, comparison, to.to_host()};
  return vector;
}

}  // namespace

std::vector<Vector> run_all() {
  const Words bits = random_words(128, 1);
  return {run("mma_bf16", Comparison::sums, mma_kernel<BFloat16>, mma_input<BFloat16>(2), 128),
          run("mma_fp16", Comparison::sums, mma_kernel<Half>, mma_input<Half>(3), 128),
          run("mma_tf32", Comparison::sums, mma_kernel<Tf32>, mma_input<Tf32>(4), 128),
          run("ldmatrix", Comparison::bits, ldmatrix_kernel<false>, bits, 128),
          run("ldmatrix_trans", Comparison::bits, ldmatrix_kernel<true>, bits, 128),
          run("stmatrix", Comparison::bits, stmatrix_kernel, bits, 128),
          run("cp_async_4", Comparison::bits, cp_async_kernel<4>, bits, 128),
          run("cp_async_8", Comparison::bits, cp_async_kernel<8>, bits, 128),
          run("cp_async_16", Comparison::bits, cp_async_kernel<16>, bits, 128),
          run("to_tf32", Comparison::bits, tf32_kernel, patterns(), 320),
          run("shuffles", Comparison::bits, shuffle_kernel, bits, 20 * 32),
          run("votes", Comparison::bits, vote_kernel, bits, 6 * 32),
          run("bf16_conversions", Comparison::bits, conversion_kernel<BFloat16>, patterns(), 320),
          run("fp16_conversions", Comparison::bits, conversion_kernel<Half>, patterns(), 320),
          run("functions", Comparison::few_units, function_kernel, random_words(96, 6), 12 * 32)};
}

}  // namespace trireme::golden
