// SPDX-License-Identifier: Apache-2.0
// The families of networks behind the table in models.cpp.
#pragma once

#include "models/models.h"

namespace trireme {

/// Pictures with a side below this get stems and heads made for small pictures.
constexpr std::int64_t kSmallPicture = 64;
bool is_small_picture(const Shape& image);

/// Lenet as in the CIFAR-10 tutorials: two 5x5 convolutions, three linear layers; sized by the picture.
Graph build_lenet(const ModelOptions& options);

/// torchvision's vgg16 and vgg16_bn (configuration D).
Graph build_vgg16(const ModelOptions& options);
Graph build_vgg16_bn(const ModelOptions& options);

/// torchvision's resnets (v1.5: a bottleneck strides in its 3x3 convolution).
Graph build_resnet18(const ModelOptions& options);
Graph build_resnet34(const ModelOptions& options);
Graph build_resnet50(const ModelOptions& options);
Graph build_resnet101(const ModelOptions& options);
Graph build_resnet152(const ModelOptions& options);

/// The narrow resnets of He et al. for 32x32 pictures: three stages of 16, 32 and 64 channels.
Graph build_resnet20(const ModelOptions& options);
Graph build_resnet32(const ModelOptions& options);
Graph build_resnet44(const ModelOptions& options);
Graph build_resnet56(const ModelOptions& options);
Graph build_resnet110(const ModelOptions& options);

}  // namespace trireme
