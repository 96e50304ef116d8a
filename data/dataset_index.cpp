// SPDX-License-Identifier: Apache-2.0
#include "data/dataset_index.h"

#include <algorithm>
#include <cmath>

#include "data/byte_stream.h"
#include "src/core/error.h"
#include "src/core/hash.h"

namespace trireme {

std::uint64_t IndexedFile::begin_of(std::int64_t sample, std::uint64_t sample_bytes) const {
  return offsets.empty() ? static_cast<std::uint64_t>(sample) * sample_bytes
                         : offsets[static_cast<std::size_t>(sample)];
}

std::uint64_t IndexedFile::bytes_of(std::int64_t sample, std::uint64_t sample_bytes) const {
  return offsets.empty()
             ? sample_bytes
             : offsets[static_cast<std::size_t>(sample) + 1] - offsets[static_cast<std::size_t>(sample)];
}

std::string first_class_difference(const std::vector<std::string>& a, std::string_view a_is,
                                   const std::vector<std::string>& b, std::string_view b_is) {
  for (std::size_t i = 0; i < std::min(a.size(), b.size()); ++i)
    if (a[i] != b[i]) return fmt::format("class {} is '{}' in {} and '{}' in {}", i, a[i], a_is, b[i], b_is);
  if (a.size() == b.size()) return {};
  const bool a_longer = a.size() > b.size();
  const std::size_t i = std::min(a.size(), b.size());
  return fmt::format("class {}, '{}', of {} is missing in {}", i, a_longer ? a[i] : b[i],
                     a_longer ? a_is : b_is, a_longer ? b_is : a_is);
}

namespace {

void check_joinable(const DatasetIndex& first, const DatasetIndex& next) {
  const std::string& first_path = first.files[0].path;
  const std::string& path = next.files[0].path;
  if (next.info.encoding != first.info.encoding)
    throw make_error(Status::bad_data, "one file holds raw pictures and the other JPEG")
        .at(first_path)
        .at(path);
  if (!(next.info.sample_shape == first.info.sample_shape))
    throw make_error(Status::bad_data, "pictures of {} and of {}", first.info.sample_shape.text(),
                     next.info.sample_shape.text())
        .at(first_path)
        .at(path);
  const std::string difference =
      first_class_difference(first.info.class_names, first_path, next.info.class_names, path);
  if (!difference.empty()) throw make_error(Status::bad_data, "class lists differ: {}", difference);
}

/// Mean and mean square add up, weighted by samples; deviations do not.
class PooledStatistics {
 public:
  void add(const DatasetInfo& info) {
    const auto weight = static_cast<double>(info.num_samples);
    mean_.resize(info.channel_mean.size());
    square_.resize(info.channel_mean.size());
    for (std::size_t c = 0; c < mean_.size(); ++c) {
      const double mean = info.channel_mean[c], deviation = info.channel_std[c];
      mean_[c] += weight * mean;
      square_[c] += weight * (deviation * deviation + mean * mean);
    }
    weight_ += weight;
  }
  void store(DatasetInfo& info) const {
    for (std::size_t c = 0; c < mean_.size(); ++c) {
      const double mean = mean_[c] / weight_;
      info.channel_mean[c] = mean;
      info.channel_std[c] = std::sqrt(std::max(square_[c] / weight_ - mean * mean, 0.0));
    }
  }

 private:
  double weight_ = 0;
  std::vector<double> mean_, square_;
};

std::uint64_t fingerprint_of(const DatasetIndex& index, const std::vector<OpenedDataset>& files) {
  Hasher hasher;
  const DatasetInfo& info = index.info;
  hasher.add_text(info.encoding == Encoding::raw ? "raw" : "jpeg").add_text(info.sample_shape.text());
  hasher.add(&info.num_samples, sizeof info.num_samples);
  for (const std::string& name : info.class_names) hasher.add_text(name);
  hasher.add(index.labels.data(), index.labels.size() * sizeof(std::int32_t));
  for (const OpenedDataset& file : files)
    hasher.add(file.hashes.data(), file.hashes.size() * sizeof(std::uint64_t));
  return hasher.digest();
}

}  // namespace

DatasetIndex join_files(std::string name, std::vector<OpenedDataset> files) {
  TRIREME_ASSERT(!files.empty(), "a dataset has files");
  DatasetIndex joined;
  joined.info = files[0].index.info;
  joined.info.name = std::move(name);
  joined.info.num_samples = 0;
  PooledStatistics statistics;
  for (OpenedDataset& opened : files) {
    DatasetIndex& next = opened.index;
    if (&opened != &files[0]) check_joinable(joined, next);
    joined.info.num_samples += next.info.num_samples;
    joined.labels.insert(joined.labels.end(), next.labels.begin(), next.labels.end());
    joined.files.push_back(std::move(next.files[0]));
    statistics.add(next.info);
  }
  if (files.size() > 1) statistics.store(joined.info);
  joined.info.fingerprint = fingerprint_of(joined, files);
  return joined;
}

std::vector<std::byte> to_bytes(const DatasetIndex& index) {
  ByteWriter out;
  const DatasetInfo& info = index.info;
  out.put_text(info.name);
  out.put(info.encoding);
  out.put(info.sample_shape);
  out.put(info.num_samples);
  out.put(static_cast<std::uint64_t>(info.class_names.size()));
  for (const std::string& name : info.class_names) out.put_text(name);
  out.put_all(info.channel_mean);
  out.put_all(info.channel_std);
  out.put(info.fingerprint);
  out.put_all(index.labels);
  out.put(static_cast<std::uint64_t>(index.files.size()));
  for (const IndexedFile& file : index.files) {
    out.put_text(file.path);
    out.put_text(file.read_path);
    out.put(file.file_bytes);
    out.put(file.num_samples);
    out.put(file.contiguous);
    out.put(file.address);
    out.put_all(file.offsets);
  }
  return out.take();
}

DatasetIndex index_from_bytes(std::span<const std::byte> bytes) {
  ByteReader in(bytes);
  DatasetIndex index;
  DatasetInfo& info = index.info;
  info.name = in.get_text();
  info.encoding = in.get<Encoding>();
  info.sample_shape = in.get<Shape>();
  info.num_samples = in.get<std::int64_t>();
  for (auto left = in.get<std::uint64_t>(); left > 0; --left) info.class_names.push_back(in.get_text());
  info.channel_mean = in.get_all<double>();
  info.channel_std = in.get_all<double>();
  info.fingerprint = in.get<std::uint64_t>();
  index.labels = in.get_all<std::int32_t>();
  for (auto left = in.get<std::uint64_t>(); left > 0; --left) {
    IndexedFile file;
    file.path = in.get_text();
    file.read_path = in.get_text();
    file.file_bytes = in.get<std::uint64_t>();
    file.num_samples = in.get<std::int64_t>();
    file.contiguous = in.get<bool>();
    file.address = in.get<std::uint64_t>();
    file.offsets = in.get_all<std::uint64_t>();
    index.files.push_back(std::move(file));
  }
  return index;
}

}  // namespace trireme
