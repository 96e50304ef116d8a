// SPDX-License-Identifier: Apache-2.0
// What a run is made of before there is memory or communication: data, network, schedule, and the agreement
// of all ranks on them.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "data/dataset.h"
#include "data/sampler.h"
#include "data/transform.h"
#include "src/comm/world.h"
#include "src/graph/graph.h"
#include "src/optim/schedule.h"
#include "src/train/batch_plan.h"
#include "src/train/config.h"
#include "src/train/core_binding.h"

namespace trireme {

/// Opens a dataset with one opener per node. Collective over the node's ranks.
std::unique_ptr<Dataset> open_shared_dataset(const std::string& spec, const World& world, std::uint64_t seed,
                                             const std::string& preload,
                                             std::chrono::duration<double> timeout);

/// Side of the square pictures that the net sees: `wanted`, or with 0 the stored size; 78 if that is not one
/// square size.
int choose_image_size(int wanted, const DatasetInfo& info);

/// `name` as --augment spells it. "auto": nothing for synthetic data; random-resized-crop from 64 pixels up;
/// below, crop and flip for colour and crop alone for grey pictures, which may be digits.
Augment choose_augment(const std::string& name, const DatasetInfo& info, int image_size);

/// `text` as --order spells it. A block of encoded pictures is counted as a quarter of a byte per value.
SampleOrder parse_order(const std::string& text, const DatasetInfo& info, int image_size);

/// The training pictures' way to the net; evaluation takes the same without randomness.
TransformOptions transform_options(const TrainConfig& config, const DatasetInfo& info, int image_size);

/// The network of the settings for this data.
Graph build_network(const TrainConfig& config, const DatasetInfo& info, int image_size);

/// Status 78 if a synchronised batch norm would see one value per channel on all ranks together.
void check_batch_statistics(const Graph& graph, const BatchPlan& batches);

LearningRateSchedule make_schedule(const TrainConfig& config, std::int64_t steps_per_epoch);

/// Loader threads: `wanted`, or with 0 one for each core that is free for helpers, at most eight.
int choose_loader_threads(int wanted, const CorePlan& cores);

/// Facts that must be equal on all ranks, by name.
using StartFacts = std::vector<std::pair<std::string, std::uint64_t>>;
/// One rank's facts as text and its host.
std::string start_facts_text(const std::string& host, const StartFacts& facts);

struct StartDifference {
  std::string name, value_on_rank_0, value;
  std::size_t rank = 0;  ///< the first that has it otherwise than rank 0
  std::string hosts;     ///< "hosts a and b"
};
/// The first fact that differs among start_facts_text of all ranks.
std::optional<StartDifference> first_difference(const std::vector<std::string>& texts);
/// Status 78 naming the first fact that differs and the first rank that has it otherwise. `texts` is by rank.
void check_same_start(const std::vector<std::string>& texts);

/// One rank's host and those of its settings that must be equal on all ranks.
std::string shared_settings_text(const std::string& host, const TrainConfig& config);
/// Status 78 naming the first setting that differs, with both values. `texts` is by rank.
void check_same_settings(const std::vector<std::string>& texts);

}  // namespace trireme
