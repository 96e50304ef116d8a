// SPDX-License-Identifier: Apache-2.0
#include "src/train/resume.h"

#include "src/core/error.h"
#include "src/exchange/narrow_wire.h"
#include "src/io/path.h"
#include "src/train/ini.h"

namespace trireme {
namespace {

/// Read without the table: a checkpoint's text may name settings that this program does not have.
std::optional<std::string> saved_value(const std::vector<IniEntry>& saved, std::string_view name) {
  for (const IniEntry& entry : saved)
    if (entry.key == name) return entry.value;
  return std::nullopt;
}

}  // namespace

std::optional<LoadedCheckpoint> load_for_resume(const TrainConfig& config) {
  if (config.resume.empty()) return std::nullopt;
  const bool automatic = config.resume == "auto";
  const std::string& path = automatic ? config.output : config.resume;
  if (!automatic && !is_folder(path)) return LoadedCheckpoint{path, read_checkpoint(path)};
  std::string path_read;
  auto state = load_newest_checkpoint(path, &path_read);
  if (state) return LoadedCheckpoint{path_read, std::move(*state)};
  if (automatic) return std::nullopt;
  throw make_error(Status::input_missing, "the folder to resume from holds no checkpoint").at(path);
}

void check_resume_fits(const Checkpoint& header, const ResumeFacts& facts, const std::string& path) {
  const auto refuse = [&](const std::string& what, const std::string& hint) {
    return make_error(Status::configuration, "the checkpoint does not fit this run: {}", what)
        .at(path)
        .hint(hint);
  };
  const std::vector<IniEntry> saved = read_ini(header.config_text, path);
  // Part of the network's text, but a clearer word for what differs. Older checkpoints do not know it.
  const std::string sync_before = saved_value(saved, "sync-bn").value_or("false");
  if (const std::string sync_now = facts.sync_bn ? "true" : "false"; sync_before != sync_now)
    throw refuse(fmt::format("its --sync-bn is {}, this run's {}", sync_before, sync_now),
                 sync_before == "true" ? "use --sync-bn" : "use --no-sync-bn");
  if (header.graph_text != facts.graph_text)
    throw refuse("it holds another network",
                 "use the --model, --image-size, --dropout and data that it was made with");
  if (header.dataset_fingerprint != facts.dataset_fingerprint)
    throw refuse("its training data was another", "use the --data that it was made with");
  if (header.position.seed != facts.seed)
    throw refuse(fmt::format("its seed is {}, this run's {}", header.position.seed, facts.seed),
                 fmt::format("use --seed {}", header.position.seed));
  if (header.position.global_batch != facts.global_batch)
    throw refuse(fmt::format("its global batch is {}, this run's {}", header.position.global_batch,
                             facts.global_batch),
                 fmt::format("use --global-batch {}", header.position.global_batch));
  const std::pair<const char*, const std::string&> texts[] = {{"last-batch", facts.last_batch},
                                                              {"order", facts.order}};
  for (const auto& [name, value] : texts)
    if (const auto before = saved_value(saved, name); before && *before != value)
      throw refuse(fmt::format("its --{} is {}, this run's {}", name, *before, value),
                   fmt::format("use --{} {}", name, *before));
}

std::string residuals_on_resume(const Checkpoint& header, const TrainConfig& config, int ranks) {
  const bool is_narrow = wire_type(config.wire) != DType::f32;
  if (!header.residual_ranks)
    return is_narrow
               ? fmt::format("the checkpoint has no residuals for --wire {}: they begin at zero", config.wire)
               : "";
  if (!is_narrow)
    return fmt::format("the checkpoint's residuals are dropped: --wire {} has none", config.wire);
  if (*header.residual_ranks == ranks) return "";
  return fmt::format("the checkpoint's residuals of {} ranks are summed onto rank 0", *header.residual_ranks);
}

std::string settings_changed_since(std::string_view saved_config, const TrainConfig& config) {
  const auto shown = [](const std::string& value) { return value.empty() ? "none" : value; };
  const std::vector<IniEntry> saved = read_ini(saved_config, "the checkpoint's settings");
  std::string text;
  for (const Setting& setting : train_settings()) {
    const auto before = saved_value(saved, setting.name);
    const std::string now = setting.get(config);
    if (!setting.part_of_hash || !before || *before == now) continue;
    text += fmt::format("{}{} {} -> {}", text.empty() ? "" : ", ", setting.name, shown(*before), shown(now));
  }
  return text;
}

}  // namespace trireme
