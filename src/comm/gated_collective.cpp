// SPDX-License-Identifier: Apache-2.0
#include "src/comm/gated_collective.h"

#include <utility>

namespace trireme {

GatedCollective::GatedCollective(std::unique_ptr<Collective> collective, std::unique_ptr<Event> made,
                                 std::shared_ptr<StartOrder> order)
    : collective_(std::move(collective)),
      made_(std::move(made)),
      order_(std::move(order)),
      number_(order_->made++) {}

bool GatedCollective::begin() {
  if (has_begun_) return true;
  if (order_->starting != number_ || (made_ != nullptr && !made_->done())) return false;
  ++order_->starting;
  has_begun_ = true;
  collective_->start();
  return true;
}

std::string GatedCollective::held_up_by() const {
  if (has_begun_) return collective_->held_up_by();
  if (made_ != nullptr && !made_->done()) return kDeviceIsAwaited;
  return "waiting for its turn: an earlier one waits for the device";
}

}  // namespace trireme
