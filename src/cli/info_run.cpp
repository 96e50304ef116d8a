// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "src/checkpoint/checkpoint.h"
#include "src/cli/info.h"
#include "src/cli/text.h"
#include "src/core/log.h"
#include "src/core/parse.h"
#include "src/io/atomic_file.h"
#include "src/io/path.h"
#include "src/train/config.h"

namespace trireme {

namespace {

namespace fs = std::filesystem;

Error unreadable(const fs::path& path, const std::error_code& error) {
  return make_error(Status::input_missing, "cannot read {}: {}", path.string(), error.message());
}

// A one-line text file, or a word where there is none yet.
std::string first_line_or(const fs::path& path, const std::string& otherwise) {
  if (!path_exists(path.string())) return otherwise;
  const std::string text = read_text(path.string());
  return printable(text.substr(0, text.find('\n')));
}

void print_settings(const fs::path& config_file) {
  const TrainConfig config = parse_config_text(read_text(config_file.string()), config_file.string());
  const TrainConfig defaults = default_train_config();
  std::string heading = "settings";
  for (const Setting& setting : train_settings()) {
    if (setting.get(config) == setting.get(defaults)) continue;
    print_row(heading, fmt::format("{}={}", setting.name, printable(setting.get(config))));
    heading.clear();
  }
}

std::vector<fs::path> checkpoints_of(const fs::path& run) {
  std::vector<fs::path> files;
  if (!is_folder((run / "checkpoints").string())) return files;
  std::error_code error;
  const fs::directory_iterator entries(run / "checkpoints", error);
  if (error) throw unreadable(run / "checkpoints", error);
  for (const fs::directory_entry& entry : entries)
    if (entry.path().extension() == ".h5") files.push_back(entry.path());
  std::sort(files.begin(), files.end());
  return files;
}

void verify_checkpoints(const fs::path& run) {
  std::int64_t bad = 0;
  const std::vector<fs::path> files = checkpoints_of(run);
  for (const fs::path& file : files) {
    try {
      read_whole_checkpoint(file.string());
    } catch (const Error& error) {
      log::error("{}", printable_lines(error.what()));
      ++bad;
    }
  }
  const std::string all = counted(static_cast<std::int64_t>(files.size()), "checkpoint", "checkpoints");
  if (bad > 0) throw make_error(Status::bad_data, "{} of {} are damaged: {}", bad, all, run.string());
  print_row("verified", all);
}

}  // namespace

std::string last_evaluation(std::string_view log) {
  const std::vector<std::string> lines = split(log, '\n');
  for (auto line = lines.rbegin(); line != lines.rend(); ++line) {
    // A line that a crash cut off is no object.
    const nlohmann::json object = nlohmann::json::parse(*line, nullptr, false);
    if (!object.is_object() || object.value("event", "") != "eval") continue;
    std::string text;
    for (const char* const key : {"epoch", "top1", "top5", "loss", "correct", "total"}) {
      if (!object.contains(key) || object[key].is_null()) continue;
      text += text.empty() ? "" : " ";
      text += object[key].is_number_float() ? fmt::format("{}={:.4f}", key, object[key].get<double>())
                                            : fmt::format("{}={}", key, object[key].dump());
    }
    return text;
  }
  return "";
}

void tell_about_run(const InfoRequest& request) {
  const fs::path run = request.path;
  std::error_code error;
  const bool is_run = fs::exists(run / "config.ini", error);
  if (error) throw unreadable(run, error);
  if (!is_run)
    throw make_error(Status::input_missing, "not the folder of a run, it has no config.ini: {}",
                     request.path);
  print_row("run", printable(request.path));
  print_settings(run / "config.ini");
  print_row("latest", first_line_or(run / "latest", "no checkpoint yet"));
  print_row("best", first_line_or(run / "best", "none yet"));
  const std::string log =
      path_exists((run / "log.jsonl").string()) ? read_text((run / "log.jsonl").string()) : "";
  const std::string evaluation = last_evaluation(log);
  print_row("evaluation", evaluation.empty() ? "none yet" : evaluation);
  if (request.verify) verify_checkpoints(run);
}

}  // namespace trireme
