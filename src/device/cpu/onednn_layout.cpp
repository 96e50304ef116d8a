// SPDX-License-Identifier: Apache-2.0
#include "src/device/cpu/onednn_layout.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <vector>

#include "src/core/error.h"

namespace trireme::cpu {
namespace {

using Tag = dnnl::memory::format_tag;

dnnl::memory::desc tagged_desc(const Shape& shape, Tag rank2, Tag rank4) {
  TRIREME_ASSERT(shape.rank() == 1 || shape.rank() == 2 || shape.rank() == 4,
                 "a vector, a matrix or pictures");
  const Tag tag = shape.rank() == 4   ? rank4
                  : shape.rank() == 2 ? rank2
                  : rank2 == Tag::any ? Tag::any
                                      : Tag::x;
  return {dims_of(shape), dnnl::memory::data_type::f32, tag};
}

}  // namespace

std::string OneDnnLayout::text() const {
  constexpr std::array kNames = {'n', 'c', 'h', 'w'};
  const auto& blocking = desc_.data.format_desc.blocking;
  std::vector<int> order(static_cast<std::size_t>(desc_.data.ndims));
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(),
                   [&](int a, int b) { return blocking.strides[a] > blocking.strides[b]; });
  std::string text;
  for (int axis : order) {
    const char name = kNames.at(static_cast<std::size_t>(axis));
    const auto* end = blocking.inner_idxs + blocking.inner_nblks;
    const bool blocked = std::find(blocking.inner_idxs, end, axis) != end;
    text += blocked ? static_cast<char>(name - 'a' + 'A') : name;
  }
  for (int block = 0; block < blocking.inner_nblks; ++block)
    text += fmt::format("{}{}", blocking.inner_blks[block],
                        kNames.at(static_cast<std::size_t>(blocking.inner_idxs[block])));
  return text;
}

dnnl::memory::dims dims_of(const Shape& shape) {
  if (shape.rank() == 4) return {shape[0], shape[3], shape[1], shape[2]};
  return {shape.begin(), shape.end()};
}

dnnl::memory::desc dense_desc(const Shape& shape) {
  return tagged_desc(shape, Tag::nc, Tag::nhwc);
}
dnnl::memory::desc any_desc(const Shape& shape) {
  return tagged_desc(shape, Tag::any, Tag::any);
}
dnnl::memory::desc nchw_desc(const Shape& shape) {
  return tagged_desc(shape, Tag::nc, Tag::nchw);
}

dnnl::memory::desc desc_of(const ValueSpec& value) {
  if (value.layout == nullptr) return dense_desc(value.shape);
  const auto* layout = dynamic_cast<const OneDnnLayout*>(value.layout.get());
  TRIREME_ASSERT(layout != nullptr, "the layout belongs to another device");
  return layout->desc();
}

ValueSpec value_of(const Shape& shape, const dnnl::memory::desc& desc) {
  ValueSpec value{shape, DType::f32, nullptr, desc.get_size()};
  if (desc != dense_desc(shape)) value.layout = std::make_shared<OneDnnLayout>(desc);
  return value;
}

std::int64_t physical_count(const dnnl::memory::desc& desc) {
  return static_cast<std::int64_t>(desc.get_size() / sizeof(float));
}

std::int64_t PhysicalIndex::operator()(std::int64_t n, std::int64_t c, std::int64_t h, std::int64_t w) const {
  std::array<std::int64_t, 4> position = {n, c, h, w};
  const auto& blocking = desc_.data.format_desc.blocking;
  std::int64_t offset = desc_.data.offset0, stride = 1;
  for (int block = blocking.inner_nblks - 1; block >= 0; --block) {
    std::int64_t& at = position.at(static_cast<std::size_t>(blocking.inner_idxs[block]));
    offset += at % blocking.inner_blks[block] * stride;
    at /= blocking.inner_blks[block];
    stride *= blocking.inner_blks[block];
  }
  for (int axis = 0; axis < desc_.data.ndims; ++axis)
    offset += position.at(static_cast<std::size_t>(axis)) * blocking.strides[axis];
  return offset;
}

}  // namespace trireme::cpu
