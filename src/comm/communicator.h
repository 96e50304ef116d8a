// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "src/comm/comm_thread.h"
#include "src/comm/comm_tuning.h"
#include "src/comm/node_topology.h"
#include "src/core/buffer.h"
#include "src/core/tensor.h"
#include "src/device/device.h"

namespace trireme {

/// Sum-collectives among a group of ranks, stream-ordered like kernels: work begins after what `stream` holds
/// so far, and wait() makes `stream` wait for the result. All ranks must call in the same order. Tensors stay
/// alive and untouched until the wait. Any element count, 0 included; no count limit. Waits may come in any
/// order, the same on all ranks.
class Communicator : public BufferSource {
 public:
  virtual int rank() const = 0;
  virtual int size() const = 0;
  virtual std::string_view name() const = 0;  ///< as --comm spells it: "mpi", …

  /// One line for people: what it is and why it was chosen.
  virtual std::string description() const = 0;
  /// Whether wait() holds up the host until the result is there, or only the stream.
  virtual bool blocks_host() const { return true; }
  /// Types that allreduce and reduce_scatter take: f32, f64 and i64, and bf16 and f16 where sums are
  /// accumulated in fp32. Those are rounded when the result is stored, and where the algorithm has stages
  /// with messages between them, once for those; by NCCL at every hop.
  virtual bool can_sum(DType type) const = 0;

  /// In place: every rank's tensor becomes the sum of all. `what` names it in messages.
  virtual Ticket allreduce(const Tensor& tensor, Stream& stream, std::string_view what) = 0;
  /// `result` of rank r becomes part r of the sum; `tensor` holds size() equal parts and is overwritten.
  /// `result` may be this rank's own part of `tensor`, else they must not overlap.
  virtual Ticket reduce_scatter(const Tensor& tensor, const Tensor& result, Stream& stream,
                                std::string_view what) = 0;
  /// `result` holds size() parts; part r becomes rank r's `tensor`, which may be this rank's own part of
  /// `result`.
  virtual Ticket allgather(const Tensor& tensor, const Tensor& result, Stream& stream,
                           std::string_view what) = 0;
  virtual Ticket broadcast(const Tensor& tensor, int root, Stream& stream, std::string_view what) = 0;
  virtual void wait(Ticket ticket, Stream& stream) = 0;
  virtual bool done(Ticket ticket) = 0;
};

/// For destructors whose memory collectives may still use: waits until they have ended, at most 5 s, and
/// leaves those that cannot end because another rank is gone. Does not throw.
void drain(Communicator& communicator, std::span<const Ticket> tickets) noexcept;

class Group;

struct NcclApi;

/// Where the tensors of a run on GPUs lie, and what can sum them there.
struct GpuCommunication {
  Device* device = nullptr;  ///< in whose memory tensors are
  const NcclApi* nccl = nullptr;
  std::string nccl_obstacle;  ///< why `nccl` is null
  bool shares_gpu = false;    ///< two ranks use one GPU, which NCCL refuses
};

struct CommunicatorOptions {
  std::string kind = "auto";              ///< a name of communicator_names()
  std::size_t window_bytes = 0;           ///< what allocate() will be asked for in all; equal on every rank
  DType wire = DType::f32;                ///< a type that it must sum, besides f32, f64 and i64
  CommTuning tuning = {};                 ///< where the choice uses_tuning
  const GpuCommunication* gpu = nullptr;  ///< null: tensors are in host memory
};

/// Names for --comm with a line of help each.
struct CommunicatorName {
  std::string_view name, summary;
};
const std::vector<CommunicatorName>& communicator_names();

/// What an option means for these ranks.
struct CommunicatorChoice {
  std::string kind;          ///< a name other than "auto"
  NodeTopology topology;     ///< what "auto" decides by
  std::string obstacle;      ///< why it is not what was asked for, if it is not
  bool uses_tuning = false;  ///< it is made of messages, for which CommTuning is worth measuring
};

/// What "auto" chooses, or what was asked for; where that cannot be, what "auto" chooses, and why. Status 78
/// for a name that is not in the table or a type that the communicator asked for does not sum. Collective and
/// blocking, for the thread that may call MPI; the same on every rank.
CommunicatorChoice choose_communicator(const CommunicatorOptions& options, const Group& group,
                                       std::chrono::duration<double> timeout);

/// `options.kind` must be a choice. Collective over `group` (which it duplicates). Made before `thread` is
/// first used, by the thread that owns MPI; must be destroyed after `thread`.
std::unique_ptr<Communicator> make_communicator(const CommunicatorOptions& options, const Group& group,
                                                CommThread& thread);

}  // namespace trireme
