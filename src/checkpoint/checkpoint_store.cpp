// SPDX-License-Identifier: Apache-2.0
#include <signal.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>

#include "src/checkpoint/checkpoint.h"
#include "src/core/error.h"
#include "src/core/log.h"
#include "src/core/parse.h"
#include "src/io/atomic_file.h"
#include "src/io/path.h"

namespace trireme {
namespace {

namespace fs = std::filesystem;

constexpr const char* kFolder = "checkpoints";

std::string relative_path_of(std::int64_t step) {
  return fmt::format("{}/step-{}.h5", kFolder, step);
}

/// N of "step-N.h5"; nothing for other names.
std::optional<std::int64_t> step_of(std::string_view name) {
  constexpr std::string_view kBefore = "step-", kAfter = ".h5";
  if (!name.starts_with(kBefore) || !name.ends_with(kAfter) || name.size() <= kBefore.size() + kAfter.size())
    return std::nullopt;
  return parse_int(name.substr(kBefore.size(), name.size() - kBefore.size() - kAfter.size()));
}

/// Steps of the folder's checkpoints, ascending; 66 if it is there but cannot be read.
std::vector<std::int64_t> saved_steps(const std::string& run_dir) {
  std::vector<std::int64_t> steps;
  const fs::path folder = fs::path(run_dir) / kFolder;
  std::error_code error;
  for (fs::directory_iterator entry(folder, error), end; !error && entry != end; entry.increment(error))
    if (const auto step = step_of(entry->path().filename().string())) steps.push_back(*step);
  const bool is_absent = error == std::errc::no_such_file_or_directory || error == std::errc::not_a_directory;
  if (error && !is_absent)
    throw make_error(Status::input_missing, "cannot read the folder: {}", error.message())
        .at(folder.string());
  std::sort(steps.begin(), steps.end());
  return steps;
}

/// What a one-line file ("latest", "best") names, as a path within the run folder; empty if it names nothing.
std::string pointer_target(const std::string& run_dir, const char* name) {
  const fs::path file = fs::path(run_dir) / name;
  if (!path_exists(file.string())) return {};
  std::string line = read_text(file.string());
  line.resize(std::min(line.find_first_of("\r\n"), line.size()));
  return line;
}

std::optional<std::int64_t> step_of_pointer(const std::string& run_dir, const char* name) {
  return step_of(fs::path(pointer_target(run_dir, name)).filename().string());
}

/// Steps in the order in which they are tried: what `latest` names and the ones before it, newest first; then
/// steps beyond it (a run that was set back leaves such files).
std::vector<std::int64_t> newest_first(const std::string& run_dir) {
  std::vector<std::int64_t> steps = saved_steps(run_dir);
  std::reverse(steps.begin(), steps.end());
  if (const auto latest = step_of_pointer(run_dir, "latest"))
    std::stable_partition(steps.begin(), steps.end(), [&](std::int64_t step) { return step <= *latest; });
  return steps;
}

/// AtomicFile names temporary files ".NAME.tmp-PID-N".
void remove_dead_temporary_files(const fs::path& folder) {
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator(folder, ignored)) {
    const std::string name = entry.path().filename().string();
    const std::size_t mark = name.rfind(".tmp-");
    if (!name.starts_with('.') || mark == std::string::npos) continue;
    const std::size_t pid_begin = mark + 5, pid_end = name.find('-', pid_begin);
    const auto pid = parse_int(std::string_view(name).substr(pid_begin, pid_end - pid_begin));
    if (pid && *pid > 0 && kill(static_cast<pid_t>(*pid), 0) != 0 && errno == ESRCH)
      fs::remove(entry.path(), ignored);
  }
}

}  // namespace

std::optional<Checkpoint> load_newest_checkpoint(const std::string& run_dir, std::string* path_read) {
  std::optional<Error> first_error;
  for (const std::int64_t step : newest_first(run_dir)) {
    const std::string path = (fs::path(run_dir) / relative_path_of(step)).string();
    try {
      Checkpoint checkpoint = read_whole_checkpoint(path);
      if (path_read != nullptr) *path_read = path;
      return checkpoint;
    } catch (const Error& error) {
      log::warn("{}; trying the checkpoint before it", error.what());
      if (!first_error) first_error = error;
    }
  }
  if (first_error) throw *first_error;
  return std::nullopt;
}

CheckpointStore::CheckpointStore(std::string run_dir, int keep) : run_dir_(std::move(run_dir)), keep_(keep) {
  const fs::path folder = fs::path(run_dir_) / kFolder;
  std::error_code error;
  fs::create_directories(folder, error);
  if (error)
    throw make_error(Status::cannot_create, "cannot create the folder: {}", error.message())
        .at(folder.string());
  remove_dead_temporary_files(run_dir_);
  remove_dead_temporary_files(folder);
}

std::string CheckpointStore::save(const Checkpoint& checkpoint, bool is_best,
                                  const ResidualSource& residual_of) {
  const std::int64_t step = checkpoint.position.step;
  const std::string relative = relative_path_of(step);
  std::string path = (fs::path(run_dir_) / relative).string();
  write_checkpoint(path, checkpoint, residual_of);
  if (is_best) write_text_atomically((fs::path(run_dir_) / "best").string(), relative + "\n");
  write_text_atomically((fs::path(run_dir_) / "latest").string(), relative + "\n");
  remove_old(step);
  return path;
}

void CheckpointStore::remove_old(std::int64_t newest_step) const {
  if (keep_ <= 0) return;
  const auto best = step_of_pointer(run_dir_, "best");
  std::vector<std::int64_t> steps = saved_steps(run_dir_);
  std::erase_if(steps, [&](std::int64_t step) { return step > newest_step; });
  const std::size_t kept = std::min(steps.size(), static_cast<std::size_t>(keep_));
  steps.resize(steps.size() - kept);
  for (const std::int64_t step : steps) {
    if (best && step == *best) continue;
    std::error_code error;
    fs::remove(fs::path(run_dir_) / relative_path_of(step), error);
    if (error) log::warn("cannot remove the old checkpoint {}: {}", relative_path_of(step), error.message());
  }
}

std::string resolve_checkpoint(const std::string& path, bool prefer_best) {
  if (!path_exists(path))
    throw make_error(Status::input_missing, "there is no checkpoint or run folder").at(path);
  if (!is_folder(path)) return path;
  for (const char* name : {prefer_best ? "best" : "latest", "latest"}) {
    const std::string target = pointer_target(path, name);
    const fs::path file = fs::path(path) / target;
    if (!target.empty() && path_exists(file.string())) return file.string();
  }
  if (const std::vector<std::int64_t> steps = newest_first(path); !steps.empty())
    return (fs::path(path) / relative_path_of(steps.front())).string();
  throw make_error(Status::input_missing, "the folder holds no checkpoint")
      .at(path)
      .hint("name a run folder that train -o has made, or a step-N.h5 file");
}

}  // namespace trireme
