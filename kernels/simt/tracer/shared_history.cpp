// SPDX-License-Identifier: Apache-2.0
#include "kernels/simt/tracer/shared_history.h"

#include <algorithm>

#include "kernels/simt/emulator/bytes.h"

namespace trireme::simt::tracer {

void SharedHistory::start_block(int threads, std::size_t bytes) {
  ++block_;
  if (bytes_.size() < bytes) bytes_.resize(bytes);
  threads_ = threads;
  clocks_.assign(static_cast<std::size_t>(threads) * static_cast<std::size_t>(threads), 0);
  for (int thread = 0; thread < threads; ++thread) clock_of(thread, thread) = 1;
  meetings_.clear();
}

SharedHistory::Byte& SharedHistory::byte_at(std::size_t offset) {
  Byte& byte = bytes_[offset];
  if (byte.block != block_) {
    byte = {};
    byte.block = block_;
  }
  return byte;
}

// g++ does not tell of what a call returns into memory: bytes that differ from poison were written so.
bool SharedHistory::is_poison(const Access& access) {
  bool is_unwritten = false;
  for (std::size_t i = 0; i < access.bytes; ++i) {
    if (byte_at(access.offset + i).writer.clock != 0) continue;
    if (access.content[i] != emulator::kPoison) return false;
    is_unwritten = true;
  }
  return is_unwritten;
}

Fault SharedHistory::read(const Access& access) {
  if (is_poison(access)) return {Fault::Kind::nobody_wrote};
  const Stamp stamp = stamp_of(access);
  for (std::size_t offset = access.offset; offset < access.offset + access.bytes; ++offset) {
    Byte& byte = byte_at(offset);
    if (!is_before(byte.writer, access.thread))
      return {Fault::Kind::race_with_write, byte.writer.thread, byte.writer.pc};
    const bool is_first =
        byte.readers[0].thread == stamp.thread ||
        (byte.readers[1].thread != stamp.thread && is_before(byte.readers[0], access.thread));
    byte.readers[is_first ? 0 : 1] = stamp;
  }
  return {};
}

Fault SharedHistory::write(const Access& access) {
  const Stamp stamp = stamp_of(access);
  for (std::size_t offset = access.offset; offset < access.offset + access.bytes; ++offset) {
    Byte& byte = byte_at(offset);
    if (!is_before(byte.writer, access.thread))
      return {Fault::Kind::race_with_write, byte.writer.thread, byte.writer.pc};
    for (const Stamp& reader : byte.readers)
      if (!is_before(reader, access.thread)) return {Fault::Kind::race_with_read, reader.thread, reader.pc};
    byte.writer = stamp;
  }
  return {};
}

void SharedHistory::arrive(int thread, const void* place) {
  std::vector<Clock>& meeting = meetings_[place];
  meeting.resize(static_cast<std::size_t>(threads_));
  const Clock* own = &clock_of(thread, 0);
  for (std::size_t i = 0; i < meeting.size(); ++i) meeting[i] = std::max(meeting[i], own[i]);
  ++clock_of(thread, thread);
}

void SharedHistory::leave(int thread, const void* place) {
  const auto found = meetings_.find(place);
  if (found == meetings_.end()) return;
  Clock* own = &clock_of(thread, 0);
  for (std::size_t i = 0; i < found->second.size(); ++i) own[i] = std::max(own[i], found->second[i]);
}

}  // namespace trireme::simt::tracer
