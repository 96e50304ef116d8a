// SPDX-License-Identifier: Apache-2.0
// The distinct convolutions of resnet50 and those of vgg16 that it lacks, bf16, all passes; and one in the
// other types.
#include <algorithm>
#include <string>

#include "bench/kernels/kernel_case.h"
#include "bench/kernels/operands.h"
#include "kernels/conv2d/conv2d.h"
#include "kernels/reference/conv2d.h"

namespace trireme::bench {
namespace {

using kernels::Conv2dShape;

struct Layer {
  const char* name;
  std::int64_t size, in, out, kernel, stride, pad;
};

constexpr Layer kLayers[] = {
    {"resnet50.conv1", 224, 3, 64, 7, 2, 3},
    {"resnet50.layer1.conv1", 56, 256, 64, 1, 1, 0},
    {"resnet50.layer1.conv2", 56, 64, 64, 3, 1, 1},
    {"resnet50.layer1.conv3", 56, 64, 256, 1, 1, 0},
    {"resnet50.layer2.0.conv1", 56, 256, 128, 1, 1, 0},
    {"resnet50.layer2.0.conv2", 56, 128, 128, 3, 2, 1},
    {"resnet50.layer2.0.down", 56, 256, 512, 1, 2, 0},
    {"resnet50.layer2.conv2", 28, 128, 128, 3, 1, 1},
    {"resnet50.layer2.conv3", 28, 128, 512, 1, 1, 0},
    {"resnet50.layer3.conv2", 14, 256, 256, 3, 1, 1},
    {"resnet50.layer3.conv3", 14, 256, 1024, 1, 1, 0},
    {"resnet50.layer4.conv1", 7, 2048, 512, 1, 1, 0},
    {"resnet50.layer4.conv2", 7, 512, 512, 3, 1, 1},
    {"vgg16.conv1_2", 224, 64, 64, 3, 1, 1},
    {"vgg16.conv2_2", 112, 128, 128, 3, 1, 1},
    {"vgg16.conv4_2", 28, 512, 512, 3, 1, 1},
};

template <typename T>
Conv2dShape shape_of(const Layer& layer, std::int64_t batch, std::int64_t size) {
  const bool is_stem = layer.in <= 4 && sizeof(T) == 2;
  return {batch,
          size,
          size,
          layer.in,
          is_stem ? 4 : test::pitch_of<T>(layer.in),
          layer.out,
          test::pitch_of<T>(layer.out),
          layer.kernel,
          layer.kernel,
          layer.stride,
          layer.stride,
          layer.pad,
          layer.pad};
}

constexpr int kMultiprocessors = 132;

/// All operands of one convolution.
template <typename T>
struct Operands {
  explicit Operands(const Conv2dShape& s)
      : shape(s),
        x(random_array<T>(s.in_pixels(), s.in_channels, s.in_pitch, 1)),
        y(random_array<T>(s.out_pixels(), s.out_channels, s.out_pitch, 2)),
        dx(make_array<T>(s.in_pixels() * s.in_pitch)),
        packed(make_array<T>(kernels::conv2d_packed_weights_size<T>(s))),
        weights(test::random_rows<T>(s.out_channels * s.kernel_h * s.kernel_w, s.in_channels, 3)),
        master(make_array(weights)),
        dweights(make_array<float>(static_cast<std::int64_t>(weights.size()))),
        workspace(make_array<std::uint8_t>(static_cast<std::int64_t>(
            kernels::conv2d_backward_weights_workspace_bytes<T>(s, kMultiprocessors) + 16))) {
    kernels::conv2d_pack_weights(packed->data(), master->data(), s, nullptr);
  }

  void forward(cudaStream_t stream) const {
    kernels::Conv2dForward<T> pass{y->data(), x->data(), packed->data()};
    kernels::conv2d_forward(pass, shape, stream);
  }
  void backward_data(cudaStream_t stream) const {
    kernels::conv2d_backward_data<T>({dx->data(), y->data(), packed->data()}, shape, stream);
  }
  void backward_weights(cudaStream_t stream) const {
    kernels::Conv2dBackwardWeights<T> pass{dweights->data(), nullptr, x->data(), y->data(),
                                           workspace->data()};
    kernels::conv2d_backward_weights(pass, shape, kMultiprocessors, stream);
  }

