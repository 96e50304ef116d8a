// SPDX-License-Identifier: Apache-2.0
#include "data/row_filler.h"

#include <cstring>

namespace trireme {
namespace {

std::int64_t row_values(const Batch& batch) {
  const Shape& shape = batch.images.shape;
  return shape[1] * shape[2] * shape[3];
}

float* image_of(const Batch& batch, std::int64_t row) {
  return batch.images.as<float>() + row * row_values(batch);
}

void clear_row(const Batch& batch, std::int64_t row) {
  std::memset(image_of(batch, row), 0, static_cast<std::size_t>(row_values(batch)) * sizeof(float));
  batch.labels[row] = 0;
  batch.sample_ids[row] = -1;
}

}  // namespace

std::string batch_place(std::int64_t batch, std::uint32_t epoch) {
  return fmt::format("batch {} of epoch {}", batch + 1, std::int64_t{epoch} + 1);
}

RowFiller::RowFiller(const Dataset& dataset, const Sampler& sampler, Transform transform)
    : dataset_(dataset), sampler_(sampler), transform_(std::move(transform)) {
  TRIREME_ASSERT(sampler.num_samples() <= dataset.info().num_samples, "the sampler is of this dataset");
}

Shape RowFiller::images_shape(std::int64_t rows) const {
  const std::int64_t size = transform_.options().image_size;
  return {rows, size, size, transform_.options().channels};
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
  transform_.apply(scratch.picture, epoch, sample, image_of(batch, row), scratch.transform);
}

}  // namespace trireme
