// SPDX-License-Identifier: Apache-2.0
// Opening one dataset.h5: everything that reading relies on is checked here, once.
#include <algorithm>
#include <set>
#include <string_view>

#include "data/dataset_format.h"
#include "data/dataset_index.h"
#include "src/core/error.h"
#include "src/io/descriptor.h"

namespace trireme {

namespace format = dataset_format;

namespace {

constexpr char kPackAgain[] = "copy or pack it again";

H5File open_file(const std::string& path) {
  try {
    return H5File::open_read(path);
  } catch (Error& error) {
    if (error.status() != Status::bad_data) throw;
    throw std::move(error).hint(kPackAgain);
  }
}

/// A class name that stands in the list twice; null if none does.
const std::string* repeated_name(const std::vector<std::string>& names) {
  std::set<std::string_view> seen;
  for (const std::string& name : names)
    if (!seen.insert(name).second) return &name;
  return nullptr;
}

class Opening {
 public:
  explicit Opening(const std::string& path) : path_(path), opened_{open_file(path), {}, {}} {
    file_.path = file_.read_path = path;
    file_.file_bytes = size_of_file(open_for_reading(path), path);
  }

  OpenedDataset run() {
    check_format();
    read_attributes();
    read_classes();
    read_labels();
    info().encoding == Encoding::raw ? find_images() : find_blob();
    read_statistics();
    read_hashes();
    info().name = path_;
    opened_.index.files.push_back(std::move(file_));
    return std::move(opened_);
  }

 private:
  H5File& h5() { return opened_.file; }
  DatasetInfo& info() { return opened_.index.info; }

  template <typename... Args>
  Error bad(fmt::format_string<Args...> text, Args&&... args) const {
    return make_error(Status::bad_data, text, std::forward<Args>(args)...).at(path_);
  }

  void check_format() {
    if (!h5().has_attribute(format::kFormat))
      throw bad("not a trireme dataset: it has no attribute {}", format::kFormat)
          .hint("trireme pack makes one");
    const std::string what = h5().read_text_attribute(format::kFormat);
    if (what != format::kFormatValue)
      throw bad("a trireme {} where a dataset is expected", what).hint("trireme pack makes a dataset");
    const auto version = h5().read_attribute<std::int64_t>(format::kVersionName);
    if (version != format::kVersion)
      throw bad("format version {}; this program reads version {}", version, format::kVersion)
          .hint("pack it again with this trireme");
  }

  void read_attributes() {
    const std::string encoding = h5().read_text_attribute(format::kEncoding);
    if (encoding != format::kRaw && encoding != format::kJpeg) throw bad("unknown encoding '{}'", encoding);
    info().encoding = encoding == format::kRaw ? Encoding::raw : Encoding::jpeg;
    const auto shape = h5().read_attribute_array<std::int64_t>(format::kSampleShape);
    constexpr std::int64_t kLargestSide = 65535;
    const std::int64_t least = info().encoding == Encoding::raw ? 1 : 0;
    if (shape.size() != 3 || shape[0] < least || shape[1] < least || shape[0] > kLargestSide ||
        shape[1] > kLargestSide || (shape[2] != 1 && shape[2] != 3))
      throw bad("unusable {}: [{}]", format::kSampleShape, fmt::join(shape, ","));
    info().sample_shape = Shape{shape[0], shape[1], shape[2]};
    info().num_samples = h5().read_attribute<std::int64_t>(format::kNumSamples);
    if (info().num_samples < 1) throw bad("it holds no samples").hint(kPackAgain);
    file_.num_samples = info().num_samples;
  }

  void read_classes() {
    info().class_names = h5().read_strings(format::kClassNames);
    const auto promised = h5().read_attribute<std::int64_t>(format::kNumClasses);
    if (promised != static_cast<std::int64_t>(info().class_names.size()))
      throw bad("{} classes by {}, but {} names", promised, format::kNumClasses, info().class_names.size())
          .hint(kPackAgain);
    if (const std::string* twice = repeated_name(info().class_names))
      throw bad("/{} has '{}' twice", format::kClassNames, *twice).hint("give every class a name of its own");
  }

