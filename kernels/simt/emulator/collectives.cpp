// SPDX-License-Identifier: Apache-2.0
// Barriers of a block, and what the lanes of a warp do together.
#include <bit>
#include <cstring>

#include "kernels/simt/emulator/counters.h"
#include "kernels/simt/emulator/sanitizer.h"
#include "kernels/simt/emulator/worker.h"

namespace trireme::simt::emulator {
namespace {

bool is_same(Site a, Site b) {
  return a.line == b.line && (a.file == b.file || std::strcmp(a.file, b.file) == 0);
}

}  // namespace

void block_barrier(Site site) {
  Worker::current().block_barrier(site);
}

void named_barrier(int id, int threads, bool wait, Site site) {
  Worker::current().named_barrier(id, threads, wait, site);
}

void warp_collective(const char* name, Resolve resolve, std::uint32_t mask, void* arguments, Site site) {
  Worker::current().warp_collective(name, resolve, mask, arguments, site);
}

int lane_id() {
  return Worker::current().running() % 32;
}
int warp_id() {
  return Worker::current().running() / 32;
}

void Worker::release(Barrier& barrier) {
  if (settings().counting) count_barrier();
  for (int warp = 0; warp < kMaxWarps; ++warp)
    ready_.add(warp, barrier.waiting[static_cast<std::size_t>(warp)]);
  barrier = Barrier{};
}

void Worker::block_barrier(Site site) {
  Barrier& barrier = barriers_[0];
  if (barrier.arrived > 0 && !is_same(barrier.site, site))
    emulator::fail(site, "waits in __syncthreads while other threads wait in that of %s:%d",
                   barrier.site.file, barrier.site.line);
  if (barrier.arrived == 0) barrier.order = new_order();
  const void* const order = barrier.order;
  order_before(order);
  barrier.site = site;
  barrier.threads = threads_;
  ++barrier.arrived;
  barrier.waiting[static_cast<std::size_t>(running_ / 32)] |= 1U << (running_ % 32);
  waiting_at_[static_cast<std::size_t>(running_)] = site;
  if (barrier.arrived == threads_) {
    // The last to arrive does not simply go on: it would always be ahead, and faults of order would hide.
    release(barrier);
    go_on_with(ready_.first(settings().order, random_));
  } else {
    wait();
  }
  order_after(order);
}

void Worker::named_barrier(int id, int threads, bool wait_for_others, Site site) {
  if (id < 1 || id >= static_cast<int>(barriers_.size()) || threads < 32 || threads % 32 != 0 ||
      threads > threads_)
    emulator::fail(site,
                   "barrier %d for %d threads: ids are 1 to 15, counts multiples of 32 within the block", id,
                   threads);
  Barrier& barrier = barriers_[static_cast<std::size_t>(id)];
  if (barrier.arrived > 0 && barrier.threads != threads)
    emulator::fail(site, "comes to barrier %d for %d threads while others wait in it for %d (%s:%d)", id,
                   threads, barrier.threads, barrier.site.file, barrier.site.line);
  if (barrier.arrived == 0) barrier.order = new_order();
  const void* const order = barrier.order;
  order_before(order);
  barrier.threads = threads;
  barrier.site = site;
  ++barrier.arrived;
  const bool is_last = barrier.arrived == threads;
  if (wait_for_others && !is_last) {
    barrier.waiting[static_cast<std::size_t>(running_ / 32)] |= 1U << (running_ % 32);
    waiting_at_[static_cast<std::size_t>(running_)] = site;
    wait();
    order_after(order);
    return;
  }
  if (is_last) {
    release(barrier);
    ready_.add(running_ / 32, 1U << (running_ % 32));
    go_on_with(ready_.first(settings().order, random_));
    if (wait_for_others) order_after(order);
  }
}

// Two collectives of one warp may be pending at once: lanes 0-15 wait at one of the whole warp while 16-31
// finish one of their own. It is a fault only where each names a lane that waits in the other.
PendingCollective& Worker::join(Warp& warp, const PendingCollective& wanted) {
  const std::uint32_t own = wanted.arrived;
  for (int i = 0; i < warp.pending_count; ++i) {
    PendingCollective& pending = warp.pending[static_cast<std::size_t>(i)];
    if (pending.resolve == wanted.resolve && pending.mask == wanted.mask && (pending.arrived & own) == 0 &&
        is_same(pending.site, wanted.site)) {
      pending.arrived |= own;
      return pending;
    }
  }
  for (int i = 0; i < warp.pending_count; ++i) {
    const PendingCollective& pending = warp.pending[static_cast<std::size_t>(i)];
    if ((pending.mask & own) != 0 && (pending.arrived & wanted.mask) != 0)
      emulator::fail(
          wanted.site,
          "is in %s with mask 0x%08x while lane %d waits in %s with mask 0x%08x (%s:%d): each waits for "
          "the other",
          wanted.name, wanted.mask, std::countr_zero(pending.arrived & wanted.mask), pending.name,
          pending.mask, pending.site.file, pending.site.line);
  }
  PendingCollective& added = warp.pending[static_cast<std::size_t>(warp.pending_count++)] = wanted;
  added.order = new_order();
  return added;
}

void Worker::complete(int warp_index, PendingCollective& collective) {
  Warp& warp = warps_[static_cast<std::size_t>(warp_index)];
  const PendingCollective done = collective;
  collective = warp.pending[static_cast<std::size_t>(--warp.pending_count)];
  if (done.mask == 0xFFFFFFFFU) {
    done.resolve(warp.arguments.data(), done.mask);
  } else {
    std::array<void*, 32> arguments{};
    for (std::size_t lane = 0; lane < 32; ++lane)
      if ((done.mask >> lane & 1U) != 0) arguments[lane] = warp.arguments[lane];
    done.resolve(arguments.data(), done.mask);
  }
  ready_.add(warp_index, done.mask & ~(1U << (running_ % 32)));
}

void Worker::warp_collective(const char* name, Resolve resolve, std::uint32_t mask, void* arguments,
                             Site site) {
  const int warp_index = running_ / 32, lane = running_ % 32;
  Warp& warp = warps_[static_cast<std::size_t>(warp_index)];
  const std::uint32_t own = 1U << lane;
  if ((mask & own) == 0)
    emulator::fail(site, "calls %s with mask 0x%08x, which does not name it", name, mask);
  if ((mask & warp.exited) != 0)
    emulator::fail(site, "calls %s with mask 0x%08x, but lane %d has exited or does not exist", name, mask,
                   std::countr_zero(mask & warp.exited));
  warp.arguments[static_cast<std::size_t>(lane)] = arguments;
  PendingCollective& pending = join(warp, {name, resolve, mask, own, site, nullptr});
  const void* const order = arguments == nullptr ? pending.order : nullptr;
  if (order != nullptr) order_before(order);
  if (pending.arrived != mask) {
    waiting_at_[static_cast<std::size_t>(running_)] = site;
    wait();
  } else {
    complete(warp_index, pending);
    if (settings().order != Order::forward) {  // there it is a switch less to go on
      ready_.add(warp_index, own);
      wait();
    }
  }
  if (order != nullptr) order_after(order);
}

}  // namespace trireme::simt::emulator
