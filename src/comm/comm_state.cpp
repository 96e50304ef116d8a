// SPDX-License-Identifier: Apache-2.0
#include "src/comm/comm_state.h"

#include "src/comm/flight_json.h"
#include "src/core/log.h"

namespace trireme {

const CommEntry* CommState::find_pending(std::uint64_t id) const {
  for (const std::list<CommEntry>* list : {&active, &queue})
    for (const CommEntry& entry : *list)
      if (entry.id == id) return &entry;
  return nullptr;
}

void CommState::fail(const Error& error) {
  {
    const std::lock_guard lock(mutex);
    if (failure) return;
  }
  keep_recorder(error.what());
  const std::lock_guard lock(mutex);
  if (!failure) failure = error;
  attention = true;
  work.notify_all();
  changed.notify_all();
}

void CommState::keep_recorder(const std::string& reason) noexcept {
  try {
    std::function<void(const std::string&)> keep;
    {
      const std::lock_guard lock(mutex);
      keep.swap(keep_flight);  // once
    }
    if (keep) keep(flight_json(recorder, activity, board(), reason));
  } catch (const std::exception& error) {
    log::warn("the flight recorder could not be kept: {}", error.what());
  }
}

}  // namespace trireme