  // Read as int64, so that nothing is clipped into range.
  void read_labels() {
    check_length(format::kLabels, info().num_samples);
    const H5Element element = h5().open_dataset(format::kLabels).element();
    if (element != H5Element::u8 && element != H5Element::integer)
      throw bad("/{} does not hold integers", format::kLabels).hint("write labels as int32");
    const std::vector<std::int64_t> labels = h5().read<std::int64_t>(format::kLabels);
    const auto classes = static_cast<std::int64_t>(info().class_names.size());
    opened_.index.labels.reserve(labels.size());
    for (std::size_t i = 0; i < labels.size(); ++i) {
      if (labels[i] < 0 || labels[i] >= classes)
        throw bad("sample {} has label {}; there are {} classes", i, labels[i], classes)
            .hint("labels count from 0, one for each of the class names; correct them, or pack it again");
      opened_.index.labels.push_back(static_cast<std::int32_t>(labels[i]));
    }
  }

  void check_length(const char* name, std::int64_t expected) {
    if (!h5().has(name)) throw bad("/{} is missing", name);
    const Shape shape = h5().open_dataset(name).shape();
    if (shape.rank() != 1 || shape[0] != expected)
      throw bad("/{} has shape {}, expected [{}]", name, shape.text(), expected);
  }

  H5Dataset open_bytes(const char* name) {
    if (!h5().has(name)) throw bad("/{} is missing", name);
    H5Dataset dataset = h5().open_dataset(name);
    if (dataset.element() != H5Element::u8) throw bad("/{} does not hold unsigned bytes", name);
    return dataset;
  }

  void locate(const H5Dataset& dataset) {
    const auto address = dataset.address();
    file_.contiguous = address.has_value();
    if (!address) return;
    file_.address = *address;
    const auto bytes = static_cast<std::uint64_t>(dataset.shape().count());
    if (*address > file_.file_bytes || bytes > file_.file_bytes - *address)
      throw bad("truncated: /{} ends at byte {}, the file has {}", dataset.name(), *address + bytes,
                file_.file_bytes)
          .hint(kPackAgain);
  }

  void find_images() {
    const H5Dataset images = open_bytes(format::kImages);
    const Shape expected = info().sample_shape.with_outer(info().num_samples);
    if (!(images.shape() == expected))
      throw bad("/{} has shape {}, expected {}", format::kImages, images.shape().text(), expected.text());
    locate(images);
  }

  void find_blob() {
    const H5Dataset blob = open_bytes(format::kBlob);
    if (blob.shape().rank() != 1) throw bad("/{} has shape {}", format::kBlob, blob.shape().text());
    check_length(format::kOffsets, info().num_samples + 1);
    file_.offsets = h5().read<std::uint64_t>(format::kOffsets);
    if (file_.offsets[0] != 0 || !std::is_sorted(file_.offsets.begin(), file_.offsets.end()) ||
        file_.offsets.back() != static_cast<std::uint64_t>(blob.shape()[0]))
      throw bad("/{} does not divide the {} bytes of /{}", format::kOffsets, blob.shape()[0], format::kBlob)
          .hint(kPackAgain);
    locate(blob);
  }

  void read_statistics() {
    const std::int64_t channels = info().sample_shape[2];
    for (const char* name : {format::kChannelMean, format::kChannelStd}) check_length(name, channels);
    info().channel_mean = h5().read<double>(format::kChannelMean);
    info().channel_std = h5().read<double>(format::kChannelStd);
    for (double& deviation : info().channel_std) {
      if (!(deviation >= 0 && deviation <= 1)) throw bad_statistic(format::kChannelStd, deviation);
      // A channel that never changes is shifted to zero and not scaled.
      if (deviation == 0) deviation = 1;
    }
    for (const double mean : info().channel_mean)
      if (!(mean >= 0 && mean <= 1)) throw bad_statistic(format::kChannelMean, mean);
  }

  Error bad_statistic(const char* name, double value) const {
    return bad("/{} holds {}, which is not in 0..1", name, value)
        .hint("statistics are those of pixels divided by 255");
  }

  void read_hashes() {
    if (!h5().has(format::kSampleHash)) return;
    check_length(format::kSampleHash, info().num_samples);
    opened_.hashes = h5().read<std::uint64_t>(format::kSampleHash);
  }

  const std::string& path_;
  OpenedDataset opened_;
  IndexedFile file_;
};

}  // namespace

OpenedDataset open_packed_file(const std::string& path) {
  return Opening(path).run();
}

}  // namespace trireme
