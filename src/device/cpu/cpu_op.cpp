// SPDX-License-Identifier: Apache-2.0
#include "src/device/cpu/cpu_op.h"

namespace trireme::cpu {
void Steps::add(const dnnl::primitive& primitive, const std::vector<Argument>& arguments) {
  Step step{primitive, {}, {}};
  for (const auto& [index, memory] : arguments) {
    if (memory.get(true) == nullptr) continue;
    step.memories.push_back(memory);
    step.arguments.push_back({index, memory.get()});
  }
  steps_.push_back(std::move(step));
}

void Steps::reorder(const dnnl::memory& from, const dnnl::memory& to, bool accumulate) {
  dnnl::primitive_attr attributes = user_scratchpad();
  if (accumulate) {
    dnnl::post_ops sum;
    sum.append_sum(1.0F);
    attributes.set_post_ops(sum);
  }
  const dnnl::reorder::primitive_desc plan(engine_.engine, from.get_desc(), engine_.engine, to.get_desc(),
                                           attributes);
  TRIREME_ASSERT(plan.scratchpad_desc().get_size() == 0, "fp32 reorders need no scratchpad");
  add(dnnl::reorder(plan), {{DNNL_ARG_FROM, from}, {DNNL_ARG_TO, to}});
}

dnnl::memory Steps::arranged(const dnnl::memory& from, const dnnl::memory::desc& wanted, void* scratch) {
  if (from.get_desc() == wanted) return from;
  dnnl::memory to = engine_.memory(wanted, scratch);
  reorder(from, to);
  return to;
}

void Steps::run() const {
  for (const Step& step : steps_)
    dnnl::error::wrap_c_api(
        dnnl_primitive_execute(step.primitive.get(), engine_.stream.get(),
                               static_cast<int>(step.arguments.size()), step.arguments.data()),
        "could not execute a primitive");
}

dnnl::primitive_attr user_scratchpad() {
  dnnl::primitive_attr attributes;
  attributes.set_scratchpad_mode(dnnl::scratchpad_mode::user);
  return attributes;
}

dnnl::memory scratchpad_memory(const CpuEngine& engine, const dnnl::memory::desc& desc, void* data) {
  return desc.get_size() == 0 ? dnnl::memory() : engine.memory(desc, data);
}

Error translate(const dnnl::error& error, const std::string& place) {
  if (error.status == dnnl_out_of_memory)
    return make_error(Status::configuration, "out of memory in oneDNN ({})", error.what())
        .at(place)
        .hint("use a smaller --global-batch or --eval-batch");
  if (error.status == dnnl_unimplemented)
    return make_error(Status::configuration, "this oneDNN cannot do that ({})", error.what()).at(place);
  return make_error(Status::internal, "oneDNN failed with status {} ({})", static_cast<int>(error.status),
                    error.what())
      .at(place);
}

void run_translated(const std::string& place, const std::function<void()>& body) {
  translating(place, body);
}

}  // namespace trireme::cpu
