// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "data/verify.h"
#include "src/checkpoint/checkpoint.h"
#include "src/cli/info.h"
#include "src/cli/text.h"
#include "src/core/hash.h"
#include "src/core/log.h"

namespace trireme {

namespace {

constexpr std::size_t kClassesInFull = 20;

std::string classes_text(const DatasetSummary& summary) {
  const std::vector<std::int64_t>& counts = summary.class_counts;
  if (counts.size() > kClassesInFull) {
    const auto [least, most] = std::minmax_element(counts.begin(), counts.end());
    return fmt::format("{} of {} to {} pictures", counts.size(), count_text(*least), count_text(*most));
  }
  std::string text = fmt::format("{}:", counts.size());
  for (std::size_t i = 0; i < counts.size(); ++i)
    text += fmt::format("{} {} {}", i == 0 ? "" : ",", printable(summary.info.class_names[i]),
                        count_text(counts[i]));
  return text;
}

std::string picture_shape_text(const DatasetInfo& info) {
  const Shape& shape = info.sample_shape;
  if (shape[0] == 0) return "sizes vary";
  return fmt::format("{}x{}x{}", shape[0], shape[1], shape[2]);
}

std::string optional_text(const std::optional<double>& value) {
  return value ? fmt::format("{:.4f}", *value) : "not measured";
}

void verify_samples(const std::string& path) {
  const VerifyReport report = verify_dataset(path);
  for (const std::string& example : report.bad_examples) log::error("{}", printable(example));
  if (!report.ok())
    throw make_error(Status::bad_data, "{} of {} are damaged: {}", count_text(report.bad),
                     counted(report.checked, "picture", "pictures"), path);
  print_row("verified", fmt::format("{}{}", counted(report.checked, "picture", "pictures"),
                                    report.has_hashes ? "" : " (no hashes in the file: decoded only)"));
}

}  // namespace

void tell_about_dataset(const InfoRequest& request) {
  const DatasetSummary summary = describe_dataset(request.path);
  const DatasetInfo& info = summary.info;
  print_row("dataset", fmt::format("{}, version {}, {}", printable(request.path), summary.version,
                                   bytes_text(summary.file_bytes)));
  print_row("pictures",
            fmt::format("{}, {}, {}, {}", count_text(info.num_samples), picture_shape_text(info),
                        info.encoding == Encoding::raw ? "raw" : "jpeg", bytes_text(summary.payload_bytes)));
  print_row("classes", classes_text(summary));
  print_row("channel mean", fmt::format("{:.4f}", fmt::join(info.channel_mean, " ")));
  print_row("channel std", fmt::format("{:.4f}", fmt::join(info.channel_std, " ")));
  print_row("fingerprint", hex_of(info.fingerprint));
  if (request.verify) verify_samples(request.path);
}

void tell_about_checkpoint(const InfoRequest& request) {
  const Checkpoint checkpoint =
      request.verify ? read_whole_checkpoint(request.path) : read_checkpoint(request.path);
  std::int64_t values = 0;
  for (const NamedTensor& tensor : checkpoint.parameters) values += tensor.shape.count();
  const TrainingPosition& at = checkpoint.position;
  print_row("checkpoint", printable(request.path));
  print_row("model", fmt::format("{}, {} values in {}", printable(checkpoint.model_name), count_text(values),
                                 counted(static_cast<std::int64_t>(checkpoint.parameters.size()), "tensor",
                                         "tensors")));
  print_row("position", fmt::format("step {}, epoch {}, {} trained on", at.step, at.epoch,
                                    counted(at.samples, "picture", "pictures")));
  print_row("input", fmt::format("{0}x{0}x{1}, {2}", checkpoint.image_size, checkpoint.channels,
                                 counted(static_cast<std::int64_t>(checkpoint.class_names.size()), "class",
                                         "classes")));
  print_row("top1", optional_text(checkpoint.top1));
  print_row("best top1", optional_text(checkpoint.best_top1));
  if (checkpoint.residual_ranks)
    print_row("residuals", "of " + counted(*checkpoint.residual_ranks, "rank", "ranks"));
  print_row("digest", hex_of(digest_of(checkpoint.parameters)));
  if (request.verify) print_row("verified", "checksum and parts");
}

std::string digest_text(const std::string& path) {
  return hex_of(digest_of(read_checkpoint(resolve_checkpoint(path, false)).parameters));
}

}  // namespace trireme
