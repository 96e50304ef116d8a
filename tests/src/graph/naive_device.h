// SPDX-License-Identifier: Apache-2.0
// A device of plain loops over dense fp32 with float64 sums, for tests of Program: what is allowed in place
// and what is an alias can be switched, outputs and scratch are poisoned before every pass.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "src/device/inline_stream.h"

namespace trireme::testing {

struct NaiveOptions {
  bool in_place = true;  ///< claims that outputs and gradients may be overwritten where the loops allow it
  bool alias = true;     ///< claims that the gradients of a plain addition are aliases
  bool adds_gradients = true;  ///< claims that convolutions and linear layers can add to an input's gradient
  std::vector<Fusion> fusions = {};
};

class NaiveDevice final : public Device {
 public:
  explicit NaiveDevice(NaiveOptions options = {}) : options_(std::move(options)) {}

  DeviceKind kind() const override { return DeviceKind::cpu; }
  std::string description() const override { return "naive"; }
  std::unique_ptr<Buffer> allocate(std::size_t bytes) override;
  Stream& compute_stream() override { return stream_; }
  BufferSource& host_memory() override { return host_memory_; }
  std::vector<float> read(const ValueSpec& spec, const void* data, Stream& stream) override;
  std::unique_ptr<Stream> make_stream() override;
  std::unique_ptr<Event> make_event() override;
  void copy(const Tensor& destination, const Tensor& source, Stream& stream) override;
  void zero(void* data, std::size_t bytes, Stream& stream) override;
  std::span<const Fusion> fusions() const override { return options_.fusions; }
  std::unique_ptr<OpPlan> plan_op(const OpRequest& request) override;

 private:
  NaiveOptions options_;
  InlineStream stream_;
  HostMemory host_memory_;
};

}  // namespace trireme::testing
