// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "src/device/device.h"

namespace trireme::testing_support {

/// A stream whose work is always done; counts how often somebody waited for it.
class HostStream final : public Stream {
 public:
  void record(Event& /*event*/) override {}
  void wait(const Event& /*event*/) override {}
  void synchronize() override { ++synchronized; }

  int synchronized = 0;
};

}  // namespace trireme::testing_support
