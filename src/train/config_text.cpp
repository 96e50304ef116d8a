// SPDX-License-Identifier: Apache-2.0
#include "src/core/hash.h"
#include "src/train/config.h"

namespace trireme {

std::string config_text(const TrainConfig& config) {
  std::string text, group;
  for (const Setting& setting : train_settings()) {
    if (setting.group != group) text += fmt::format("{}# {}\n", text.empty() ? "" : "\n", setting.group);
    group = setting.group;
    text += fmt::format("{}={}\n", setting.name, setting.get(config));
  }
  return text;
}

std::uint64_t config_hash(const TrainConfig& config) {
  Hasher hasher;
  for (const Setting& setting : train_settings())
    if (setting.part_of_hash) hasher.add_text(setting.name).add_text(setting.get(config));
  return hasher.digest();
}

}  // namespace trireme
