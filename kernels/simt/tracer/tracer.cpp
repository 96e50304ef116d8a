// SPDX-License-Identifier: Apache-2.0
#include "kernels/simt/tracer/tracer.h"

#include "kernels/simt/emulator/block.h"
#include "kernels/simt/emulator/device_memory.h"
#include "kernels/simt/emulator/worker.h"
#include "kernels/simt/tracer/shared_history.h"
#include "kernels/simt/tracer/source_line.h"

namespace trireme::simt::tracer {
namespace {

using emulator::Site;
using emulator::Worker;

struct State {
  const Worker* worker = nullptr;
  std::uint64_t block = 0;
  SharedHistory history;
};

// The code below may share functions of templates with kernels, whose copies call the tracer again.
thread_local bool is_inside = false;

class Inside {
 public:
  Inside() { is_inside = true; }
  ~Inside() { is_inside = false; }
  Inside(const Inside&) = delete;
  Inside& operator=(const Inside&) = delete;
};

/// What is known of the running block; of a new one, nothing.
State& state_of(const Worker& worker) {
  thread_local State state;
  if (state.worker != &worker || state.block != worker.block_number()) {
    state.worker = &worker;
    state.block = worker.block_number();
    state.history.start_block(worker.threads(), emulator::BlockMemory::kRegion);
  }
  return state;
}

struct Finding {
  enum class Kind { none, shared, between_arrays, bare } kind = Kind::none;
  Fault fault;
};

Finding look_at(Worker& worker, const void* address, std::size_t bytes, bool is_write, const void* pc) {
  const emulator::BlockMemory& memory = worker.memory();
  const auto* byte = static_cast<const char*>(address);
  if (byte >= memory.begin() && byte < memory.begin() + emulator::BlockMemory::kRegion) {
    if (!memory.holds(address, bytes)) return {Finding::Kind::between_arrays, {}};
    SharedHistory& history = state_of(worker).history;
    const Access access{worker.running(), static_cast<std::size_t>(byte - memory.begin()), bytes,
                        reinterpret_cast<std::uintptr_t>(pc), static_cast<const unsigned char*>(address)};
    const Fault fault = is_write ? history.write(access) : history.read(access);
    return {fault.kind == Fault::Kind::none ? Finding::Kind::none : Finding::Kind::shared, fault};
  }
  emulator::DeviceAllocation allocation{};
  if (!worker.is_announced(address, bytes) && emulator::find_device_allocation(address, allocation))
    return {Finding::Kind::bare, {}};
  return {};
}

[[noreturn]] void fail_with(const Finding& finding, std::size_t bytes, bool is_write, const void* pc) {
  Site here = site_of(reinterpret_cast<std::uintptr_t>(pc), 0);
  if (here.line == 0) here = Worker::current().announced_at();
  const char* what = is_write ? "writes" : "reads";
  const int size = static_cast<int>(bytes);
  if (finding.kind == Finding::Kind::bare)
    emulator::fail(here, "tracer: %s %d bytes of device memory without load, store or their like", what,
                   size);
  if (finding.kind == Finding::Kind::between_arrays)
    emulator::fail(here, "tracer: %s %d bytes of shared memory that belong to no array", what, size);
  if (finding.fault.kind == Fault::Kind::nobody_wrote)
    emulator::fail(here, "tracer: reads %d bytes of shared memory of which nobody wrote some", size);
  const Site there = site_of(finding.fault.pc, 1);
  const char* done = finding.fault.kind == Fault::Kind::race_with_read ? "read" : "wrote";
  if (there.line == 0)  // in a word of the vocabulary, as ldmatrix and cp.async are
    emulator::fail(here, "tracer: %s %d bytes of shared memory that thread %d %s: nothing orders them", what,
                   size, finding.fault.thread, done);
  emulator::fail(here, "tracer: %s %d bytes of shared memory that thread %d %s at %s:%d: nothing orders them",
                 what, size, finding.fault.thread, done, there.file, there.line);
}

}  // namespace

void on_access(const void* address, std::size_t bytes, bool is_write, const void* pc) {
  if (is_inside || !Worker::is_running()) return;
  Finding finding;
  {
    const Inside inside;
    finding = look_at(Worker::current(), address, bytes, is_write, pc);
  }
  if (finding.kind != Finding::Kind::none) fail_with(finding, bytes, is_write, pc);
}

void on_arrival(const void* place) {
  if (is_inside || !Worker::is_running()) return;
  const Inside inside;
  state_of(Worker::current()).history.arrive(Worker::current().running(), place);
}

void on_leaving(const void* place) {
  if (is_inside || !Worker::is_running()) return;
  const Inside inside;
  state_of(Worker::current()).history.leave(Worker::current().running(), place);
}

}  // namespace trireme::simt::tracer
