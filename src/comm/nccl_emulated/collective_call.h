// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nccl.h>

#include <memory>
#include <string>

#include "kernels/simt/emulator/stream.h"

namespace trireme::emulated {

enum class Verb { all_reduce, reduce_scatter, all_gather, broadcast };

/// A collective as it was called for.
struct CollectiveCall {
  Verb verb;
  const std::byte* send;
  std::byte* receive;
  std::size_t count;  ///< as NCCL's function counts: of reduce_scatter's result, of all_gather's operand
  ncclDataType_t type;
  ncclRedOp_t operation;
  int root;
  std::shared_ptr<ncclComm> comm;

  std::size_t send_bytes() const;
  std::size_t receive_bytes() const;
  /// Why the memory cannot be used; empty where it can.
  std::string fault() const;
};

/// Begins the call as an operation of a stream: it is done when all ranks have come to theirs, or when the
/// communicator is broken; its result is then bytes of 0xFF.
simt::emulator::Attempt begin_collective(const CollectiveCall& call);

}  // namespace trireme::emulated
