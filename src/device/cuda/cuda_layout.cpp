// SPDX-License-Identifier: Apache-2.0
#include "src/device/cuda/cuda_layout.h"

#include "kernels/batch_norm/batch_norm.h"
#include "src/core/error.h"

namespace trireme {
namespace {

constexpr std::size_t kVectorBytes = 16;
constexpr std::size_t kSideAlignment = 256;

std::size_t aligned(std::size_t bytes, std::size_t to) {
  return (bytes + to - 1) / to * to;
}

std::shared_ptr<CudaLayout> copy_of(const ValueSpec& value) {
  return std::make_shared<CudaLayout>(layout_of(value));
}

}  // namespace

std::string CudaLayout::text() const {
  std::string text = is_picture ? "nhwc" : "nc";
  if (is_padded) text += fmt::format(":{}", pitch);
  if (after_relu) text += "+relu";
  if (statistics.tiles > 0) text += "+statistics";
  return text;
}

std::int64_t pitch_of(std::int64_t channels, DType element) {
  const auto vector = static_cast<std::int64_t>(kVectorBytes / size_of(element));
  return (channels + vector - 1) / vector * vector;
}

ValueSpec cuda_value(const Shape& shape, DType element, std::int64_t pitch) {
  TRIREME_ASSERT(shape.rank() == 4 || shape.rank() == 2, "values are pictures or features");
  const std::int64_t channels = shape[shape.rank() - 1];
  auto layout = std::make_shared<CudaLayout>();
  layout->pitch = pitch > 0 ? pitch : pitch_of(channels, element);
  layout->is_picture = shape.rank() == 4;
  layout->is_padded = layout->pitch != channels;
  ValueSpec value{shape, element, layout, 0};
  value.bytes = static_cast<std::size_t>(shape.count() / channels * layout->pitch) * size_of(element);
  return value;
}

ValueSpec after_relu(ValueSpec value) {
  auto layout = copy_of(value);
  layout->after_relu = true;
  value.layout = layout;
  return value;
}

ValueSpec with_statistics(ValueSpec value, const kernels::StatisticsTiles& tiles) {
  auto layout = copy_of(value);
  layout->statistics = tiles;
  const std::size_t elements = aligned(value.bytes, kSideAlignment);
  const std::size_t side = kernels::tile_statistics_bytes(tiles.tiles, static_cast<int>(layout->pitch));
  value.side_bytes = elements - value.bytes + side;
  value.bytes = elements + side;
  value.layout = layout;
  return value;
}

const CudaLayout& layout_of(const ValueSpec& value) {
  const auto* layout = dynamic_cast<const CudaLayout*>(value.layout.get());
  TRIREME_ASSERT(layout != nullptr, "a value of the CUDA device");
  return *layout;
}

kernels::TileStatistics statistics_beside(const ValueSpec& value, const void* data) {
  const kernels::StatisticsTiles& tiles = layout_of(value).statistics;
  if (tiles.tiles == 0) return {};
  const std::size_t offset = aligned(value.element_bytes(), kSideAlignment);
  return {reinterpret_cast<const float*>(static_cast<const std::byte*>(data) + offset), tiles.tiles,
          tiles.rows_per_tile};
}

}  // namespace trireme
