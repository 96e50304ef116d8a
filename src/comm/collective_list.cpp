// SPDX-License-Identifier: Apache-2.0
#include "src/comm/collective_list.h"

#include <algorithm>
#include <cstring>
#include <utility>

namespace trireme {

CollectiveList::CollectiveList(std::vector<std::unique_ptr<Collective>> parts, Copy copy,
                               std::string description)
    : parts_(std::move(parts)), done_(parts_.size()), copy_(copy), description_(std::move(description)) {}

void CollectiveList::start() {
  for (const auto& part : parts_) part->start();
}

bool CollectiveList::step_parts() {
  bool all = true;
  for (std::size_t i = 0; i < parts_.size(); ++i) {
    if (!done_[i]) done_[i] = parts_[i]->step();
    all = all && done_[i];
  }
  return all;
}

/// A portion per step, so that the thread stays responsive.
bool CollectiveList::copy_some() {
  constexpr std::size_t kPortion = std::size_t{4} << 20;
  const std::size_t bytes = std::min(kPortion, copy_.bytes - copied_);
  if (copy_.from != copy_.to && bytes > 0) std::memcpy(copy_.to + copied_, copy_.from + copied_, bytes);
  copied_ += bytes;
  return copied_ == copy_.bytes;
}

bool CollectiveList::step() {
  return step_parts() && copy_some();
}

std::string CollectiveList::awaited() const {
  for (std::size_t i = 0; i < parts_.size(); ++i)
    if (!done_[i]) return parts_[i]->awaited();
  return {};
}

}  // namespace trireme