  Conv2dShape shape;
  Array<T> x, y, dx, packed;
  std::vector<float> weights;
  Array<float> master, dweights;
  Array<std::uint8_t> workspace;
};

enum class Pass { forward, backward_data, backward_weights };
constexpr const char* kPassNames[] = {"forward", "backward_data", "backward_weights"};

template <typename T>
void launch(const Operands<T>& operands, Pass pass, cudaStream_t stream) {
  if (pass == Pass::forward) return operands.forward(stream);
  if (pass == Pass::backward_data) return operands.backward_data(stream);
  operands.backward_weights(stream);
}

template <typename T>
std::string check(const Layer& layer, Pass pass) {
  const Conv2dShape s = shape_of<T>(layer, 1, std::min<std::int64_t>(layer.size, 14));
  const reference::Conv2dShape r{1,          s.in_h,     s.in_w,     s.in_channels, s.out_channels,
                                 s.kernel_h, s.kernel_w, s.stride_h, s.stride_w,    s.pad_h,
                                 s.pad_w};
  const Operands<T> operands(s);
  const std::vector<double> x = widened(dense_values(*operands.x, s.in_channels, s.in_pitch));
  const std::vector<double> dy = widened(dense_values(*operands.y, s.out_channels, s.out_pitch));
  const std::vector<double> weights = widened(operands.weights);
  launch(operands, pass, nullptr);
  constexpr double kLimit = 0.01;  // of the largest value: bf16 rounds by 0.004
  if (pass == Pass::forward) {
    std::vector<double> y(dy.size());
    reference::conv2d_forward<double>(y.data(), x.data(), weights.data(), nullptr, r);
    return compare("y", dense_values(*operands.y, s.out_channels, s.out_pitch), y, kLimit);
  }
  if (pass == Pass::backward_data) {
    std::vector<double> dx(x.size());
    reference::conv2d_backward_data(dx.data(), dy.data(), weights.data(), r);
    return compare("dx", dense_values(*operands.dx, s.in_channels, s.in_pitch), dx, kLimit);
  }
  std::vector<double> dweights(weights.size());
  reference::conv2d_backward_weights<double>(dweights.data(), nullptr, x.data(), dy.data(), r);
  return compare("dweights", operands.dweights->to_host(), dweights, kLimit);
}

template <typename T>
KernelCase make_case(const Layer& layer, Pass pass, const char* type, Scale scale) {
  const Conv2dShape s = scale == Scale::card ? shape_of<T>(layer, 256, layer.size)
                                             : shape_of<T>(layer, 1, std::min<std::int64_t>(layer.size, 14));
  KernelCase one;
  one.name = std::string("conv2d/") + kPassNames[static_cast<int>(pass)] + "/" + type + "/" + layer.name;
  one.check = [layer, pass] { return check<T>(layer, pass); };
  one.prepare = [s, pass] {
    return [operands = std::make_shared<Operands<T>>(s), pass](cudaStream_t stream) {
      launch(*operands, pass, stream);
    };
  };
  one.flops =
      2.0 * static_cast<double>(s.out_pixels() * s.out_channels * s.kernel_h * s.kernel_w * s.in_channels);
  const double weights = static_cast<double>(kernels::conv2d_packed_weights_size<T>(s)) * sizeof(T);
  one.bytes =
      static_cast<double>(s.in_pixels() * s.in_pitch + s.out_pixels() * s.out_pitch) * sizeof(T) + weights;
  return one;
}

}  // namespace

std::vector<KernelCase> conv2d_cases(Scale scale) {
  std::vector<KernelCase> cases;
  for (const Layer& layer : kLayers)
    for (const Pass pass : {Pass::forward, Pass::backward_data, Pass::backward_weights}) {
      if (pass == Pass::backward_data && layer.in <= 4) continue;  // the first layer has none
      cases.push_back(make_case<kernels::BFloat16>(layer, pass, "bf16", scale));
    }
  for (const Pass pass : {Pass::forward, Pass::backward_data, Pass::backward_weights}) {
    cases.push_back(make_case<kernels::Half>(kLayers[7], pass, "fp16", scale));
    cases.push_back(make_case<kernels::Tf32>(kLayers[7], pass, "tf32", scale));
    cases.push_back(make_case<float>(kLayers[7], pass, "fp32", scale));
  }
  return cases;
}

}  // namespace trireme::bench
