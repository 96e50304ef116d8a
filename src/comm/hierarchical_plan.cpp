// SPDX-License-Identifier: Apache-2.0
#include "src/comm/hierarchical_plan.h"

#include <algorithm>

namespace trireme {

int HierarchicalJob::pieces() const {
  constexpr std::size_t kPieceBytes = std::size_t{8} << 20, kMaxPieces = 8;
  return static_cast<int>(std::clamp<std::size_t>(tensor.bytes() / kPieceBytes, 1, kMaxPieces));
}

PartRange HierarchicalJob::slice(int piece, int owner) const {
  if (owner >= wires) return {};
  const PartRange whole = part_of(tensor.count(), pieces(), piece, tensor.dtype);
  const PartRange part = part_of(whole.size(), wires, owner, tensor.dtype);
  return {whole.begin + part.begin, whole.begin + part.end};
}

void NodeWires::start(int piece) {
  Wire& wire = wires_[static_cast<std::size_t>(piece)];
  if (wire.started) return;
  wire.started = true;
  wire.done = wire.collective == nullptr;
  if (!wire.done) wire.collective->start();
}

void NodeWires::step() {
  for (Wire& wire : wires_)
    if (wire.started && !wire.done) wire.done = wire.collective->step();
}

std::string NodeWires::awaited() const {
  for (const Wire& wire : wires_)
    if (wire.started && !wire.done) return wire.collective->awaited();
  return {};
}

}  // namespace trireme
