// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <vector>

#include "tests/src/graph/naive_access.h"
#include "tests/src/graph/naive_ops.h"

namespace trireme::testing {

namespace {

// Calls visit(output index, weight index, input index) for every product of the convolution.
template <typename Visit>
void for_each_product(const Request& r, Visit&& visit) {
  const auto& op = std::get<Conv2dOp>(r.op);
  const Shape &x = r.inputs[0].shape, &y = r.output_shape;
  for (i64 n = 0; n < y[0]; ++n)
    for (i64 h = 0; h < y[1]; ++h)
      for (i64 w = 0; w < y[2]; ++w)
        for (i64 o = 0; o < y[3]; ++o)
          for (i64 kh = 0; kh < op.kernel_h; ++kh)
            for (i64 kw = 0; kw < op.kernel_w; ++kw) {
              const i64 row = h * op.stride_h + kh - op.pad_h, column = w * op.stride_w + kw - op.pad_w;
              if (row < 0 || row >= x[1] || column < 0 || column >= x[2]) continue;
              for (i64 i = 0; i < x[3]; ++i)
                visit(((n * y[1] + h) * y[2] + w) * y[3] + o,
                      ((o * op.kernel_h + kh) * op.kernel_w + kw) * x[3] + i,
                      ((n * x[1] + row) * x[2] + column) * x[3] + i);
            }
}

}  // namespace

void conv_forward(const Request& r, const Bindings& b, const RunContext&) {
  const auto& op = std::get<Conv2dOp>(r.op);
  std::vector<double> sums(static_cast<std::size_t>(r.output_shape.count()));
  for_each_product(r, [&](i64 y, i64 w, i64 x) {
    sums[static_cast<std::size_t>(y)] += static_cast<double>(b.parameters[0][w]) * in(b)[x];
  });
  for (i64 y = 0; y < r.output_shape.count(); ++y) {
    const double bias = op.bias ? b.parameters[1][y % op.out_channels] : 0.0F;
    out(b)[y] = static_cast<float>(rectified(sums[static_cast<std::size_t>(y)] + bias, op.relu));
  }
}

void conv_backward(const Request& r, const Bindings& b, const RunContext& c) {
  const auto& op = std::get<Conv2dOp>(r.op);
  const i64 inputs = r.inputs[0].shape.count();
  std::vector<double> dx(static_cast<std::size_t>(inputs));
  std::vector<double> dw(
      static_cast<std::size_t>(op.out_channels * op.kernel_h * op.kernel_w * r.inputs[0].shape[3]));
  std::vector<double> db(static_cast<std::size_t>(op.out_channels));
  for_each_product(r, [&](i64 y, i64 w, i64 x) {
    const double dy = masked(b, op.relu, y);
    dx[static_cast<std::size_t>(x)] += dy * b.parameters[0][w];
    dw[static_cast<std::size_t>(w)] += dy * in(b)[x];
  });
  for (i64 y = 0; y < r.output_shape.count(); ++y)
    db[static_cast<std::size_t>(y % op.out_channels)] += masked(b, op.relu, y);
  if (din(b) != nullptr)
    for (i64 i = 0; i < inputs; ++i) store_input_grad(b, i, dx[static_cast<std::size_t>(i)]);
  for (std::size_t i = 0; i < dw.size(); ++i) store(b.parameter_grads[0] + i, dw[i], c.accumulate);
  for (std::size_t i = 0; op.bias && i < db.size(); ++i) store(b.parameter_grads[1] + i, db[i], c.accumulate);
}

void norm_forward(const Request& r, const Bindings& b, const RunContext&) {
  const auto& op = std::get<BatchNormOp>(r.op);
  const i64 channels = r.output_shape[3], rows = r.output_shape.count() / channels;
  for (i64 ch = 0; ch < channels; ++ch) {
    double mean = b.parameters[2][ch], var = b.parameters[3][ch];
    if (r.training) {
      mean = var = 0;
      for (i64 i = 0; i < rows; ++i) mean += in(b)[i * channels + ch] / static_cast<double>(rows);
      for (i64 i = 0; i < rows; ++i)
        var += std::pow(in(b)[i * channels + ch] - mean, 2) / static_cast<double>(rows);
      saved<double>(b)[ch] = mean;
      saved<double>(b)[channels + ch] = var;
    }
    const double scale = b.parameters[0][ch] / std::sqrt(var + op.epsilon);
    for (i64 i = 0; i < rows; ++i) {
      const double y = (in(b)[i * channels + ch] - mean) * scale + b.parameters[1][ch];
      // Rounded before the residual is added, as where the addition is a node of its own.
      const float sum = static_cast<float>(y) + (op.residual ? in(b, 1)[i * channels + ch] : 0.0F);
      out(b)[i * channels + ch] = static_cast<float>(rectified(static_cast<double>(sum), op.relu));
    }
  }
}

void norm_backward(const Request& r, const Bindings& b, const RunContext& c) {
  const auto& op = std::get<BatchNormOp>(r.op);
  const i64 channels = r.output_shape[3], rows = r.output_shape.count() / channels;
  const auto count = static_cast<double>(rows);
  for (i64 ch = 0; ch < channels; ++ch) {
    const double mean = saved<double>(b)[ch], var = saved<double>(b)[channels + ch];
    const double inverse = 1 / std::sqrt(var + op.epsilon);
    double sum = 0, sum_x = 0;
    for (i64 i = ch; i < rows * channels; i += channels) {
      sum += masked(b, op.relu, i);
      sum_x += masked(b, op.relu, i) * (in(b)[i] - mean) * inverse;
    }
    for (i64 i = ch; din(b) != nullptr && i < rows * channels; i += channels) {
      const double normal = (in(b)[i] - mean) * inverse;
      const double dx = masked(b, op.relu, i) - sum / count - normal * sum_x / count;
      din(b)[i] = static_cast<float>(b.parameters[0][ch] * inverse * dx);
    }
    for (i64 i = ch; op.residual && din(b, 1) != nullptr && i < rows * channels; i += channels)
      din(b, 1)[i] = static_cast<float>(masked(b, op.relu, i));
    store(b.parameter_grads[0] + ch, sum_x, c.accumulate);
    store(b.parameter_grads[1] + ch, sum, c.accumulate);
    store(b.parameter_grads[2] + ch, c.share_weight * mean, c.accumulate);
    store(b.parameter_grads[3] + ch, c.share_weight * var * count / (count - 1), c.accumulate);
  }
}

void linear_forward(const Request& r, const Bindings& b, const RunContext&) {
  const i64 rows = r.output_shape[0], outs = r.output_shape[1], ins = r.inputs[0].shape[1];
  for (i64 n = 0; n < rows; ++n)
    for (i64 o = 0; o < outs; ++o) {
      double sum = std::get<LinearOp>(r.op).bias ? b.parameters[1][o] : 0.0F;
      for (i64 i = 0; i < ins; ++i)
        sum += static_cast<double>(in(b)[n * ins + i]) * b.parameters[0][o * ins + i];
      out(b)[n * outs + o] = static_cast<float>(rectified(sum, std::get<LinearOp>(r.op).relu));
    }
}

void linear_backward(const Request& r, const Bindings& b, const RunContext& c) {
  const i64 rows = r.output_shape[0], outs = r.output_shape[1], ins = r.inputs[0].shape[1];
  const bool relu = std::get<LinearOp>(r.op).relu;
  for (i64 o = 0; o < outs; ++o) {
    double db = 0;
    for (i64 n = 0; n < rows; ++n) db += masked(b, relu, n * outs + o);
    if (std::get<LinearOp>(r.op).bias) store(b.parameter_grads[1] + o, db, c.accumulate);
    for (i64 i = 0; i < ins; ++i) {
      double dw = 0;
      for (i64 n = 0; n < rows; ++n) dw += masked(b, relu, n * outs + o) * in(b)[n * ins + i];
      store(b.parameter_grads[0] + o * ins + i, dw, c.accumulate);
    }
  }
  for (i64 n = 0; din(b) != nullptr && n < rows; ++n)
    for (i64 i = 0; i < ins; ++i) {
      double dx = 0;
      for (i64 o = 0; o < outs; ++o) dx += masked(b, relu, n * outs + o) * b.parameters[0][o * ins + i];
      store_input_grad(b, n * ins + i, dx);
    }
}

}  // namespace trireme::testing
