// SPDX-License-Identifier: Apache-2.0
// NCCL between emulated GPUs: its functions over MPI. Collectives are operations of the emulator's streams;
// every rank adds in the order of the ranks, so that all have the same bits. It refuses what NCCL takes
// badly: memory that is not the device's, collectives that differ between ranks.
#pragma once

#include "src/comm/nccl/nccl_api.h"

namespace trireme {

/// Needs MPI_THREAD_MULTIPLE, and the rank that made a unique id among those that use it. Settings of the
/// emulator: SIMT_STRICT_BUFFERS, and SIMT_PEER_TIMEOUT, after which a rank that does not come is an async
/// error.
const NcclApi& emulated_nccl();

}  // namespace trireme
