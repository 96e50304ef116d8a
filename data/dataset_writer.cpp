// SPDX-License-Identifier: Apache-2.0
#include "data/dataset_writer.h"

#include <cmath>
#include <filesystem>

#include "data/dataset_format.h"
#include "data/metadata_hash.h"
#include "src/core/error.h"

namespace trireme {

namespace format = dataset_format;

namespace {

template <int C>
void add_pixels(const std::vector<std::uint8_t>& pixels, ChannelSums& sums) {
  std::array<std::uint64_t, C> sum{}, squares{};
  for (std::size_t i = 0; i < pixels.size(); i += C)
    for (std::size_t c = 0; c < C; ++c) {
      const std::uint32_t value = pixels[i + c];
      sum[c] += value;
      squares[c] += value * value;
    }
  for (std::size_t c = 0; c < C; ++c) {
    sums.sum[c] += sum[c];
    sums.squares[c] += squares[c];
  }
}

}  // namespace

void ChannelSums::add(const Picture& picture) {
  (picture.channels == 1 ? add_pixels<1> : add_pixels<3>)(picture.pixels, *this);
  pixels += picture.pixels.size() / static_cast<std::size_t>(picture.channels);
}

void ChannelSums::add(const ChannelSums& other) {
  pixels += other.pixels;
  for (std::size_t c = 0; c < sum.size(); ++c) {
    sum[c] += other.sum[c];
    squares[c] += other.squares[c];
  }
}

std::vector<double> ChannelSums::mean(int channels) const {
  std::vector<double> means;
  const double count = static_cast<double>(std::max<std::uint64_t>(pixels, 1));
  for (std::size_t c = 0; c < static_cast<std::size_t>(channels); ++c)
    means.push_back(static_cast<double>(sum[c]) / count / 255);
  return means;
}

std::vector<double> ChannelSums::deviation(int channels) const {
  std::vector<double> deviations;
  const double count = static_cast<double>(std::max<std::uint64_t>(pixels, 1));
  for (std::size_t c = 0; c < static_cast<std::size_t>(channels); ++c) {
    const double average = static_cast<double>(sum[c]) / count;
    const double variance = static_cast<double>(squares[c]) / count - average * average;
    deviations.push_back(std::sqrt(std::max(variance, 0.0)) / 255);
  }
  return deviations;
}

DatasetWriter::DatasetWriter(std::string path, Encoding encoding, const Shape& sample_shape,
                             std::vector<std::string> class_names)
    : path_(std::move(path)),
      encoding_(encoding),
      sample_shape_(sample_shape),
      class_names_(std::move(class_names)),
      atomic_(path_),
      file_(H5File::create(atomic_.temporary_path(), H5Alignment::stripes)),
      stream_(file_) {}

void DatasetWriter::add(const PackedSample& sample) {
  TRIREME_ASSERT(
      encoding_ == Encoding::jpeg || static_cast<std::int64_t>(sample.stored.size()) == sample_shape_.count(),
      "raw samples have the dataset's shape");
  stream_.append(sample.stored.data(), sample.stored.size());
  labels_.push_back(sample.label);
  hashes_.push_back(sample.hash);
  source_paths_.push_back(sample.source_path);
  if (encoding_ == Encoding::jpeg) offsets_.push_back(stream_.bytes());
  sums_.add(sample.sums);
}

void DatasetWriter::write_attributes() {
  const std::vector<std::int64_t> shape(sample_shape_.begin(), sample_shape_.end());
  file_.write_text_attribute(format::kFormat, format::kFormatValue);
  file_.write_attribute<std::int64_t>(format::kVersionName, format::kVersion);
  file_.write_text_attribute(format::kEncoding, encoding_ == Encoding::raw ? format::kRaw : format::kJpeg);
  file_.write_attribute<std::int64_t>(format::kSampleShape, std::span<const std::int64_t>(shape));
  file_.write_attribute<std::int64_t>(format::kNumSamples, num_samples());
  file_.write_attribute<std::int64_t>(format::kNumClasses, static_cast<std::int64_t>(class_names_.size()));
}

void DatasetWriter::write_pictures() {
  if (encoding_ == Encoding::raw) {
    stream_.finish(format::kImages, sample_shape_.with_outer(num_samples()));
  } else {
    stream_.finish(format::kBlob, Shape{static_cast<std::int64_t>(stream_.bytes())});
    file_.write<std::uint64_t>(format::kOffsets, Shape{num_samples() + 1}, offsets_.data());
  }
}

void DatasetWriter::write_metadata_hash(const PackedFile& packed) {
  Metadata metadata{labels_, class_names_, {}, packed.channel_mean, packed.channel_std};
  if (encoding_ == Encoding::jpeg) metadata.offsets = offsets_;
  file_.write_attribute<std::uint64_t>(format::kMetadataHash, metadata_hash(metadata));
}

PackedFile DatasetWriter::finish() {
  const int channels = static_cast<int>(sample_shape_[2]);
  PackedFile packed{path_,
                    num_samples(),
                    0,
                    std::vector<std::int64_t>(class_names_.size()),
                    sums_.mean(channels),
                    sums_.deviation(channels)};
  for (const std::int32_t label : labels_) ++packed.class_counts[static_cast<std::size_t>(label)];
  write_pictures();
  write_attributes();
  file_.write<std::int32_t>(format::kLabels, Shape{num_samples()}, labels_.data());
  file_.write<std::uint64_t>(format::kSampleHash, Shape{num_samples()}, hashes_.data());
  file_.write<double>(format::kChannelMean, Shape{channels}, packed.channel_mean.data());
  file_.write<double>(format::kChannelStd, Shape{channels}, packed.channel_std.data());
  file_.write_strings(format::kClassNames, class_names_);
  file_.write_strings(format::kSourcePaths, source_paths_);
  write_metadata_hash(packed);
  file_.close();
  packed.bytes = std::filesystem::file_size(atomic_.temporary_path());
  return packed;
}

}  // namespace trireme
