// SPDX-License-Identifier: Apache-2.0
#include "src/core/error.h"

namespace trireme {

void Error::compose() {
  whole_ = message_;
  if (!place_.empty()) whole_ += fmt::format(": {}", place_);
  if (!hint_.empty()) whole_ += fmt::format("\n  hint: {}", hint_);
}

void detail::assertion_failed(const char* expression, const char* file, int line, std::string_view why) {
  throw Error(Status::internal, fmt::format("internal error: {} ({})", why, expression))
      .at(fmt::format("{}:{}", file, line))
      .hint("this is a fault of trireme; please report it with the command line");
}

}  // namespace trireme
