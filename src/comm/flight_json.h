// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

#include "src/comm/progress_record.h"

namespace trireme {

/// A rank's recorder, what it does and what it knows of the others, as one JSON object (docs/formats.md).
/// `board` is null where the rank is alone. `reason` is why it is written: the message of the failure.
std::string flight_json(const FlightRecorder& recorder, const Activity& activity, const ProgressBoard* board,
                        std::string_view reason);

}  // namespace trireme
