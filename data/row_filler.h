// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include "data/batch_pool.h"
#include "data/loader.h"
#include "src/core/error.h"

namespace trireme {

/// Calls `work`; what it throws comes back as an Error with the place that `place` makes.
template <typename Work, typename Place>
std::optional<Error> error_of(const Work& work, const Place& place) {
  try {
    work();
    return std::nullopt;
  } catch (Error& error) {
    return std::move(error).at(place());
  } catch (const std::exception& error) {
    return make_error(Status::internal, "data loader: {}", error.what()).at(place());
  }
}

/// "batch 17 of epoch 3"; messages count both from 1, the arguments from 0
std::string batch_place(std::int64_t batch, std::uint32_t epoch);

/// Rows of a batch that a loader's worker takes at once.
struct Chunk {
  BatchSlot* slot = nullptr;
  std::uint32_t epoch = 0;
  std::int64_t begin = 0, end = 0;
};

/// What went wrong in a row, if something did.
struct RowError {
  std::optional<Error> error;
  std::int64_t row = 0;
};

/// Makes rows of batches: which sample, read, transform. Immutable: any number of threads may fill, each with
/// its own scratch.
class RowFiller {
 public:
  struct Scratch {
    Picture picture;
    TransformScratch transform;
  };

  RowFiller(const Dataset& dataset, const Sampler& sampler, Transform transform, PixelFormat pixels);

  const Dataset& dataset() const { return dataset_; }
  const Sampler& sampler() const { return sampler_; }
  /// Shape and type of the pictures of so many rows; no memory.
  Tensor images(std::int64_t rows) const;
  /// Fills the chunk up to the first row that fails, or until `abandon` is set.
  RowError fill(const Chunk& chunk, const std::atomic<bool>& abandon, Scratch& scratch) const;

 private:
  void fill_row(const Batch& batch, std::int64_t row, std::int64_t sample, std::uint32_t epoch,
                Scratch& scratch) const;
  void copy_stored(const Picture& picture, std::byte* image) const;

  const Dataset& dataset_;
  const Sampler& sampler_;
  Transform transform_;
  PixelFormat pixels_;
};

}  // namespace trireme
