// SPDX-License-Identifier: Apache-2.0
#include "src/train/checkpoint_header.h"

#include <nlohmann/json.hpp>

namespace trireme {
namespace {

using nlohmann::json;

/// Visits each member with its key, for writing and reading alike.
template <typename State, typename Visitor>
void visit_header(State& c, const Visitor& visit) {
  visit("step", c.position.step);
  visit("epoch", c.position.epoch);
  visit("step_in_epoch", c.position.step_in_epoch);
  visit("samples", c.position.samples);
  visit("seed", c.position.seed);
  visit("global_batch", c.position.global_batch);
  visit("epoch_loss_sum", c.position.epoch_loss_sum);
  visit("epoch_samples", c.position.epoch_samples);
  visit("graph", c.graph_text);
  visit("model", c.model_name);
  visit("config", c.config_text);
  visit("class_names", c.class_names);
  visit("channel_mean", c.channel_mean);
  visit("channel_std", c.channel_std);
  visit("image_size", c.image_size);
  visit("channels", c.channels);
  visit("crop_ratio", c.crop_ratio);
  visit("dataset_fingerprint", c.dataset_fingerprint);
  visit("best_top1", c.best_top1);
  visit("top1", c.top1);
  visit("tuning", c.tuning);
  visit("loss_scale", c.loss_scale);
  visit("loss_scale_good_steps", c.loss_scale_good_steps);
  visit("skipped_steps", c.skipped_steps);
  visit("residual_ranks", c.residual_ranks);
}

struct Write {
  json& object;
  template <typename T>
  void operator()(const char* key, const T& value) const {
    object[key] = value;
  }
  template <typename T>
  void operator()(const char* key, const std::optional<T>& value) const {
    if (value) object[key] = *value;
  }
};

struct Read {
  const json& object;
  template <typename T>
  void operator()(const char* key, T& value) const {
    object.at(key).get_to(value);
  }
  template <typename T>
  void operator()(const char* key, std::optional<T>& value) const {
    if (object.contains(key)) value = object.at(key).get<T>();
  }
};

}  // namespace

std::string checkpoint_header_text(const Checkpoint& checkpoint) {
  json object;
  visit_header(checkpoint, Write{object});
  return object.dump(-1, ' ', true, json::error_handler_t::replace);
}

Checkpoint parse_checkpoint_header(std::string_view text) {
  Checkpoint checkpoint;
  const json object = json::parse(text);
  visit_header(checkpoint, Read{object});
  return checkpoint;
}

}  // namespace trireme
