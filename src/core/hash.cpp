// SPDX-License-Identifier: Apache-2.0
#include "src/core/hash.h"

#include <fmt/format.h>
#include <xxhash.h>

#include <new>

namespace trireme {

std::uint64_t xxh3(const void* data, std::size_t bytes) {
  return XXH3_64bits(data, bytes);
}

struct Hasher::State {
  XXH3_state_t* xxh = XXH3_createState();
  State() {
    if (xxh == nullptr) throw std::bad_alloc();
    XXH3_64bits_reset(xxh);
  }
  ~State() { XXH3_freeState(xxh); }
  State(const State&) = delete;
  State& operator=(const State&) = delete;
};

Hasher::Hasher() : state_(std::make_unique<State>()) {}
Hasher::~Hasher() = default;

Hasher& Hasher::add(const void* data, std::size_t bytes) {
  XXH3_64bits_update(state_->xxh, data, bytes);
  return *this;
}

Hasher& Hasher::add_text(std::string_view text) {
  const std::uint64_t length = text.size();
  add(&length, sizeof length);
  return add(text.data(), text.size());
}

std::uint64_t Hasher::digest() const {
  return XXH3_64bits_digest(state_->xxh);
}

std::string hex_of(std::uint64_t value) {
  return fmt::format("{:016x}", value);
}

}  // namespace trireme
