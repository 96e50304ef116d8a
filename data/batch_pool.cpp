// SPDX-License-Identifier: Apache-2.0
#include "data/batch_pool.h"

#include <algorithm>

namespace trireme {
namespace {

std::size_t aligned(std::size_t bytes) {
  constexpr std::size_t kAlignment = 256;
  return (bytes + kAlignment - 1) / kAlignment * kAlignment;
}

}  // namespace

BatchPool::BatchPool(int batches, const Tensor& images, BufferSource& memory)
    : slots_(static_cast<std::size_t>(batches)) {
  const auto rows = static_cast<std::size_t>(images.shape[0]);
  const std::size_t image_bytes = aligned(images.bytes());
  const std::size_t label_bytes = aligned(rows * sizeof(std::int32_t));
  free_.reserve(slots_.size());
  in_flight_.reserve(slots_.size());
  for (BatchSlot& slot : slots_) {
    slot.memory = memory.allocate(image_bytes + label_bytes + rows * sizeof(std::int64_t));
    auto* bytes = static_cast<std::byte*>(slot.memory->data());
    slot.batch.images = Tensor{bytes, images.shape, images.dtype};
    slot.batch.labels = reinterpret_cast<std::int32_t*>(bytes + image_bytes);
    slot.batch.sample_ids = reinterpret_cast<std::int64_t*>(bytes + image_bytes + label_bytes);
    free_.push_back(&slot);
  }
}

BatchSlot& BatchPool::open(std::int64_t index, const Loader::Request& request) {
  BatchSlot& slot = *free_.back();
  free_.pop_back();
  in_flight_.push_back(&slot);
  slot.batch.index = index;
  slot.batch.valid = request.range.size();
  slot.batch.images.shape[0] = request.rows;
  slot.request = request;
  slot.next_row = 0;
  slot.missing_rows = request.rows;
  slot.error.reset();
  return slot;
}

BatchSlot& BatchPool::take_front() {
  BatchSlot& slot = *in_flight_.front();
  in_flight_.erase(in_flight_.begin());
  return slot;
}

void BatchPool::give_back(Batch* batch) {
  const auto found =
      std::ranges::find_if(slots_, [&](const BatchSlot& slot) { return &slot.batch == batch; });
  TRIREME_ASSERT(found != slots_.end(), "the batch belongs to this pool");
  free_.push_back(&*found);
}

void BatchPool::drop_in_flight() {
  free_.insert(free_.end(), in_flight_.begin(), in_flight_.end());
  in_flight_.clear();
}

}  // namespace trireme
