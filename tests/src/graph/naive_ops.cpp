// SPDX-License-Identifier: Apache-2.0
#include "tests/src/graph/naive_ops.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "src/core/error.h"
#include "src/core/philox.h"
#include "tests/src/graph/naive_access.h"

namespace trireme::testing {

namespace {

void input_forward(const Request& r, const Bindings& b, const RunContext& c) {
  std::copy_n(static_cast<const float*>(c.images), r.output_shape.count(), out(b));
}

void relu_forward(const Request& r, const Bindings& b, const RunContext&) {
  for (i64 i = 0; i < r.output_shape.count(); ++i) out(b)[i] = std::max(in(b)[i], 0.0F);
}

void relu_backward(const Request& r, const Bindings& b, const RunContext&) {
  for (i64 i = 0; i < r.output_shape.count(); ++i) din(b)[i] = static_cast<float>(masked(b, true, i));
}

void max_forward(const Request& r, const Bindings& b, const RunContext&) {
  const auto& op = std::get<MaxPoolOp>(r.op);
  const Shape &x = r.inputs[0].shape, &y = r.output_shape;
  for (i64 i = 0; i < y.count(); ++i) {
    const i64 ch = i % y[3], w = i / y[3] % y[2], h = i / y[3] / y[2] % y[1], n = i / y[3] / y[2] / y[1];
    float best = -std::numeric_limits<float>::infinity();
    i64 where = -1;
    for (i64 k = 0; k < op.kernel_h * op.kernel_w; ++k) {
      const i64 row = h * op.stride_h + k / op.kernel_w - op.pad_h;
      const i64 column = w * op.stride_w + k % op.kernel_w - op.pad_w;
      if (row < 0 || row >= x[1] || column < 0 || column >= x[2]) continue;
      const i64 at = ((n * x[1] + row) * x[2] + column) * x[3] + ch;
      if (in(b)[at] > best) best = in(b)[where = at];
    }
    out(b)[i] = best;
    if (r.training) saved<i64>(b)[i] = where;
  }
}

void max_backward(const Request& r, const Bindings& b, const RunContext&) {
  std::fill_n(din(b), r.inputs[0].shape.count(), 0.0F);
  for (i64 i = 0; i < r.output_shape.count(); ++i) din(b)[saved<i64>(b)[i]] += dout(b)[i];
}

// Calls visit(output index, input index, elements of the window) for every element that a window covers.
template <typename Visit>
void for_each_pooled(const Request& r, Visit&& visit) {
  const Shape &x = r.inputs[0].shape, &y = r.output_shape;
  for (i64 i = 0; i < y.count(); ++i) {
    const i64 ch = i % y[3], w = i / y[3] % y[2], h = i / y[3] / y[2] % y[1], n = i / y[3] / y[2] / y[1];
    const i64 top = h * x[1] / y[1], bottom = ((h + 1) * x[1] + y[1] - 1) / y[1];
    const i64 left = w * x[2] / y[2], right = ((w + 1) * x[2] + y[2] - 1) / y[2];
    const auto area = static_cast<double>((bottom - top) * (right - left));
    for (i64 row = top; row < bottom; ++row)
      for (i64 column = left; column < right; ++column)
        visit(i, ((n * x[1] + row) * x[2] + column) * x[3] + ch, area);
  }
}

void avg_forward(const Request& r, const Bindings& b, const RunContext&) {
  std::vector<double> sums(static_cast<std::size_t>(r.output_shape.count()));
  for_each_pooled(r,
                  [&](i64 y, i64 x, double area) { sums[static_cast<std::size_t>(y)] += in(b)[x] / area; });
  for (std::size_t i = 0; i < sums.size(); ++i) out(b)[i] = static_cast<float>(sums[i]);
}

void avg_backward(const Request& r, const Bindings& b, const RunContext&) {
  std::fill_n(din(b), r.inputs[0].shape.count(), 0.0F);
  for_each_pooled(r, [&](i64 y, i64 x, double area) { din(b)[x] += static_cast<float>(dout(b)[y] / area); });
}

void dropout_forward(const Request& r, const Bindings& b, const RunContext& c) {
  const auto& op = std::get<DropoutOp>(r.op);
  const i64 features = r.output_shape.count() / r.output_shape[0];
  TRIREME_ASSERT(r.output_shape.rank() == 2, "the naive device drops features only");
  for (i64 n = 0; n < r.output_shape[0]; ++n) {
    Philox random(c.seed, static_cast<std::uint16_t>(static_cast<int>(RandomStream::dropout) + op.ordinal),
                  c.epoch, static_cast<std::uint64_t>(c.sample_ids[n]));
    for (i64 i = n * features; i < (n + 1) * features; ++i) {
      const bool kept = static_cast<double>(random.next_uniform()) >= op.probability;
      const double scale = !r.training ? 1 : kept ? 1 / (1 - op.probability) : 0;
      if (r.training) saved<float>(b)[i] = static_cast<float>(scale);
      out(b)[i] = static_cast<float>(in(b)[i] * scale);
    }
  }
}

void dropout_backward(const Request& r, const Bindings& b, const RunContext&) {
  for (i64 i = 0; i < r.output_shape.count(); ++i) din(b)[i] = dout(b)[i] * saved<float>(b)[i];
}

void add_forward(const Request& r, const Bindings& b, const RunContext&) {
  const bool relu = std::get<AddOp>(r.op).relu;
  for (i64 i = 0; i < r.output_shape.count(); ++i) {
    const float sum = in(b, 0)[i] + in(b, 1)[i];
    out(b)[i] = relu ? std::max(sum, 0.0F) : sum;
  }
}

void add_backward(const Request& r, const Bindings& b, const RunContext&) {
  const bool relu = std::get<AddOp>(r.op).relu;
  for (i64 i = 0; i < r.output_shape.count(); ++i) {
    const float dy = static_cast<float>(masked(b, relu, i));
    for (std::size_t k = 0; k < 2; ++k)
      if (din(b, k) != nullptr) din(b, k)[i] = dy;
  }
}

// Calls visit(index in C,H,W order, index in H,W,C order).
template <typename Visit>
void for_each_flattened(const Request& r, Visit&& visit) {
  const Shape& x = r.inputs[0].shape;
  const i64 area = x[1] * x[2];
  for (i64 n = 0; n < x[0]; ++n)
    for (i64 hw = 0; hw < area; ++hw)
      for (i64 ch = 0; ch < x[3]; ++ch) visit((n * x[3] + ch) * area + hw, (n * area + hw) * x[3] + ch);
}

void flatten_forward(const Request& r, const Bindings& b, const RunContext&) {
  for_each_flattened(r, [&](i64 chw, i64 hwc) { out(b)[chw] = in(b)[hwc]; });
}
void flatten_backward(const Request& r, const Bindings& b, const RunContext&) {
  for_each_flattened(r, [&](i64 chw, i64 hwc) { din(b)[hwc] = dout(b)[chw]; });
}

void loss_forward(const Request& r, const Bindings& b, const RunContext& c) {
  const i64 rows = r.inputs[0].shape[0], classes = r.inputs[0].shape[1];
  const double smoothing = r.training ? std::get<SoftmaxCrossEntropyOp>(r.op).label_smoothing : 0;
  for (i64 n = 0; n < rows; ++n) {
    out(b)[n] = 0;
    if (n >= c.valid_samples) continue;
    const float* z = in(b) + n * classes;
    const double largest = *std::max_element(z, z + classes);
    double sum = 0, loss = 0;
    for (i64 k = 0; k < classes; ++k) sum += std::exp(z[k] - largest);
    i64 rank = 0;
    for (i64 k = 0; k < classes; ++k) {
      const double target = (k == c.labels[n] ? 1 - smoothing : 0) + smoothing / static_cast<double>(classes);
      loss -= target * (z[k] - largest - std::log(sum));
      rank += z[k] > z[c.labels[n]] || (z[k] == z[c.labels[n]] && k < c.labels[n]) ? 1 : 0;
      if (r.training)
        saved<float>(b)[n * classes + k] = static_cast<float>(std::exp(z[k] - largest) / sum - target);
    }
    out(b)[n] = static_cast<float>(loss);
    b.record->loss_sum += loss;
    b.record->loss_fixed += std::llrint(loss * (1 << 24));
    b.record->samples += 1;
    b.record->top1 += rank < 1 ? 1 : 0;
    b.record->top5 += rank < 5 ? 1 : 0;
  }
}

void loss_backward(const Request& r, const Bindings& b, const RunContext& c) {
  const i64 classes = r.inputs[0].shape[1];
  for (i64 i = 0; i < r.inputs[0].shape.count(); ++i)
    din(b)[i] = i / classes < c.valid_samples ? saved<float>(b)[i] * c.gradient_scale : 0.0F;
}

}  // namespace

NaiveKernel kernel_of(const OpRequest& request) {
  static const NaiveKernel kKernels[] = {{input_forward, nullptr, {}, false, false},
                                         {conv_forward, conv_backward, {}, false, false},
                                         {norm_forward, norm_backward, {}, true, true},
                                         {relu_forward, relu_backward, {}, true, true},
                                         {max_forward, max_backward, {}, false, false},
                                         {avg_forward, avg_backward, {}, false, false},
                                         {linear_forward, linear_backward, {}, false, false},
                                         {dropout_forward, dropout_backward, {}, true, true},
                                         {add_forward, add_backward, {}, true, true},
                                         {flatten_forward, flatten_backward, {}, false, false},
                                         {loss_forward, loss_backward, {}, false, false}};
  NaiveKernel kernel = kKernels[request.op.index()];
  OpFacts& facts = kernel.facts;
  const auto count = static_cast<std::size_t>(request.output_shape.count());
  const bool norm_or_linear =
      std::holds_alternative<BatchNormOp>(request.op) || std::holds_alternative<LinearOp>(request.op);
  facts.backward_needs_inputs = norm_or_linear || std::holds_alternative<Conv2dOp>(request.op);
  facts.backward_needs_output = std::holds_alternative<ReluOp>(request.op);
  if (const auto* conv = std::get_if<Conv2dOp>(&request.op)) facts.backward_needs_output = conv->relu;
  if (const auto* linear = std::get_if<LinearOp>(&request.op)) facts.backward_needs_output = linear->relu;
  if (const auto* norm = std::get_if<BatchNormOp>(&request.op)) {
    facts.backward_needs_output = norm->relu;
    facts.in_place_gradient = norm->residual ? 1 : 0;
  }
  facts.adds_to_input_grad =
      std::holds_alternative<Conv2dOp>(request.op) || std::holds_alternative<LinearOp>(request.op);
  if (const auto* add = std::get_if<AddOp>(&request.op)) {
    facts.backward_needs_output = add->relu;
    facts.grads_are_aliases = !add->relu;
  }
  if (!request.training) return kernel;
  if (std::holds_alternative<BatchNormOp>(request.op))
    facts.saved_bytes = 2 * static_cast<std::size_t>(request.output_shape[3]) * sizeof(double);
  if (std::holds_alternative<MaxPoolOp>(request.op)) facts.saved_bytes = count * sizeof(i64);
  if (std::holds_alternative<DropoutOp>(request.op)) facts.saved_bytes = count * sizeof(float);
  if (std::holds_alternative<SoftmaxCrossEntropyOp>(request.op)) facts.saved_bytes = request.inputs[0].bytes;
  return kernel;
}

}  // namespace trireme::testing
