// SPDX-License-Identifier: Apache-2.0
#include "src/cli/bench_train_network.h"

#include "models/models.h"

namespace trireme {

Choice network_choice() {
  Choice choice;
  choice.name = "NAME";
  for (const Model& model : all_models()) choice.words.emplace_back(model.name);
  return choice;
}

Graph bench_network(std::string_view model, std::int64_t image_size, std::int64_t classes) {
  ModelOptions options;
  options.image = Shape{image_size, image_size, 3};
  options.num_classes = classes;
  return build_model(model, options);
}

void check_one_rank(const World& world, std::string_view topic) {
  if (world.size() == 1) return;
  throw make_error(Status::configuration, "bench {} measures one rank, not {}", topic, world.size())
      .hint("start it without mpirun; bench allreduce measures what ranks exchange");
}

}  // namespace trireme
