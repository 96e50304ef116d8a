// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "data/loader.h"
#include "src/core/error.h"

namespace trireme {

/// A batch of the pool, its memory, and how far its filling has come.
struct BatchSlot {
  Batch batch;  ///< the first member's address is what users hold
  Loader::Request request;
  std::int64_t next_row = 0;      ///< rows from here on have not been handed out to a thread
  std::int64_t missing_rows = 0;  ///< rows not finished yet
  std::optional<Error> error;     ///< of the lowest faulty row
  std::int64_t error_row = 0;
  std::unique_ptr<Buffer> memory;
};

/// The fixed set of batches of a loader, each in one piece of memory: images, labels, sample ids. Every batch
/// is free, in flight (in order of delivery) or held by the user. Not thread-safe: the loader's lock guards
/// it.
class BatchPool {
 public:
  /// `images` has shape and type of the largest batch's.
  BatchPool(int batches, const Tensor& images, BufferSource& memory);

  bool has_free() const { return !free_.empty(); }
  /// Takes a free batch in flight behind those that are.
  BatchSlot& open(std::int64_t index, const Loader::Request& request);
  /// The batch that is to be delivered next; null if none is in flight.
  BatchSlot* front() const { return in_flight_.empty() ? nullptr : in_flight_.front(); }
  /// Gives the front batch to the user.
  BatchSlot& take_front();
  void give_back(Batch* batch);
  /// Frees all batches in flight.
  void drop_in_flight();
  /// How many batches the user holds.
  std::size_t held() const { return slots_.size() - free_.size() - in_flight_.size(); }
  std::size_t size() const { return slots_.size(); }

 private:
  std::vector<BatchSlot> slots_;
  std::vector<BatchSlot*> free_, in_flight_;  // a few entries: order matters, not speed
};

}  // namespace trireme
