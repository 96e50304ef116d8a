// SPDX-License-Identifier: Apache-2.0
#include "src/core/buffer.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>

#include "src/core/error.h"

namespace trireme {
namespace {

TEST(HostMemory, IsZeroedAndAligned) {
  HostMemory memory;
  for (std::size_t bytes : {std::size_t{1}, std::size_t{5000}, std::size_t{3} << 20}) {
    const auto buffer = memory.allocate(bytes);
    EXPECT_EQ(buffer->bytes(), bytes);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(buffer->data()) % 4096, 0U);
    const auto* first = static_cast<const unsigned char*>(buffer->data());
    EXPECT_TRUE(std::all_of(first, first + bytes, [](unsigned char byte) { return byte == 0; }));
  }
}

TEST(HostMemory, AllowsZeroBytes) {
  HostMemory memory;
  EXPECT_EQ(memory.allocate(0)->bytes(), 0U);
}

#ifndef TRIREME_SANITIZED  // sanitizers end the process instead of returning null
TEST(HostMemory, SaysWhatWasAskedForWhenThereIsNone) {
  HostMemory memory;
  try {
    memory.allocate(std::size_t{1} << 60);
    FAIL() << "did not throw";
  } catch (const Error& error) {
    EXPECT_EQ(error.status(), Status::configuration);
    EXPECT_NE(std::string(error.what()).find("1099511627776.0 MiB"), std::string::npos) << error.what();
  }
}
#endif

}  // namespace
}  // namespace trireme
