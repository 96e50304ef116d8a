// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "src/comm/communicator.h"
#include "src/exchange/bucket_plan.h"
#include "src/exchange/wire_packer.h"

namespace trireme {

/// What gradients travel as, as --wire spells it.
struct WireName {
  std::string_view name;
  DType type;
};
std::span<const WireName> wire_names();
/// `name` is one of wire_names().
DType wire_type(std::string_view name);

/// Where gradients and residuals lie.
struct WireMemory {
  WirePacker* packer = nullptr;       ///< for `type` and the memory of the gradients
  BufferSource* residuals = nullptr;  ///< memory of the same kind
};

/// Buckets that travel as bf16 or fp16, with error feedback: what rounding leaves over stays with the rank
/// and is added to its next gradient, so that nothing is lost, only late. BN statistics are exempt: they
/// travel as fp32 beside their bucket. All references must outlive it; `communicator` sums `type`.
class NarrowWire {
 public:
  /// `gradients`: flat, fp32, of the layout.
  NarrowWire(const Graph& graph, const FlatLayout& layout, const BucketPlan& plan, DType type,
             Communicator& communicator, float* gradients, const WireMemory& memory);
  /// Waits a few seconds for buckets in flight, whose memory ends here.
  ~NarrowWire();
  NarrowWire(const NarrowWire&) = delete;
  NarrowWire& operator=(const NarrowWire&) = delete;

  /// Rounds the bucket's gradients + residuals and starts their sum. The gradients are not read afterwards.
  void send(std::size_t bucket, Stream& stream);
  void wait(std::size_t bucket, Stream& stream);
  /// After wait(): writes the sum over the gradients, infinite where a value was too large for the wire. The
  /// same bits on every rank.
  void unpack(std::size_t bucket, Stream& stream);

  /// What this rank has not sent yet, in the order of the flat buffers; zero for statistics and gaps, and
  /// finite: of a value that has no finite rounding nothing is kept. In the memory of the gradients.
  std::span<float> residual();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

/// Bytes that a NarrowWire allocates from its communicator.
std::size_t narrow_wire_bytes(const Graph& graph, const FlatLayout& layout);

}  // namespace trireme
