// SPDX-License-Identifier: Apache-2.0
#include "src/train/start_up.h"

#include <algorithm>
#include <cmath>

#include "models/models.h"
#include "src/core/error.h"
#include "src/core/hash.h"
#include "src/core/parse.h"

namespace trireme {

std::unique_ptr<Dataset> open_shared_dataset(const std::string& spec, const World& world, std::uint64_t seed,
                                             const std::string& preload,
                                             std::chrono::duration<double> timeout) {
  NodeShare share;
  if (world.local_size() > 1) {
    share.is_opener = world.local_rank() == 0;
    share.broadcast = [&world, timeout](std::vector<std::byte> bytes) {
      return world.node().broadcast(std::move(bytes), 0, timeout,
                                    "the dataset's index from this node's first rank");
    };
  }
  return open_dataset(spec, share, {seed, preload});
}

int choose_image_size(int wanted, const DatasetInfo& info) {
  if (wanted > 0) return wanted;
  const std::int64_t height = info.sample_shape[0], width = info.sample_shape[1];
  if (height > 0 && height == width) return static_cast<int>(height);
  const std::string sizes = height == 0 ? "its pictures differ in size"
                                        : fmt::format("its pictures are {}x{}, not square", height, width);
  throw make_error(Status::configuration, "--image-size is needed: {}", sizes).at(info.name);
}

Augment choose_augment(const std::string& name, const DatasetInfo& info, int image_size) {
  constexpr int kLarge = 64;
  if (name != "auto") {
    const auto augment = parse_augment(name);
    TRIREME_ASSERT(augment.has_value(), "the table of settings checks names");
    return *augment;
  }
  if (info.synthetic) return Augment::none;
  if (image_size >= kLarge) return Augment::resized_crop;
  return info.channels() == 1 ? Augment::crop : Augment::crop_flip;
}

SampleOrder parse_order(const std::string& text, const DatasetInfo& info, int image_size) {
  const std::size_t colon = text.find(':');
  if (colon == std::string::npos) return {};
  const double bytes = parse_double(std::string_view(text).substr(colon + 1)).value_or(1) * (1 << 20);
  const double values = static_cast<double>(image_size) * image_size * info.channels();
  const double sample_bytes =
      info.encoding == Encoding::raw ? static_cast<double>(info.sample_shape.count()) : values / 4;
  return {SampleOrder::Kind::blocks, std::max<std::int64_t>(1, std::llround(bytes / sample_bytes))};
}

TransformOptions transform_options(const TrainConfig& config, const DatasetInfo& info, int image_size) {
  TransformOptions options;
  options.image_size = image_size;
  options.channels = info.channels();
  options.augment = choose_augment(config.augment, info, image_size);
  options.mean = info.channel_mean;
  options.std = info.channel_std;
  options.seed = config.seed;
  return options;
}

Graph build_network(const TrainConfig& config, const DatasetInfo& info, int image_size) {
  Graph graph = build_model(config.model, {Shape{image_size, image_size, info.channels()}, info.num_classes(),
                                           config.label_smoothing, config.dropout});
  if (config.sync_bn) graph.synchronize_batch_norm();
  return graph;
}

void check_batch_statistics(const Graph& graph, const BatchPlan& batches) {
  // All steps but the last are alike.
  std::int64_t fewest = batches.global_batch;
  for (const std::int64_t step : {std::int64_t{0}, batches.steps_per_epoch() - 1})
    for (std::int64_t part = 0; part < batches.accumulate; ++part)
      if (const std::int64_t samples = batches.micro_batch_samples(step, part); samples > 0)
        fewest = std::min(fewest, samples);
  for (const Node& node : graph.nodes()) {
    const auto* norm = std::get_if<BatchNormOp>(&node.op);
    const Shape& sample = graph.value(node.output).shape;
    if (norm != nullptr && norm->sync && fewest * sample[0] * sample[1] == 1)
      throw make_error(Status::configuration,
                       "batch_norm '{}' would see one value per channel on all ranks together", node.name)
          .at(fmt::format("batch 1 of {}", sample.text()))
          .hint("give all ranks together at least two samples in every part of a step");
  }
}

LearningRateSchedule make_schedule(const TrainConfig& config, std::int64_t steps_per_epoch) {
  struct Kind {
    std::string_view name;
    ScheduleKind kind;
  };
  constexpr Kind kKinds[] = {{"cosine", ScheduleKind::cosine},
                             {"constant", ScheduleKind::constant},
                             {"step", ScheduleKind::step},
                             {"linear", ScheduleKind::linear}};
  const auto* found = std::find_if(std::begin(kKinds), std::end(kKinds),
                                   [&](const Kind& k) { return k.name == config.schedule; });
  TRIREME_ASSERT(found != std::end(kKinds), "the table of settings checks names");
  const auto steps = [&](double epochs) {
    return std::llround(epochs * static_cast<double>(steps_per_epoch));
  };
  LearningRateSchedule schedule;
  schedule.kind = found->kind;
  schedule.base = config.lr;
  schedule.warmup_steps = steps(config.warmup_epochs);
  schedule.total_steps = config.epochs * steps_per_epoch;
  schedule.gamma = config.gamma;
  for (const double epoch : config.milestones) schedule.milestones.push_back(steps(epoch));
  return schedule;
}

int choose_loader_threads(int wanted, const CorePlan& cores) {
  constexpr std::size_t kMost = 8;
  if (wanted > 0) return wanted;
  if (cores.helpers.empty() || cores.helpers == cores.compute) return 1;
  return static_cast<int>(std::min(cores.helpers.size(), kMost));
}

std::string start_facts_text(const std::string& host, const StartFacts& facts) {
  std::string text = host;
  for (const auto& [name, hash] : facts) text += fmt::format("\n{}={}", name, hex_of(hash));
  return text;
}

std::optional<StartDifference> first_difference(const std::vector<std::string>& texts) {
  const std::vector<std::string> first = split(texts[0], '\n');
  for (std::size_t rank = 1; rank < texts.size(); ++rank) {
    const std::vector<std::string> other = split(texts[rank], '\n');
    TRIREME_ASSERT(other.size() == first.size(), "ranks of one program gather the same facts");
    for (std::size_t i = 1; i < first.size(); ++i) {
      if (other[i] == first[i]) continue;
      const std::size_t equals = first[i].find('=');
      return StartDifference{first[i].substr(0, equals), first[i].substr(equals + 1),
                             other[i].substr(equals + 1), rank,
                             fmt::format("hosts {} and {}", first[0], other[0])};
    }
  }
  return std::nullopt;
}

void check_same_start(const std::vector<std::string>& texts) {
  if (const auto found = first_difference(texts))
    throw make_error(Status::configuration, "ranks differ in {}: rank 0 has {}, rank {} has {}", found->name,
                     found->value_on_rank_0, found->rank, found->value)
        .at(found->hosts)
        .hint("give all ranks the same program, files, settings and environment");
}

std::string shared_settings_text(const std::string& host, const TrainConfig& config) {
  std::string text = host;
  for (const Setting& setting : train_settings())
    if (setting.part_of_hash) text += fmt::format("\n{}={}", setting.name, setting.get(config));
  return text;
}

void check_same_settings(const std::vector<std::string>& texts) {
  const auto shown = [](const std::string& value) { return value.empty() ? "none" : value; };
  if (const auto found = first_difference(texts))
    throw make_error(Status::configuration,
                     "ranks differ in the settings: {} is {} on rank 0 and {} on rank {}", found->name,
                     shown(found->value_on_rank_0), shown(found->value), found->rank)
        .at(found->hosts)
        .hint("give all ranks the same flags, TRIREME_* variables and ini file");
}

}  // namespace trireme
