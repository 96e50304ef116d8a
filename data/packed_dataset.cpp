// SPDX-License-Identifier: Apache-2.0
#include "data/packed_dataset.h"

#include <algorithm>

#include "data/codec.h"
#include "data/dataset_format.h"
#include "src/core/error.h"

namespace trireme {

PackedDataset::PackedDataset(DatasetIndex index, std::vector<Descriptor> keep_alive)
    : index_(std::move(index)), keep_alive_(std::move(keep_alive)) {
  sample_bytes_ = static_cast<std::uint64_t>(index_.info.sample_shape.count());
  const bool raw = index_.info.encoding == Encoding::raw;
  std::int64_t first = 0;
  for (const IndexedFile& file : index_.files) {
    first_of_.push_back(first);
    first += file.num_samples;
    descriptors_.push_back(open_for_reading(file.read_path));
    const std::uint64_t bytes = size_of_file(descriptors_.back(), file.path);
    if (bytes != file.file_bytes)
      throw make_error(Status::bad_data, "the file has {} bytes here and {} where it was opened first", bytes,
                       file.file_bytes)
          .at(file.path);
    hdf5_.emplace_back();
    if (file.contiguous) continue;
    H5File h5 = H5File::open_read(file.read_path);
    H5Dataset pictures = h5.open_dataset(raw ? dataset_format::kImages : dataset_format::kBlob);
    hdf5_.back() = std::make_unique<ThroughHdf5>(ThroughHdf5{std::move(h5), std::move(pictures)});
  }
}

PackedDataset::Place PackedDataset::place_of(std::int64_t sample) const {
  TRIREME_ASSERT(sample >= 0 && sample < index_.info.num_samples, "samples are numbered from 0 to N-1");
  const auto next = std::upper_bound(first_of_.begin(), first_of_.end(), sample);
  const auto file = static_cast<std::size_t>(next - first_of_.begin()) - 1;
  return {file, sample - first_of_[file]};
}

std::string PackedDataset::name_of(const Place& place) const {
  return fmt::format("sample {} of {}", place.sample, index_.files[place.file].path);
}

void PackedDataset::read_direct(const Place& place, std::vector<std::uint8_t>& bytes) const {
  const IndexedFile& file = index_.files[place.file];
  const std::uint64_t begin = file.address + file.begin_of(place.sample, sample_bytes_);
  const std::size_t got = read_at(descriptors_[place.file], file.path, begin, bytes.data(), bytes.size());
  if (got != bytes.size())
    throw make_error(Status::bad_data, "the file ends early: {} of {} bytes at {}", got, bytes.size(), begin)
        .at(name_of(place));
}

void PackedDataset::read_through_hdf5(const Place& place, std::vector<std::uint8_t>& bytes) const {
  const H5Dataset& pictures = hdf5_[place.file]->pictures;
  try {
    if (index_.info.encoding == Encoding::raw) {
      pictures.read_rows(place.sample, 1, bytes.data());
    } else {
      const std::uint64_t begin = index_.files[place.file].begin_of(place.sample, sample_bytes_);
      pictures.read_rows(static_cast<std::int64_t>(begin), static_cast<std::int64_t>(bytes.size()),
                         bytes.data());
    }
  } catch (Error& error) {
    throw std::move(error).at(name_of(place));
  }
}

void PackedDataset::read_stored(std::int64_t sample, std::vector<std::uint8_t>& bytes) const {
  const Place place = place_of(sample);
  bytes.resize(static_cast<std::size_t>(index_.files[place.file].bytes_of(place.sample, sample_bytes_)));
  hdf5_[place.file] == nullptr ? read_direct(place, bytes) : read_through_hdf5(place, bytes);
}

void PackedDataset::read(std::int64_t sample, Picture& picture) const {
  const Shape& shape = index_.info.sample_shape;
  if (index_.info.encoding == Encoding::raw) {
    picture.resize(static_cast<int>(shape[0]), static_cast<int>(shape[1]), static_cast<int>(shape[2]));
    return read_stored(sample, picture.pixels);
  }
  std::vector<std::uint8_t> encoded;
  read_stored(sample, encoded);
  try {
    decode_picture(encoded, picture);
  } catch (Error& error) {
    throw std::move(error).at(name_of(place_of(sample)));
  }
  convert_channels(picture, index_.info.channels());
}

}  // namespace trireme
