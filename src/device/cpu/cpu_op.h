// SPDX-License-Identifier: Apache-2.0
// What the ops of the cpu device share: the engine, primitives bound to memory, ranges of scratch, and the
// frame that names op and shapes in every error of oneDNN.
#pragma once

#include <algorithm>
#include <cstddef>
#include <dnnl.hpp>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "src/core/error.h"
#include "src/device/cpu/onednn_layout.h"
#include "src/device/pass_op_plan.h"

namespace trireme::cpu {

struct CpuEngine {
  dnnl::engine engine{dnnl::engine::kind::cpu, 0};
  dnnl::stream stream{engine};

  /// Memory at `data`. oneDNN may write zeros to the padding of blocked channels here.
  dnnl::memory memory(const dnnl::memory::desc& desc, const void* data) const {
    return {desc, engine, const_cast<void*>(data)};
  }
};

/// Byte ranges one after the other in one allocation, each aligned to a cache line.
class Ranges {
 public:
  explicit Ranges(std::size_t start = 0) : end_(start) {}
  /// Offset of a new range.
  std::size_t add(std::size_t bytes) {
    const std::size_t offset = (end_ + 63) / 64 * 64;
    end_ = offset + bytes;
    return offset;
  }
  std::size_t end() const { return end_; }

 private:
  std::size_t end_;
};

/// Address `offset` bytes into `base`.
template <typename T = void>
T* at(void* base, std::size_t offset) {
  return reinterpret_cast<T*>(static_cast<std::byte*>(base) + offset);
}

/// Primitives bound to memory, run one after the other. Runs without allocating.
class Steps {
 public:
  using Argument = std::pair<int, dnnl::memory>;

  explicit Steps(const CpuEngine& engine) : engine_(engine) {}
  /// Arguments with an empty memory (no bias, no scratchpad) are left out.
  void add(const dnnl::primitive& primitive, const std::vector<Argument>& arguments);
  /// to = from, or to += from.
  void reorder(const dnnl::memory& from, const dnnl::memory& to, bool accumulate = false);
  /// The memory itself if it lies as `wanted` already, else memory at `scratch` that a reorder step fills.
  dnnl::memory arranged(const dnnl::memory& from, const dnnl::memory::desc& wanted, void* scratch);
  void run() const;

 private:
  struct Step {
    dnnl::primitive primitive;
    std::vector<dnnl::memory> memories;  ///< keeps what `arguments` names alive
    std::vector<dnnl_exec_arg_t> arguments;
  };
  CpuEngine engine_;
  std::vector<Step> steps_;
};

/// Primitives take their scratchpad from the op's scratch memory.
dnnl::primitive_attr user_scratchpad();
/// The scratchpad argument; empty if the primitive needs none.
dnnl::memory scratchpad_memory(const CpuEngine& engine, const dnnl::memory::desc& desc, void* data);

/// The exception that tells a fault of oneDNN at `place`.
Error translate(const dnnl::error& error, const std::string& place);

template <typename F>
auto translating(const std::string& place, F&& body) {
  try {
    return body();
  } catch (const dnnl::error& error) {
    throw translate(error, place);
  }
}

/// The same as RunAt.
void run_translated(const std::string& place, const std::function<void()>& body);

/// Base of all plans of the cpu device.
class CpuOpPlan : public PassOpPlan {
 public:
  CpuOpPlan(const CpuEngine& engine, const OpRequest& request)
      : PassOpPlan(request, run_translated), engine_(engine) {}

 protected:
  CpuEngine engine_;
};

// One function per op, each in the file of that name.
std::unique_ptr<OpPlan> make_plan(const CpuEngine& engine, const OpRequest& request, const InputOp& op);
std::unique_ptr<OpPlan> make_plan(const CpuEngine& engine, const OpRequest& request, const Conv2dOp& op);
std::unique_ptr<OpPlan> make_plan(const CpuEngine& engine, const OpRequest& request, const BatchNormOp& op);
std::unique_ptr<OpPlan> make_plan(const CpuEngine& engine, const OpRequest& request, const ReluOp& op);
std::unique_ptr<OpPlan> make_plan(const CpuEngine& engine, const OpRequest& request, const MaxPoolOp& op);
std::unique_ptr<OpPlan> make_plan(const CpuEngine& engine, const OpRequest& request,
                                  const AdaptiveAvgPoolOp& op);
std::unique_ptr<OpPlan> make_plan(const CpuEngine& engine, const OpRequest& request, const LinearOp& op);
std::unique_ptr<OpPlan> make_plan(const CpuEngine& engine, const OpRequest& request, const DropoutOp& op);
std::unique_ptr<OpPlan> make_plan(const CpuEngine& engine, const OpRequest& request, const AddOp& op);
std::unique_ptr<OpPlan> make_plan(const CpuEngine& engine, const OpRequest& request, const FlattenOp& op);
std::unique_ptr<OpPlan> make_plan(const CpuEngine& engine, const OpRequest& request,
                                  const SoftmaxCrossEntropyOp& op);

}  // namespace trireme::cpu
