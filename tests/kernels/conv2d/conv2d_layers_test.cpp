// SPDX-License-Identifier: Apache-2.0
// Layers of VGG16 and ResNet-50 with all their channels, pictures cut to at most 14 pixels.
#include "tests/kernels/conv2d/conv2d_problem.h"

namespace trireme::test {
namespace {

struct Layer {
  const char* name;
  Dimensions dimensions;
  bool stem = false;
};

std::vector<Layer> layers() {
  return {
      {"vgg16_conv1_1", square(1, 14, 3, 64, 3, 1, 1), true},
      {"vgg16_conv1_2", square(2, 14, 64, 64, 3, 1, 1)},
      {"vgg16_conv2_1", square(1, 14, 64, 128, 3, 1, 1)},
      {"vgg16_conv3_2", square(1, 14, 256, 256, 3, 1, 1)},
      {"vgg16_conv4_1", square(1, 7, 256, 512, 3, 1, 1)},
      {"vgg16_conv5_1", square(1, 7, 512, 512, 3, 1, 1)},
      {"resnet50_conv1", square(2, 14, 3, 64, 7, 2, 3), true},
      {"resnet50_layer1_conv1", square(2, 14, 64, 64, 1, 1, 0)},
      {"resnet50_layer1_conv3", square(2, 14, 64, 256, 1, 1, 0)},
      {"resnet50_layer2_conv2", square(2, 14, 128, 128, 3, 2, 1)},
      {"resnet50_layer2_downsample", square(2, 14, 256, 512, 1, 2, 0)},
      {"resnet50_layer3_conv2", square(1, 14, 256, 256, 3, 2, 1)},
      {"resnet50_layer3_conv3", square(1, 14, 256, 1024, 1, 1, 0)},
      {"resnet50_layer4_conv1", square(1, 7, 2048, 512, 1, 1, 0)},
      {"resnet50_layer4_conv2", square(1, 7, 512, 512, 3, 1, 1)},
      {"resnet50_layer4_downsample", square(1, 14, 1024, 2048, 1, 2, 0)},
  };
}

class LayersOfNets : public ::testing::TestWithParam<Layer> {
 protected:
  template <typename T>
  static kernels::Conv2dShape shape() {
    kernels::Conv2dShape result = shape_of<T>(GetParam().dimensions);
    if (GetParam().stem && sizeof(T) == 2) result.in_pitch = 4;
    return result;
  }
};

TEST_P(LayersOfNets, Bfloat16) {
  check_conv2d_passes<simt::BFloat16>(shape<simt::BFloat16>());
}
TEST_P(LayersOfNets, Half) {
  check_conv2d_passes<simt::Half>(shape<simt::Half>());
}
TEST_P(LayersOfNets, Tf32) {
  check_conv2d_passes<simt::Tf32>(shape<simt::Tf32>());
}
TEST_P(LayersOfNets, Float) {
  check_conv2d_passes<float>(shape<float>());
}

INSTANTIATE_TEST_SUITE_P(Layers, LayersOfNets, ::testing::ValuesIn(layers()),
                         [](const ::testing::TestParamInfo<Layer>& layer) { return layer.param.name; });

}  // namespace
}  // namespace trireme::test
