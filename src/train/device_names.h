// SPDX-License-Identifier: Apache-2.0
// How settings spell devices, precisions and engines.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "src/device/accelerator.h"
#include "src/device/device.h"
#include "src/train/setting_value.h"

namespace trireme {

/// What --device asks for.
struct WantedDevice {
  std::optional<DeviceKind> kind;  ///< nothing: a GPU where there is one, else the CPU
  std::optional<int> index;        ///< of "cuda:N"
};
/// `name` as --device spells it; Error (78) for anything else.
WantedDevice parse_device_name(std::string_view name);
/// The same check, for the table of settings.
void check_device_name(std::string_view name);

/// "auto" and the names of Precision.
Choice precision_choice();
/// Nothing for "auto".
std::optional<Precision> parse_precision(std::string_view name);
std::string_view precision_name(Precision precision);

/// The names of Engine.
Choice engine_choice();
Engine parse_engine(std::string_view name);

}  // namespace trireme
