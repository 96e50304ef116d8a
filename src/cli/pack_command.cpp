// SPDX-License-Identifier: Apache-2.0
#include <unistd.h>

#include <cstdio>

#include "src/cli/command.h"
#include "src/cli/pack_settings.h"
#include "src/cli/text.h"
#include "src/core/deadline.h"
#include "src/core/log.h"
#include "src/train/flags.h"

namespace trireme {

namespace {

// One line on a terminal that is written over, ten times a second at most.
class ProgressLine {
 public:
  explicit ProgressLine(bool wanted) : visible_(wanted && isatty(STDERR_FILENO) == 1) {}
  ~ProgressLine() {
    if (visible_) std::fputs("\r\033[K", stderr);
  }
  ProgressLine(const ProgressLine&) = delete;
  ProgressLine& operator=(const ProgressLine&) = delete;

  void show(std::int64_t done, std::int64_t total) {
    if (!visible_ || total == 0 || (since_shown_.seconds() < 0.1 && done < total)) return;
    since_shown_.restart();
    const double rate = static_cast<double>(done) / since_start_.seconds();
    const std::string line =
        fmt::format("\rpacking {} of {} ({} %), {} pictures/s\033[K", count_text(done), count_text(total),
                    100 * done / total, count_text(static_cast<std::int64_t>(rate)));
    std::fputs(line.c_str(), stderr);
  }

 private:
  bool visible_;
  Stopwatch since_start_, since_shown_;
};

std::string shape_text(const PackSummary& summary) {
  const Shape& shape = summary.sample_shape;
  const char* const encoding = summary.encoding == Encoding::raw ? "raw" : "jpeg";
  if (shape[0] == 0) return fmt::format("{}, sizes vary", encoding);
  return fmt::format("{}x{}x{}, {}", shape[0], shape[1], shape[2], encoding);
}

void print_summary(const PackSummary& summary, double seconds) {
  std::int64_t total = 0;
  for (const PackedFile& file : summary.files) total += file.num_samples;
  const auto rate = static_cast<std::int64_t>(static_cast<double>(total) / seconds);
  for (const PackedFile& file : summary.files) {
    const auto classes = static_cast<std::int64_t>(summary.class_names.size());
    const std::string line =
        fmt::format("packed {} in {} ({}) to {}: {}, {:.1f} s, {} pictures/s\n",
                    counted(file.num_samples, "picture", "pictures"), counted(classes, "class", "classes"),
                    shape_text(summary), file.path, bytes_text(file.bytes), seconds, count_text(rate));
    std::fputs(line.c_str(), stdout);
  }
}

void warn_of_skipped(const PackSummary& summary) {
  if (summary.skipped == 0) return;
  log::warn("skipped {}", counted(summary.skipped, "damaged file", "damaged files"));
  for (const std::string& example : summary.skipped_examples) log::warn("skipped {}", example);
}

}  // namespace

std::string pack_help() {
  return "usage: trireme pack SOURCE... -o FILE [settings]\n\n"
         "Packs labelled pictures into one HDF5 file that every rank of a training run reads fast: folders "
         "with one\n"
         "folder of JPEG or PNG pictures per class, or idx files as of MNIST.\n\n" +
         settings_help(infos_of(pack_settings()));
}

Status run_pack_command(const Invocation& invocation) {
  PackRequest request = read_pack_request(invocation.arguments);
  if (invocation.launch.promised_ranks > 1)
    throw Error(Status::configuration, "pack works in one process")
        .hint("start it without the launcher; it has --threads");
  log::setup(0, 1);
  const Stopwatch stopwatch;
  PackSummary summary;
  {
    ProgressLine progress(!request.quiet);
    request.progress = [&](std::int64_t done, std::int64_t total) { progress.show(done, total); };
    summary = pack_dataset(request);
  }
  warn_of_skipped(summary);
  if (!request.quiet) print_summary(summary, stopwatch.seconds());
  return Status::ok;
}

}  // namespace trireme
