// SPDX-License-Identifier: Apache-2.0
// Error feedback (Seide et al. 2014, "1-bit stochastic gradient descent"; Karimireddy et al. 2019) with a
// rounding to 16 bits as the compressor. Per rank and element, each step:
//
//   gradient ──(+)── value ──round──► sent ──allreduce──► sum ──widen──► gradient
//               ▲      │                │
//               │      └──────(−)◄──────┘      value − sent is exact in fp32
//               └── residual ◄─┘
//
// The sent values of all steps and the last residual add up to the gradients of all steps: a gradient far
// below the rounding step of its element collects in the residual until it is large enough to be sent.
//
// A bucket of the flat buffer is cut into pieces. Those of weights lie back to back in one 16-bit staging
// buffer, those of BN statistics in a small fp32 one:
//
//   gradients   [ conv2.weight | bn1.weight | bn1.bias | mean | var | conv1.weight ]
//   narrow      [ conv2.weight | bn1.weight | bn1.bias | conv1.weight ]   2 bytes each
//   exempt      [ mean | var ]                                            4 bytes each
#include "src/exchange/narrow_wire.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <utility>

#include "src/core/error.h"

namespace trireme {
namespace {

constexpr std::array<WireName, 3> kWireNames{
    {{"fp32", DType::f32}, {"bf16", DType::bf16}, {"fp16", DType::f16}}};

/// What one allreduce of a bucket carries: a range of a staging buffer.
struct Part {
  std::size_t begin = 0, count = 0;
  std::vector<WirePiece> pieces;
  std::size_t list = 0;  ///< of the packer
  Ticket ticket;

  void add(ElementRange range) {
    pieces.push_back({range.begin, begin + count, range.size()});
    count += range.size();
  }
};

struct Parts {
  Part narrow, exempt;
};

/// An entry with the gap behind it.
ElementRange whole_range(const FlatLayout& layout, std::size_t entry) {
  const bool last = entry + 1 == layout.entries.size();
  return {layout.entries[entry].offset, last ? layout.elements : layout.entries[entry + 1].offset};
}

bool is_exempt(const Graph& graph, const FlatLayout& layout, std::size_t entry) {
  return graph.parameter(layout.entries[entry].parameter).is_statistic();
}

/// The parts of every bucket.
std::vector<Parts> parts_of(const Graph& graph, const FlatLayout& layout, const BucketPlan& plan) {
  std::vector<Parts> all;
  std::size_t narrow_end = 0, exempt_end = 0;
  for (const BucketPlan::Bucket& bucket : plan.buckets) {
    Parts parts;
    parts.narrow.begin = narrow_end;
    parts.exempt.begin = exempt_end;
    for (std::size_t e = 0; e < layout.entries.size(); ++e) {
      const ElementRange whole = whole_range(layout, e);
      const ElementRange inside{std::max(whole.begin, bucket.range.begin),
                                std::min(whole.end, bucket.range.end)};
      if (inside.begin >= inside.end) continue;
      (is_exempt(graph, layout, e) ? parts.exempt : parts.narrow).add(inside);
    }
    narrow_end += parts.narrow.count;
    exempt_end += parts.exempt.count;
    all.push_back(std::move(parts));
  }
  return all;
}

}  // namespace

std::span<const WireName> wire_names() {
  return kWireNames;
}

DType wire_type(std::string_view name) {
  const auto* const found = std::find_if(kWireNames.begin(), kWireNames.end(),
                                         [&](const WireName& wire) { return wire.name == name; });
  TRIREME_ASSERT(found != kWireNames.end(), "a name of the table");
  return found->type;
}

struct NarrowWire::Impl {
  const BucketPlan& plan;
  const DType type;
  Communicator& communicator;
  float* const gradients;
  WirePacker& packer;
  std::vector<Parts> buckets;
  std::unique_ptr<Buffer> narrow, exempt, residual;  // staging of both kinds; what is owed
  std::size_t elements;

