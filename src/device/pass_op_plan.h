// SPDX-License-Identifier: Apache-2.0
// The frame that devices put their ops in: passes are functions, and errors of a pass name op and shapes.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "src/device/device.h"

namespace trireme {

/// An op's pass bound to its memory. Passes own what they use and may outlive the plan.
using Pass = std::function<void(const RunContext& context)>;

/// "layer1.0.conv1, conv2d [128,32,32,16] to [128,32,32,16]"; without the name where the request has none.
std::string describe(const OpRequest& request);

/// Runs `body`; what a library throws in it comes back as an Error at `place`.
using RunAt = void (*)(const std::string& place, const std::function<void()>& body);

class PassOpPlan : public OpPlan {
 public:
  PassOpPlan(const OpRequest& request, RunAt run_at)
      : training_(request.training), place_(describe(request)), run_at_(run_at) {}
  std::unique_ptr<Op> make_forward(const Bindings& bindings) const final;
  std::unique_ptr<Op> make_backward(const Bindings& bindings) const final;

 protected:
  virtual Pass bind_forward(const Bindings& bindings) const = 0;
  virtual Pass bind_backward(const Bindings& bindings) const = 0;
  /// The passes' parts after the sums over all ranks, in ops with GroupSums.
  virtual Pass bind_forward_end(const Bindings& /*bindings*/) const { return {}; }
  virtual Pass bind_backward_end(const Bindings& /*bindings*/) const { return {}; }

  bool training_;

 private:
  std::string place_;
  RunAt run_at_;
};

}  // namespace trireme
