// SPDX-License-Identifier: Apache-2.0
#include "data/row_filler.h"

#include <cstring>

namespace trireme {
namespace {

std::size_t row_bytes(const Batch& batch) {
  const Shape& shape = batch.images.shape;
  return static_cast<std::size_t>(shape[1] * shape[2] * shape[3]) * size_of(batch.images.dtype);
}

std::byte* image_of(const Batch& batch, std::int64_t row) {
  return batch.images.as<std::byte>() + static_cast<std::size_t>(row) * row_bytes(batch);
}

void clear_row(const Batch& batch, std::int64_t row) {
  std::memset(image_of(batch, row), 0, row_bytes(batch));
  batch.labels[row] = 0;
  batch.sample_ids[row] = -1;
}

}  // namespace

std::string batch_place(std::int64_t batch, std::uint32_t epoch) {
  return fmt::format("batch {} of epoch {}", batch + 1, std::int64_t{epoch} + 1);
}

RowFiller::RowFiller(const Dataset& dataset, const Sampler& sampler, Transform transform, PixelFormat pixels)
    : dataset_(dataset), sampler_(sampler), transform_(std::move(transform)), pixels_(pixels) {
  TRIREME_ASSERT(sampler.num_samples() <= dataset.info().num_samples, "the sampler is of this dataset");
  TRIREME_ASSERT(pixels != PixelFormat::stored_levels || dataset.info().has_one_shape(),
                 "only pictures of one shape go to the device as they are stored");
}

Tensor RowFiller::images(std::int64_t rows) const {
  if (pixels_ == PixelFormat::stored_levels)
    return {nullptr, dataset_.info().sample_shape.with_outer(rows), DType::u8};
  const std::int64_t size = transform_.options().image_size;
  const Shape shape{rows, size, size, transform_.options().channels};
  return {nullptr, shape, pixels_ == PixelFormat::normalised ? DType::f32 : DType::u8};
}

RowError RowFiller::fill(const Chunk& chunk, const std::atomic<bool>& abandon, Scratch& scratch) const {
  const Batch& batch = chunk.slot->batch;
  for (std::int64_t row = chunk.begin; row < chunk.end && !abandon.load(std::memory_order_relaxed); ++row) {
    if (row >= batch.valid) {
      clear_row(batch, row);
      continue;
    }
    const std::int64_t sample = sampler_.sample_at(chunk.epoch, chunk.slot->request.range.begin + row);
    std::optional<Error> error = error_of([&] { fill_row(batch, row, sample, chunk.epoch, scratch); },
                                          [&] { return batch_place(batch.index, chunk.epoch); });
    if (error) return {std::move(error), row};
  }
  return {};
}

void RowFiller::fill_row(const Batch& batch, std::int64_t row, std::int64_t sample, std::uint32_t epoch,
                         Scratch& scratch) const {
  batch.sample_ids[row] = sample;
  batch.labels[row] = dataset_.label(sample);
  dataset_.read(sample, scratch.picture);
  std::byte* const image = image_of(batch, row);
  switch (pixels_) {
    case PixelFormat::normalised:
      return transform_.apply(scratch.picture, epoch, sample, reinterpret_cast<float*>(image),
                              scratch.transform);
    case PixelFormat::framed_levels:
      return transform_.frame(scratch.picture, epoch, sample, reinterpret_cast<std::uint8_t*>(image),
                              scratch.transform);
    case PixelFormat::stored_levels:
      return copy_stored(scratch.picture, image);
  }
}

void RowFiller::copy_stored(const Picture& picture, std::byte* image) const {
  TRIREME_ASSERT((dataset_.info().sample_shape == Shape{picture.height, picture.width, picture.channels}),
                 "a dataset of one shape reads pictures of that shape");
  std::memcpy(image, picture.pixels.data(), picture.pixels.size());
}

}  // namespace trireme
