// SPDX-License-Identifier: Apache-2.0
// Wire casts against the host's wire: what is sent, what is kept and what comes back have equal bits.
#include "kernels/cast/wire.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

#include "src/core/philox.h"
#include "src/exchange/narrow_wire.h"
#include "src/exchange/wire_packer.h"
#include "tests/kernels/support/device_array.h"
#include "tests/src/exchange/recording_communicator.h"
#include "tests/support/host_stream.h"
#include "tests/support/small_net.h"

namespace trireme::kernels {
namespace {

using test::DeviceArray;

template <typename T>
constexpr DType kWireType = std::is_same_v<T, BFloat16> ? DType::bf16 : DType::f16;

template <typename A>
std::vector<std::uint32_t> bits_of(const A* values, std::size_t count) {
  std::vector<std::uint32_t> bits(count);
  for (std::size_t i = 0; i < count; ++i) std::memcpy(&bits[i], values + i, sizeof(A));
  return bits;
}

/// Numbers of very different sizes; a few are too large for fp16, or infinite.
std::vector<float> gradients_of(std::size_t count, std::uint32_t step) {
  trireme::Philox random(3, 61, step, 0);
  std::vector<float> values(count);
  for (float& value : values) {
    const float mantissa = static_cast<float>(random.next_below(1U << 24)) * 0x1p-23F - 1;
    value = std::ldexp(mantissa, static_cast<int>(random.next_below(44)) - 26);
  }
  values[count / 2] = std::numeric_limits<float>::infinity();
  values[count / 3] = -std::numeric_limits<float>::infinity();
  return values;
}

/// What a bucket sends in 16 bits, or (`exempt`) as fp32: its part of every entry with the gap behind it.
std::vector<WirePiece> pieces_of(const Graph& graph, const FlatLayout& layout, ElementRange bucket,
                                 bool exempt) {
  std::vector<WirePiece> pieces;
  std::int64_t staged = 0;
  for (std::size_t e = 0; e < layout.entries.size(); ++e) {
    const auto& entry = layout.entries[e];
    if (graph.parameter(entry.parameter).is_statistic() != exempt) continue;
    const std::size_t entry_end =
        e + 1 == layout.entries.size() ? layout.elements : layout.entries[e + 1].offset;
    const std::size_t begin = std::max(entry.offset, bucket.begin), end = std::min(entry_end, bucket.end);
    if (begin >= end) continue;
    pieces.push_back({static_cast<std::int64_t>(begin), staged, static_cast<std::int64_t>(end - begin)});
    staged += pieces.back().count;
  }
  return pieces;
}

std::size_t elements_of(const std::vector<WirePiece>& pieces) {
  return pieces.empty() ? 0 : static_cast<std::size_t>(pieces.back().staged + pieces.back().count);
}

/// The tables of one list of pieces in device memory.
struct DeviceTiles {
  explicit DeviceTiles(const std::vector<WirePiece>& pieces) : array(make_wire_tiles(pieces)) {}
  WireTiles tiles() const { return {array.data(), static_cast<int>(array.size())}; }
  DeviceArray<WireTile> array;
};

template <typename T>
class Wire : public testing::Test {};
using Types = testing::Types<BFloat16, Half>;
TYPED_TEST_SUITE(Wire, Types);

TYPED_TEST(Wire, EqualsTheHostsOverStepsAndBuckets) {
  const Graph graph = testing_support::small_net();
  const FlatLayout layout(graph);
  const BucketPlan plan(graph, layout, 1024);
  std::vector<float> gradients(layout.elements);
  testing_support::RecordingCommunicator communicator;
  testing_support::HostStream stream;
  const auto packer = make_host_wire_packer(kWireType<TypeParam>);
  HostMemory memory;
  NarrowWire wire(graph, layout, plan, kWireType<TypeParam>, communicator, gradients.data(),
                  {packer.get(), &memory});
  DeviceArray<float> residual(std::vector<float>(layout.elements, 0.0F));
  for (std::uint32_t step = 0; step < 3; ++step) {
    std::ranges::copy(gradients_of(layout.elements, step), gradients.begin());  // the wire knows the place
    DeviceArray<float> device_gradients(gradients);
    communicator.sent.clear();
    for (std::size_t b = 0; b < plan.buckets.size(); ++b) {
      const auto narrow = pieces_of(graph, layout, plan.buckets[b].range, false),
                 exempt = pieces_of(graph, layout, plan.buckets[b].range, true);
      const DeviceTiles narrow_tiles(narrow), exempt_tiles(exempt);
      DeviceArray<TypeParam> staged(elements_of(narrow));
      DeviceArray<float> staged_exempt(elements_of(exempt));
      round_to_wire(narrow_tiles.tiles(), device_gradients.data(), residual.data(), staged.data(), nullptr);
      copy_to_wire(exempt_tiles.tiles(), device_gradients.data(), staged_exempt.data(), nullptr);

      wire.send(b, stream);
      const Tensor& sent = communicator.sent[2 * b].tensor;
      const Tensor& sent_exempt = communicator.sent[2 * b + 1].tensor;
      ASSERT_EQ(static_cast<std::size_t>(sent.count()), staged.size());
      ASSERT_EQ(static_cast<std::size_t>(sent_exempt.count()), staged_exempt.size());
      EXPECT_EQ(bits_of(staged.to_host().data(), staged.size()),
                bits_of(static_cast<const std::uint16_t*>(sent.data), staged.size()));
      EXPECT_EQ(bits_of(staged_exempt.to_host().data(), staged_exempt.size()),
                bits_of(static_cast<const float*>(sent_exempt.data), staged_exempt.size()));

      wire.wait(b, stream);
      wire.unpack(b, stream);
      copy_from_wire(narrow_tiles.tiles(), staged.data(), device_gradients.data(), nullptr);
      copy_from_wire(exempt_tiles.tiles(), staged_exempt.data(), device_gradients.data(), nullptr);
      cudaDeviceSynchronize();
    }
    EXPECT_EQ(bits_of(device_gradients.to_host().data(), layout.elements),
              bits_of(gradients.data(), layout.elements));
    EXPECT_EQ(bits_of(residual.to_host().data(), layout.elements),
              bits_of(wire.residual().data(), layout.elements));
  }
}

TYPED_TEST(Wire, PiecesMayBeginAnywhere) {
  const std::vector<WirePiece> pieces = {{3, 0, 16},     {19, 16, 3},     {24, 19, 5},     {32, 24, 33},
                                         {72, 57, 4100}, {4172, 4157, 0}, {4176, 4160, 40}};
  const auto gradients = gradients_of(4300, 9);
  std::vector<float> owed = gradients_of(4300, 10);
  owed[2150] = owed[1433] = 0;
  const DeviceTiles tiles(pieces);
  DeviceArray<float> device_gradients(gradients), residual(owed);
  DeviceArray<TypeParam> staged(4208);
  round_to_wire(tiles.tiles(), device_gradients.data(), residual.data(), staged.data(), nullptr);
  copy_from_wire(tiles.tiles(), staged.data(), device_gradients.data(), nullptr);
  auto expected_gradients = gradients, expected_residual = owed;
  for (const WirePiece& piece : pieces)
    for (auto i = static_cast<std::size_t>(piece.flat);
         i < static_cast<std::size_t>(piece.flat + piece.count); ++i) {
      const float value = gradients[i] + owed[i];
      const float rounded = to_float(from_float<TypeParam>(value));
      expected_gradients[i] = rounded;
      expected_residual[i] = std::isfinite(value - rounded) ? value - rounded : 0;
    }
  EXPECT_EQ(bits_of(device_gradients.to_host().data(), 4300), bits_of(expected_gradients.data(), 4300));
  EXPECT_EQ(bits_of(residual.to_host().data(), 4300), bits_of(expected_residual.data(), 4300));
  const auto sent = staged.to_host();
  for (const std::size_t gap : {4157UL, 4159UL, 4200UL})  // elements of no piece
    EXPECT_EQ(std::bit_cast<std::uint16_t>(sent[gap]), 0xFFFF) << gap;
}

TYPED_TEST(Wire, NothingIsKeptOfWhatIsNotFinite) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity(),
                  kNan = std::numeric_limits<float>::quiet_NaN(),
                  kLargest = std::numeric_limits<float>::max();
  const std::vector<float> values = {kInfinity, -kInfinity, kNan, kLargest, -kLargest, 1, 1 + 0x1p-20F, 0};
  const DeviceTiles tiles(std::vector<WirePiece>{{0, 0, 8}});
  const DeviceArray<float> gradients(values);
  DeviceArray<float> residual(std::vector<float>(8, 0.0F)), back(8);
  DeviceArray<TypeParam> staged(8);
  round_to_wire(tiles.tiles(), gradients.data(), residual.data(), staged.data(), nullptr);
  copy_from_wire(tiles.tiles(), staged.data(), back.data(), nullptr);
  EXPECT_EQ(residual.to_host(), (std::vector<float>{0, 0, 0, 0, 0, 0, 0x1p-20F, 0}));
  const auto received = back.to_host();
  EXPECT_EQ(received[0], kInfinity);
  EXPECT_EQ(received[1], -kInfinity);
  EXPECT_TRUE(std::isnan(received[2]));
  EXPECT_EQ(received[3], kInfinity);
  EXPECT_EQ(received[4], -kInfinity);
}

}  // namespace
}  // namespace trireme::kernels
