// SPDX-License-Identifier: Apache-2.0
#include "data/verify.h"

#include <algorithm>
#include <thread>

#include "data/codec.h"
#include "data/dataset_format.h"
#include "data/dataset_index.h"
#include "data/metadata_hash.h"
#include "data/ordered_parallel.h"
#include "data/packed_dataset.h"
#include "src/core/error.h"
#include "src/core/hash.h"
#include "src/core/log.h"

namespace trireme {

namespace {

constexpr std::size_t kExamples = 10;

std::uint64_t payload_bytes_of(const DatasetIndex& index) {
  const IndexedFile& file = index.files[0];
  if (!file.offsets.empty()) return file.offsets.back();
  return static_cast<std::uint64_t>(index.info.num_samples * index.info.sample_shape.count());
}

std::string first_line(std::string_view text) {
  return std::string(text.substr(0, text.find('\n')));
}

/// What is wrong with a sample; empty if nothing is.
std::string fault_of(const PackedDataset& dataset, const std::vector<std::uint64_t>& hashes,
                     std::int64_t sample) {
  try {
    std::vector<std::uint8_t> stored;
    dataset.read_stored(sample, stored);
    if (!hashes.empty() && xxh3(stored.data(), stored.size()) != hashes[static_cast<std::size_t>(sample)])
      return "its bytes differ from their hash";
    if (dataset.info().encoding == Encoding::jpeg) {
      Picture picture;
      decode_picture(stored, picture);
    }
    return {};
  } catch (const Error& error) {
    if (error.status() != Status::bad_data) throw;
    return first_line(error.what());
  }
}

std::vector<std::string> source_paths_of(const H5File& file, std::int64_t num_samples) {
  if (!file.has(dataset_format::kSourcePaths)) return {};
  std::vector<std::string> paths = file.read_strings(dataset_format::kSourcePaths);
  if (static_cast<std::int64_t>(paths.size()) != num_samples)
    throw make_error(Status::bad_data, "/{} has {} entries for {} samples", dataset_format::kSourcePaths,
                     paths.size(), num_samples)
        .at(file.path());
  return paths;
}

/// Reads the statistics again, because opening replaces deviations of 0.
bool metadata_is_as_hashed(const OpenedDataset& opened) {
  const H5File& file = opened.file;
  const auto mean = file.read<double>(dataset_format::kChannelMean);
  const auto deviation = file.read<double>(dataset_format::kChannelStd);
  const DatasetIndex& index = opened.index;
  return metadata_hash({index.labels, index.info.class_names, index.files[0].offsets, mean, deviation}) ==
         file.read_attribute<std::uint64_t>(dataset_format::kMetadataHash);
}

void verify_metadata(const OpenedDataset& opened, VerifyReport& report) {
  report.has_metadata_hash = opened.file.has_attribute(dataset_format::kMetadataHash);
  if (!report.has_metadata_hash) {
    log::info("the hash of labels, class names and channel statistics is not stored: they are not verified");
  } else if (!metadata_is_as_hashed(opened)) {
    ++report.bad;
    report.bad_examples.push_back(
        "labels, class names, offsets or channel statistics: they differ from their hash");
  }
}

}  // namespace

DatasetSummary describe_dataset(const std::string& path) {
  std::vector<OpenedDataset> opened;
  opened.push_back(open_packed_file(path));
  DatasetSummary summary;
  summary.version = dataset_format::kVersion;
  summary.has_hashes = !opened[0].hashes.empty();
  summary.has_source_paths = opened[0].file.has(dataset_format::kSourcePaths);
  const DatasetIndex index = join_files(path, std::move(opened));
  summary.info = index.info;
  summary.file_bytes = index.files[0].file_bytes;
  summary.payload_bytes = payload_bytes_of(index);
  summary.class_counts.assign(index.info.class_names.size(), 0);
  for (const std::int32_t label : index.labels) ++summary.class_counts[static_cast<std::size_t>(label)];
  return summary;
}

VerifyReport verify_dataset(const std::string& path) {
  OpenedDataset opened = open_packed_file(path);
  const std::vector<std::uint64_t> hashes = opened.hashes;
  const std::vector<std::string> sources = source_paths_of(opened.file, opened.index.info.num_samples);
  VerifyReport report;
  verify_metadata(opened, report);
  const PackedDataset dataset(std::move(opened.index), {});
  report.has_hashes = !hashes.empty();
  const int threads = static_cast<int>(std::max(1U, std::thread::hardware_concurrency()));
  OrderedParallel<std::string> loop(dataset.info().num_samples, threads);
  loop.run([&](std::int64_t sample) { return fault_of(dataset, hashes, sample); },
           [&](std::int64_t sample, const std::string& fault) {
             ++report.checked;
             if (fault.empty()) return;
             ++report.bad;
             if (report.bad_examples.size() >= kExamples) return;
             const std::string source =
                 sources.empty() ? "" : fmt::format(" ({})", sources[static_cast<std::size_t>(sample)]);
             report.bad_examples.push_back(fmt::format("sample {}{}: {}", sample, source, fault));
           });
  return report;
}

bool is_dataset_file(const std::string& path) {
  try {
    const H5File file = H5File::open_read(path);
    return file.has_attribute(dataset_format::kFormat) &&
           file.read_text_attribute(dataset_format::kFormat) == dataset_format::kFormatValue;
  } catch (const Error&) {
    return false;
  }
}

}  // namespace trireme
