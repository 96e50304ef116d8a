// SPDX-License-Identifier: Apache-2.0
#include "models/models.h"

#include <fmt/ranges.h>

#include <algorithm>

#include "models/families.h"
#include "src/core/error.h"
#include "src/core/parse.h"

namespace trireme {

bool is_small_picture(const Shape& image) {
  return std::min(image[0], image[1]) < kSmallPicture;
}

const std::vector<Model>& all_models() {
  static const std::vector<Model> models = {
      {"resnet20", "narrow ResNet for small pictures, 0.27 M parameters", build_resnet20},
      {"resnet32", "narrow ResNet for small pictures, 0.47 M parameters", build_resnet32},
      {"resnet44", "narrow ResNet for small pictures, 0.66 M parameters", build_resnet44},
      {"resnet56", "narrow ResNet for small pictures, 0.86 M parameters", build_resnet56},
      {"resnet110", "narrow ResNet for small pictures, 1.73 M parameters", build_resnet110},
      {"resnet18", "ResNet of basic blocks, 11.7 M parameters", build_resnet18},
      {"resnet34", "ResNet of basic blocks, 21.8 M parameters", build_resnet34},
      {"resnet50", "ResNet v1.5 of bottlenecks, 25.6 M parameters", build_resnet50},
      {"resnet101", "ResNet v1.5 of bottlenecks, 44.5 M parameters", build_resnet101},
      {"resnet152", "ResNet v1.5 of bottlenecks, 60.2 M parameters", build_resnet152},
      {"vgg16", "VGG of 13 convolutions, 138 M parameters (15 M below 64 pixels)", build_vgg16},
      {"vgg16_bn", "vgg16 with batch normalisation", build_vgg16_bn},
      {"lenet", "two convolutions and three linear layers, for first steps", build_lenet},
  };
  return models;
}

Graph build_model(std::string_view name, const ModelOptions& options) {
  std::vector<std::string> names;
  for (const Model& model : all_models()) {
    if (model.name == name) {
      if (options.num_classes < 1)
        throw make_error(Status::configuration, "{} cannot have {} classes", name, options.num_classes);
      return model.build(options);
    }
    names.emplace_back(model.name);
  }
  const std::string nearest = nearest_name(name, names);
  throw make_error(Status::configuration, "there is no model '{}'", name)
      .hint(nearest.empty() ? fmt::format("models: {}", fmt::join(names, ", "))
                            : fmt::format("did you mean {}?", nearest));
}

}  // namespace trireme
