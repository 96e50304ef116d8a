// SPDX-License-Identifier: Apache-2.0
// How values lie in a GPU's memory: pictures as NHWC and features as rows, with a channel pitch of whole
// 16-byte vectors and zeros between channels and pitch. Beside the elements a convolution may leave the
// statistics that the batch norm behind it needs.
#pragma once

#include <cstdint>
#include <string>

#include "kernels/tile_statistics.h"
#include "src/device/op.h"

namespace trireme {

class CudaLayout final : public Layout {
 public:
  /// Elements from one pixel, or row of features, to the next.
  std::int64_t pitch = 0;
  /// A ReLU made the value: whoever writes its gradient writes zero where the value is not positive.
  bool after_relu = false;
  /// With tiles: TileStatistics of the elements lie in the side bytes.
  kernels::StatisticsTiles statistics;

  /// "nhwc" or "nc", ":pitch" where channels are padded, and "+relu", "+statistics" for the rest.
  std::string text() const override;
  bool is_picture = false;
  bool is_padded = false;
};

/// Pitch of so many channels in elements of this size.
std::int64_t pitch_of(std::int64_t channels, DType element);

/// [N,H,W,C] or [N,F] in this element type. `pitch` 0: the usual one.
ValueSpec cuda_value(const Shape& shape, DType element, std::int64_t pitch = 0);
/// The same value, made by a ReLU.
ValueSpec after_relu(ValueSpec value);
/// The same value with room for statistics beside it.
ValueSpec with_statistics(ValueSpec value, const kernels::StatisticsTiles& tiles);

/// Of a value that has a CudaLayout.
const CudaLayout& layout_of(const ValueSpec& value);
inline std::int64_t channels_of(const ValueSpec& value) {
  return value.shape[value.shape.rank() - 1];
}
inline std::int64_t pitch_of(const ValueSpec& value) {
  return layout_of(value).pitch;
}
/// Pixels of all pictures, or rows of features.
inline std::int64_t rows_of(const ValueSpec& value) {
  return value.shape.count() / channels_of(value);
}
/// Elements with pads.
inline std::int64_t padded_count(const ValueSpec& value) {
  return rows_of(value) * pitch_of(value);
}
/// The statistics beside a value at `data`; of no tiles where there are none.
kernels::TileStatistics statistics_beside(const ValueSpec& value, const void* data);

}  // namespace trireme
