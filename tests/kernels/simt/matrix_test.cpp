// SPDX-License-Identifier: Apache-2.0
// Fragments of matrices against their definition in the PTX ISA, element by element, and products against a
// loop.
#include <gtest/gtest.h>

#include <bit>
#include <limits>
#include <random>
#include <vector>

#include "kernels/numeric.h"
#include "tests/kernels/support/device_array.h"

namespace trireme::simt {
namespace {

using test::DeviceArray;

constexpr int kMatrices = 4, kRows = 8, kRowElements = 8;

/// Loads four 8x8 matrices of 16-bit numbers, whose rows stand `kPitch` elements apart, and hands out the
/// registers.
template <bool kTranspose>
__global__ void load_fragments_kernel(const std::uint16_t* matrices, std::uint32_t* registers) {
  constexpr int kVectors = 3, kPitch = kVectors * kRowElements;
  SIMT_SHARED(Vector16<std::uint16_t>, storage, 32 * kVectors);
  auto* rows = reinterpret_cast<std::uint16_t*>(storage);
  const int lane = lane_id();
  for (int i = 0; i < kRowElements; ++i) rows[lane * kPitch + i] = load(matrices + lane * kRowElements + i);
  __syncwarp();
  std::uint32_t fragment[4];
  ldmatrix_x4<kTranspose>(fragment, rows + lane * kPitch);
  const void* const both[2] = {rows + lane * kPitch, rows + (lane ^ 8) * kPitch};
  std::uint32_t fragments[2][4];
  warp_ldmatrix<2, kTranspose>(fragments, both);
  for (int i = 0; i < 4; ++i) {
    store(registers + lane * 12 + i, fragment[i]);
    store(registers + lane * 12 + 4 + i, fragments[0][i]);
    store(registers + lane * 12 + 8 + i, fragments[1][i]);
  }
}

template <bool kTranspose>
void expect_registers_hold_matrices() {
  std::vector<std::uint16_t> matrices(kMatrices * kRows * kRowElements);
  for (std::size_t i = 0; i < matrices.size(); ++i) matrices[i] = static_cast<std::uint16_t>(1000 + i);
  const DeviceArray<std::uint16_t> from(matrices);
  DeviceArray<std::uint32_t> to(32 * 12);
  SIMT_LAUNCH(load_fragments_kernel<kTranspose>, 1, 32, 0, nullptr, from.data(), to.data());
  const auto registers = to.to_host();
  const auto element = [&](int matrix, int row, int column) {
    return std::uint32_t{matrices[static_cast<std::size_t>((matrix * kRows + row) * kRowElements + column)]};
  };
  for (int lane = 0; lane < 32; ++lane)
    for (int part = 0; part < 4; ++part) {
      const int g = lane / 4, t = lane % 4;
      const auto expected = [&](int matrix) {
        return kTranspose ? element(matrix, 2 * t, g) | element(matrix, 2 * t + 1, g) << 16
                          : element(matrix, g, 2 * t) | element(matrix, g, 2 * t + 1) << 16;
      };
      const auto* own = registers.data() + static_cast<std::size_t>(lane) * 12;
      EXPECT_EQ(own[part], expected(part)) << "lane " << lane << " register " << part;
      EXPECT_EQ(own[4 + part], expected(part)) << "lane " << lane << " register " << part;
      EXPECT_EQ(own[8 + part], expected(part ^ 1)) << "lane " << lane << " register " << part;
    }
}

TEST(LoadMatrix, GivesEachLaneTwoNeighboursOfItsRow) {
  expect_registers_hold_matrices<false>();
}
TEST(LoadMatrix, TransposedGivesEachLaneTwoNeighboursOfItsColumn) {
  expect_registers_hold_matrices<true>();
}

__global__ void store_fragments_kernel(std::uint16_t* matrices) {
  SIMT_SHARED(Vector16<std::uint32_t>, words, 32);
  const int lane = lane_id();
  std::uint32_t fragment[4];
  for (std::uint32_t i = 0; i < 4; ++i) fragment[i] = static_cast<std::uint32_t>(lane) << 16 | i;
  stmatrix_x4(words + lane, fragment);
  __syncwarp();
  const auto* elements = reinterpret_cast<const std::uint16_t*>(words);
  for (int i = 0; i < kRowElements; ++i)
    store(matrices + lane * kRowElements + i, elements[lane * kRowElements + i]);
}

TEST(StoreMatrix, IsTheWayBackOfLoadMatrix) {
  DeviceArray<std::uint16_t> to(32 * kRowElements);
  SIMT_LAUNCH(store_fragments_kernel, 1, 32, 0, nullptr, to.data());
  const auto stored = to.to_host();
  for (int matrix = 0; matrix < kMatrices; ++matrix)
    for (int row = 0; row < kRows; ++row)
      for (int t = 0; t < 4; ++t) {
        const auto at = static_cast<std::size_t>((matrix * kRows + row) * kRowElements + 2 * t);
        EXPECT_EQ(stored[at], matrix);
        EXPECT_EQ(stored[at + 1], row * 4 + t) << "matrix " << matrix << " row " << row;
      }
}

template <typename T>
constexpr int kDepth = sizeof(T) == 2 ? 16 : 8;

/// The bits of one register of the fragment at (row or column, k): two 16-bit elements or one of 32 bits.
template <typename T>
std::uint32_t register_of(const T* elements) {
  if constexpr (sizeof(T) == 2)
    return std::bit_cast<std::uint16_t>(elements[0]) |
           std::uint32_t{std::bit_cast<std::uint16_t>(elements[1])} << 16;
  else
    return std::bit_cast<std::uint32_t>(elements[0]);
}

/// d += a b for a [16 Rows, k] by rows, b [8 Columns, k] by columns, in registers laid out as the PTX ISA
/// says.
template <typename T, int Rows, int Columns>
__global__ void multiply_kernel(const std::uint32_t* a, const std::uint32_t* b, float* d) {
  const int lane = lane_id();
  std::uint32_t a_fragments[Rows][4], b_fragments[Columns][2];
  float accumulators[Rows][Columns][4];
  for (int i = 0; i < Rows; ++i)
    for (int part = 0; part < 4; ++part) a_fragments[i][part] = load(a + (i * 4 + part) * 32 + lane);
  for (int j = 0; j < Columns; ++j)
    for (int part = 0; part < 2; ++part) b_fragments[j][part] = load(b + (j * 2 + part) * 32 + lane);
  for (int i = 0; i < Rows; ++i)
    for (int j = 0; j < Columns; ++j)
      for (int part = 0; part < 4; ++part)
        accumulators[i][j][part] = load(d + ((i * Columns + j) * 4 + part) * 32 + lane);
  if constexpr (Rows == 1 && Columns == 1)
    mma<T>(accumulators[0][0], a_fragments[0], b_fragments[0]);
  else
    warp_mma<T, Rows, Columns>(accumulators, a_fragments, b_fragments);
  for (int i = 0; i < Rows; ++i)
    for (int j = 0; j < Columns; ++j)
      for (int part = 0; part < 4; ++part)
        store(d + ((i * Columns + j) * 4 + part) * 32 + lane, accumulators[i][j][part]);
}

/// Row and k of the first element of register `part` of a's fragment; of b's, column and k.
struct Position {
  int outer, k;
};
template <typename T>
Position position_in_a(int lane, int part) {
  const int elements = sizeof(T) == 2 ? 2 : 1;
  return {lane / 4 + 8 * (part % 2), elements * (lane % 4 + 4 * (part / 2))};
}
template <typename T>
Position position_in_b(int lane, int part) {
  const int elements = sizeof(T) == 2 ? 2 : 1;
  return {lane / 4, elements * (lane % 4 + 4 * part)};
}

template <typename T>
T random_element(std::mt19937& random) {
  std::uniform_real_distribution<float> uniform(-2.0F, 2.0F);
  // Few enough bits for tf32, so that what is multiplied is what stands in memory.
  return kernels::from_float<T>(kernels::to_float(kernels::from_float<BFloat16>(uniform(random))));
}

template <typename T, int Rows, int Columns>
void expect_product() {
  constexpr int kK = kDepth<T>, kM = 16 * Rows, kN = 8 * Columns;
  std::mt19937 random(7);
  std::uniform_real_distribution<float> uniform(-1.0F, 1.0F);
  std::vector<T> a(kM * kK), b(kN * kK);
  std::vector<float> d(kM * kN);
  for (T& value : a) value = random_element<T>(random);
  for (T& value : b) value = random_element<T>(random);
  for (float& value : d) value = uniform(random);

  std::vector<std::uint32_t> a_registers(Rows * 4 * 32), b_registers(Columns * 2 * 32);
  std::vector<float> d_registers(Rows * Columns * 4 * 32);
  const auto place_in_d = [](int i, int j, int part, int lane) {
    return (16 * i + lane / 4 + 8 * (part / 2)) * kN + 8 * j + 2 * (lane % 4) + part % 2;
  };
  for (int lane = 0; lane < 32; ++lane) {
    for (int i = 0; i < Rows; ++i)
      for (int part = 0; part < 4; ++part) {
        const auto [row, k] = position_in_a<T>(lane, part);
        a_registers[(i * 4 + part) * 32 + lane] = register_of(&a[(16 * i + row) * kK + k]);
      }
    for (int j = 0; j < Columns; ++j)
      for (int part = 0; part < 2; ++part) {
        const auto [column, k] = position_in_b<T>(lane, part);
        b_registers[(j * 2 + part) * 32 + lane] = register_of(&b[(8 * j + column) * kK + k]);
      }
    for (int i = 0; i < Rows; ++i)
      for (int j = 0; j < Columns; ++j)
        for (int part = 0; part < 4; ++part)
          d_registers[((i * Columns + j) * 4 + part) * 32 + lane] = d[place_in_d(i, j, part, lane)];
  }
  const DeviceArray<std::uint32_t> device_a(a_registers), device_b(b_registers);
  DeviceArray<float> device_d(d_registers);
  SIMT_LAUNCH((multiply_kernel<T, Rows, Columns>), 1, 32, 0, nullptr, device_a.data(), device_b.data(),
              device_d.data());
  const auto result = device_d.to_host();
  for (int lane = 0; lane < 32; ++lane)
    for (int i = 0; i < Rows; ++i)
      for (int j = 0; j < Columns; ++j)
        for (int part = 0; part < 4; ++part) {
          const int at = place_in_d(i, j, part, lane);
          double expected = d[at];
          for (int k = 0; k < kK; ++k)
            expected += static_cast<double>(kernels::to_float(a[at / kN * kK + k])) *
                        static_cast<double>(kernels::to_float(b[at % kN * kK + k]));
          // At most 16 products of at most 4, added in fp32.
          EXPECT_NEAR(result[((i * Columns + j) * 4 + part) * 32 + lane], expected, 64 * 16 * 6e-8) << at;
        }
}

template <typename T>
class Multiply : public ::testing::Test {};
using MatrixTypes = ::testing::Types<BFloat16, Half, Tf32>;
TYPED_TEST_SUITE(Multiply, MatrixTypes);

TYPED_TEST(Multiply, OneTileEqualsTheLoop) {
  (expect_product<TypeParam, 1, 1>());
}
TYPED_TEST(Multiply, ATileOfAWarpEqualsTheLoop) {
  (expect_product<TypeParam, 2, 3>());
}

__global__ void round_kernel(const float* values, std::uint32_t* rounded) {
  store(rounded + threadIdx.x, to_tf32(load(values + threadIdx.x)));
}

TEST(Tf32, RoundsToTenBitsTiesAwayFromZero) {
  std::vector<float> values(32, 0.0F);
  values[0] = 1.0F + 0x1p-11F;    // a tie: up
  values[1] = -1.0F - 0x1p-11F;   // and down
  values[2] = 1.0F + 0x1.8p-12F;  // below the tie
  values[3] = std::numeric_limits<float>::infinity();
  values[4] = 0x1.FFFFFEp+127F;
  const DeviceArray<float> from(values);
  DeviceArray<std::uint32_t> to(32);
  SIMT_LAUNCH(round_kernel, 1, 32, 0, nullptr, from.data(), to.data());
  const auto rounded = to.to_host();
  EXPECT_EQ(std::bit_cast<float>(rounded[0]), 1.0F + 0x1p-10F);
  EXPECT_EQ(std::bit_cast<float>(rounded[1]), -1.0F - 0x1p-10F);
  EXPECT_EQ(std::bit_cast<float>(rounded[2]), 1.0F);
  EXPECT_EQ(rounded[3], std::bit_cast<std::uint32_t>(values[3]));
  EXPECT_EQ(rounded[4], std::bit_cast<std::uint32_t>(values[3]));
}

}  // namespace
}  // namespace trireme::simt
