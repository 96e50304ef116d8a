// SPDX-License-Identifier: Apache-2.0
#include "src/train/resume.h"

#include <filesystem>

#include "src/core/error.h"

namespace trireme {

std::optional<LoadedCheckpoint> load_for_resume(const TrainConfig& config) {
  if (config.resume.empty()) return std::nullopt;
  const bool automatic = config.resume == "auto";
  const std::string& path = automatic ? config.output : config.resume;
  if (!automatic && !std::filesystem::is_directory(path))
    return LoadedCheckpoint{path, read_checkpoint(path)};
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
}

}  // namespace trireme
