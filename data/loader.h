// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "data/dataset.h"
#include "data/sampler.h"
#include "data/transform.h"
#include "src/core/buffer.h"
#include "src/core/tensor.h"

namespace trireme {

/// What a batch holds of each picture. Levels, a byte each, are for devices that normalise by themselves;
/// they take a quarter of the memory.
enum class PixelFormat {
  normalised,     ///< f32 [rows,S,S,C]: Transform::apply
  framed_levels,  ///< u8 [rows,S,S,C]: Transform::frame. The device only normalises
  stored_levels  ///< u8 [rows,H,W,file's C], untouched: the device frames, too. If DatasetInfo::has_one_shape
};

/// A host batch: `valid` samples in the first rows; the other rows are padding: zero images, label 0, sample
/// id -1.
struct Batch {
  Tensor images;                       ///< as PixelFormat says
  std::int32_t* labels = nullptr;      ///< [rows]
  std::int64_t* sample_ids = nullptr;  ///< [rows]
  std::int64_t valid = 0;
  std::int64_t index = 0;  ///< which batch of the epoch this is
};

/// The longest wait for data, and the setting that says so, for messages.
struct DataLimit {
  std::chrono::duration<double> timeout = std::chrono::minutes(10);
  std::string setting = "--timeout";
};

struct LoaderOptions {
  int threads = 1;
  int pool_batches = 4;   ///< batches in flight, those that the user holds included; memory is allocated once
  std::int64_t rows = 0;  ///< rows of the largest batch
  DataLimit limit;
  PixelFormat pixels = PixelFormat::normalised;
};

/// Threads that make an epoch's batches arrive in order, ahead of use, from a fixed pool. What a batch holds
/// does not depend on the number of threads. One thread uses a loader; dataset, sampler and memory must
/// outlive it.
class Loader {
 public:
  /// Returns its batch to the pool when destroyed.
  struct Return {
    Loader* loader = nullptr;
    void operator()(Batch* batch) const;
  };
  using BatchPtr = std::unique_ptr<Batch, Return>;
  /// Which positions of the epoch's order batch `index` holds; `rows` is the batch's tensor size (≥ range
  /// size).
  struct Request {
    SampleRange range;
    std::int64_t rows = 0;
  };
  /// Called by the loader's threads, one at a time, once for each batch and in order.
  using RequestOf = std::function<Request(std::int64_t index)>;

  /// `transform` is not applied to stored levels.
  Loader(const Dataset& dataset, const Sampler& sampler, Transform transform, LoaderOptions options,
         BufferSource& memory);
  /// Ends the threads once each has finished the sample that it is reading. No batch may be out any more.
  ~Loader();
  Loader(const Loader&) = delete;
  Loader& operator=(const Loader&) = delete;

  /// Begins to deliver batches first, first+1, … count-1 of `epoch`. What an earlier start left is dropped;
  /// all batches must have been returned. Throws (74) if a sample being read does not end within the timeout.
  void start(std::uint32_t epoch, std::int64_t first, std::int64_t count, RequestOf request_of);
  /// The next batch in order; null after the last. Throws the error of a worker, once the batches before the
  /// faulty one are delivered and then at every call, or (74) when the timeout passes. `poll` is called about
  /// every 50 ms while waiting (signals).
  BatchPtr next(const std::function<void()>& poll = {});
  /// Seconds that next() has waited since construction.
  double wait_seconds() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace trireme
