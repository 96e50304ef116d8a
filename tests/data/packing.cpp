// SPDX-License-Identifier: Apache-2.0
#include "tests/data/packing.h"

namespace trireme::testing_pictures {

void write_contents(const std::string& path, Contents contents) {
  if (contents.pixels.empty()) {
    contents.pixels.resize(static_cast<std::size_t>(contents.images.count()));
    for (std::size_t i = 0; i < contents.pixels.size(); ++i)
      contents.pixels[i] = static_cast<std::uint8_t>(i);
  }
  H5File file = H5File::create(path);
  file.write_text_attribute("trireme_format", contents.format);
  file.write_attribute<std::int64_t>("version", contents.version);
  file.write_text_attribute("encoding", contents.encoding);
  file.write_attribute<std::int64_t>("sample_shape", contents.sample_shape);
  file.write_attribute<std::int64_t>("num_samples", contents.num_samples);
  file.write_attribute<std::int64_t>("num_classes", contents.num_classes);
  const auto row = [](const auto& values) { return Shape{static_cast<std::int64_t>(values.size())}; };
  if (contents.encoding == "jpeg") {
    file.write<std::uint8_t>("blob", row(contents.pixels), contents.pixels.data());
    file.write<std::uint64_t>("offsets", row(contents.offsets), contents.offsets.data());
  } else {
    file.write<std::uint8_t>("images", contents.images, contents.pixels.data());
  }
  file.write<std::int32_t>("labels", row(contents.labels), contents.labels.data());
  file.write_strings("class_names", contents.class_names);
  file.write<double>("channel_mean", row(contents.mean), contents.mean.data());
  file.write<double>("channel_std", row(contents.deviation), contents.deviation.data());
  if (!contents.hashes.empty())
    file.write<std::uint64_t>("sample_hash", row(contents.hashes), contents.hashes.data());
  if (!contents.source_paths.empty()) file.write_strings("source_paths", contents.source_paths);
  file.close();
}

}  // namespace trireme::testing_pictures
