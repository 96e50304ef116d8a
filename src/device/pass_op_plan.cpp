// SPDX-License-Identifier: Apache-2.0
#include "src/device/pass_op_plan.h"

#include <fmt/ranges.h>

#include <utility>
#include <vector>

#include "src/core/error.h"

namespace trireme {
namespace {

class PassOp final : public Op {
 public:
  PassOp(std::string place, RunAt run_at, Pass pass, Pass end)
      : place_(std::move(place)), run_at_(run_at), pass_(std::move(pass)), end_(std::move(end)) {}
  void run(const RunContext& context) override { run(pass_, context); }
  void finish(const RunContext& context) override {
    TRIREME_ASSERT(end_, "only an op with sums over all ranks has a second part");
    run(end_, context);
  }

 private:
  void run(const Pass& part, const RunContext& context) const {
    const auto body = [&] { part(context); };
    run_at_(place_, std::cref(body));  // a reference: nothing is allocated
  }

  std::string place_;
  RunAt run_at_;
  Pass pass_, end_;
};

}  // namespace

std::string describe(const OpRequest& request) {
  std::vector<std::string> inputs;
  inputs.reserve(request.inputs.size());
  for (const ValueSpec& input : request.inputs) inputs.push_back(input.shape.text());
  const std::string name = request.name.empty() ? "" : request.name + ", ";
  return fmt::format("{}{} {} to {}", name, op_name(request.op), fmt::join(inputs, " and "),
                     request.output_shape.text());
}

std::unique_ptr<Op> PassOpPlan::make_forward(const Bindings& bindings) const {
  std::unique_ptr<Op> op;
  run_at_(place_, [&] {
    op = std::make_unique<PassOp>(place_, run_at_, bind_forward(bindings), bind_forward_end(bindings));
  });
  return op;
}

std::unique_ptr<Op> PassOpPlan::make_backward(const Bindings& bindings) const {
  TRIREME_ASSERT(training_, "an inference plan has no backward pass");
  const std::string place = "backward of " + place_;
  std::unique_ptr<Op> op;
  run_at_(place, [&] {
    op = std::make_unique<PassOp>(place, run_at_, bind_backward(bindings), bind_backward_end(bindings));
  });
  return op;
}

}  // namespace trireme
