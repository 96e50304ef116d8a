// SPDX-License-Identifier: Apache-2.0
#include "src/train/run_folder.h"

#include <filesystem>

#include "src/core/error.h"
#include "src/io/atomic_file.h"

namespace trireme {
namespace {

namespace fs = std::filesystem;

bool holds_a_run(const fs::path& folder) {
  for (const char* name : {"config.ini", "log.jsonl", "latest"})
    if (fs::exists(folder / name)) return true;
  return false;
}

}  // namespace

void refuse_existing_run(const TrainConfig& config) {
  if (config.resume.empty() && holds_a_run(config.output))
    throw make_error(Status::cannot_create, "the folder holds a run already")
        .at(config.output)
        .hint("--resume auto goes on with it; another -o begins a new run");
}

void prepare_run_folder(const TrainConfig& config) {
  const fs::path folder = config.output;
  std::error_code error;
  fs::create_directories(folder, error);
  if (error || !fs::is_directory(folder))
    throw make_error(Status::cannot_create, "cannot create the run folder: {}",
                     error ? error.message() : "a file of that name is there")
        .at(config.output);
  write_text_atomically((folder / "config.ini").string(), config_text(config));
}

}  // namespace trireme
