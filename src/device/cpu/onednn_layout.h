// SPDX-License-Identifier: Apache-2.0
// How values lie in memory on the cpu device. Interfaces speak of NHWC and [N,F]; oneDNN speaks of NCHW and
// [N,F] and keeps the physical order in a memory descriptor.
#pragma once

#include <array>
#include <dnnl.hpp>
#include <string>

#include "src/device/op.h"

namespace trireme::cpu {

/// A physical order that is not dense row-major in the logical order, such as channels in blocks of 16.
class OneDnnLayout final : public Layout {
 public:
  explicit OneDnnLayout(const dnnl::memory::desc& desc) : desc_(desc) {}
  const dnnl::memory::desc& desc() const { return desc_; }
  /// "nChw16c", as oneDNN writes its format tags.
  std::string text() const override;

 private:
  dnnl::memory::desc desc_;
};

/// [N,H,W,C] to oneDNN's dimensions N,C,H,W; other ranks stay as they are.
dnnl::memory::dims dims_of(const Shape& shape);
/// Dense row-major in the logical order: nhwc, or nc.
dnnl::memory::desc dense_desc(const Shape& shape);
/// Lets a primitive choose the physical order.
dnnl::memory::desc any_desc(const Shape& shape);
/// Dense N,C,H,W.
dnnl::memory::desc nchw_desc(const Shape& shape);

dnnl::memory::desc desc_of(const ValueSpec& value);
/// The fp32 value of that logical shape in that physical order; the layout is null if it is the dense one.
ValueSpec value_of(const Shape& shape, const dnnl::memory::desc& desc);
inline ValueSpec dense_value(const Shape& shape) {
  return value_of(shape, dense_desc(shape));
}

/// Physical fp32 elements of a descriptor, padding of blocked channels included.
std::int64_t physical_count(const dnnl::memory::desc& desc);

/// Where an element lies: element offsets from oneDNN's dimensions. For code off the hot path.
class PhysicalIndex {
 public:
  explicit PhysicalIndex(const dnnl::memory::desc& desc) : desc_(desc) {}
  /// Position in oneDNN's dimensions (n,c,h,w); a matrix uses the first two.
  std::int64_t operator()(std::int64_t n, std::int64_t c, std::int64_t h, std::int64_t w) const;

 private:
  dnnl::memory::desc desc_;
};

}  // namespace trireme::cpu