  std::byte* narrow_at(std::size_t element) const {
    return static_cast<std::byte*>(narrow->data()) + element * size_of(type);
  }
  float* exempt_at(std::size_t element) const { return static_cast<float*>(exempt->data()) + element; }
  float* residual_at(std::size_t element) const { return static_cast<float*>(residual->data()) + element; }
};

NarrowWire::NarrowWire(const Graph& graph, const FlatLayout& layout, const BucketPlan& plan, DType type,
                       Communicator& communicator, float* gradients, const WireMemory& memory)
    : impl_(new Impl{plan,
                     type,
                     communicator,
                     gradients,
                     *memory.packer,
                     parts_of(graph, layout, plan),
                     {},
                     {},
                     {},
                     layout.elements}) {
  TRIREME_ASSERT(type == DType::bf16 || type == DType::f16, "a narrow wire has 16 bits");
  TRIREME_ASSERT(communicator.can_sum(type), "the communicator sums what the wire carries");
  std::size_t narrow = 0, exempt = 0;
  for (Parts& parts : impl_->buckets) {
    narrow += parts.narrow.count;
    exempt += parts.exempt.count;
    parts.narrow.list = impl_->packer.add(parts.narrow.pieces);
    parts.exempt.list = impl_->packer.add(parts.exempt.pieces);
  }
  impl_->narrow = communicator.allocate(narrow * size_of(type));
  impl_->exempt = communicator.allocate(exempt * sizeof(float));
  impl_->residual = memory.residuals->allocate(layout.bytes());
}

NarrowWire::~NarrowWire() {
  for (const Parts& parts : impl_->buckets)
    drain(impl_->communicator, std::array{parts.narrow.ticket, parts.exempt.ticket});
}

void NarrowWire::send(std::size_t bucket, Stream& stream) {
  auto& [narrow, exempt] = impl_->buckets[bucket];
  const std::string& label = impl_->plan.buckets[bucket].label;
  impl_->packer.round(narrow.list, impl_->gradients, impl_->residual_at(0), impl_->narrow->data(), stream);
  const Tensor rounded{impl_->narrow_at(narrow.begin), Shape{static_cast<std::int64_t>(narrow.count)},
                       impl_->type};
  narrow.ticket = impl_->communicator.allreduce(rounded, stream, label);
  impl_->packer.copy_out(exempt.list, impl_->gradients, impl_->exempt_at(0), stream);
  const Tensor statistics = row_of(impl_->exempt_at(exempt.begin), static_cast<std::int64_t>(exempt.count));
  exempt.ticket = impl_->communicator.allreduce(statistics, stream, label + ", its statistics");
}

void NarrowWire::wait(std::size_t bucket, Stream& stream) {
  auto& [narrow, exempt] = impl_->buckets[bucket];
  impl_->communicator.wait(std::exchange(narrow.ticket, {}), stream);
  impl_->communicator.wait(std::exchange(exempt.ticket, {}), stream);
}

void NarrowWire::unpack(std::size_t bucket, Stream& stream) {
  const auto& [narrow, exempt] = impl_->buckets[bucket];
  impl_->packer.widen(narrow.list, impl_->narrow->data(), impl_->gradients, stream);
  impl_->packer.copy_in(exempt.list, impl_->exempt_at(0), impl_->gradients, stream);
}

std::span<float> NarrowWire::residual() {
  return {impl_->residual_at(0), impl_->elements};
}

std::size_t narrow_wire_bytes(const Graph& graph, const FlatLayout& layout) {
  std::size_t narrow = 0, exempt = 0;
  for (std::size_t e = 0; e < layout.entries.size(); ++e)
    (is_exempt(graph, layout, e) ? exempt : narrow) += whole_range(layout, e).size();
  return narrow * size_of(DType::bf16) + exempt * sizeof(float);
}

}  // namespace trireme
