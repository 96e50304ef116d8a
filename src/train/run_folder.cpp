// SPDX-License-Identifier: Apache-2.0
#include "src/train/run_folder.h"

#include <fcntl.h>
#include <sys/file.h>

#include <cerrno>
#include <cstring>
#include <filesystem>

#include "src/core/error.h"
#include "src/core/log.h"
#include "src/io/atomic_file.h"
#include "src/io/path.h"

namespace trireme {
namespace {

namespace fs = std::filesystem;

bool holds_a_run(const fs::path& folder) {
  for (const char* name : {"config.ini", "log.jsonl", "latest"})
    if (path_exists((folder / name).string())) return true;
  return false;
}

Descriptor lock_run_folder(const fs::path& folder) {
  const std::string path = (folder / ".lock").string();
  Descriptor file(open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666));
  if (!file)
    throw make_error(Status::cannot_create, "cannot open the run folder's lock: {}", std::strerror(errno))
        .at(path);
  int result = 0;
  do result = flock(file.get(), LOCK_EX | LOCK_NB);
  while (result != 0 && errno == EINTR);
  if (result == 0) return file;
  const int error = errno;
  if (error == EWOULDBLOCK)
    throw make_error(Status::cannot_create, "another training writes to {}", folder.string())
        .hint("wait for its end, or give this run another -o");
  if (error != ENOLCK && error != EOPNOTSUPP && error != ENOSYS)
    throw make_error(Status::cannot_create, "cannot lock the run folder: {}", std::strerror(error)).at(path);
  log::warn("the file system of {} has no locks: take care that only one training writes there",
            folder.string());
  return {};
}

}  // namespace

void refuse_existing_run(const TrainConfig& config) {
  if (config.resume.empty() && holds_a_run(config.output))
    throw make_error(Status::cannot_create, "the folder holds a run already")
        .at(config.output)
        .hint("--resume auto goes on with it; another -o begins a new run");
}

Descriptor prepare_run_folder(const TrainConfig& config) {
  const fs::path folder = config.output;
  std::error_code error;
  fs::create_directories(folder, error);
  if (error || !is_folder(config.output))
    throw make_error(Status::cannot_create, "cannot create the run folder: {}",
                     error ? error.message() : "a file of that name is there")
        .at(config.output);
  Descriptor lock = lock_run_folder(folder);
  refuse_existing_run(config);  // another may have run since the first look
  write_text_atomically((folder / "config.ini").string(), config_text(config));
  return lock;
}

}  // namespace trireme
