// SPDX-License-Identifier: Apache-2.0
// A device: where a Program's memory lives and its ops run.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "src/core/buffer.h"
#include "src/core/tensor.h"
#include "src/device/op.h"

namespace trireme {

/// Marks a point in a stream's work.
class Event {
 public:
  virtual ~Event() = default;
  virtual bool done() const = 0;
  /// Blocks the host until the point is reached.
  virtual void synchronize() = 0;
};

/// An ordered queue of work. On the cpu device work is done when the call returns.
class Stream {
 public:
  virtual ~Stream() = default;
  virtual void record(Event& event) = 0;
  virtual void wait(const Event& event) = 0;
  virtual void synchronize() = 0;
};

enum class DeviceKind { cpu, cuda };

/// Node patterns that a device can run as one op; the graph's fusion pass applies those that it names.
enum class Fusion { conv_relu, batch_norm_relu, add_relu };

/// What an op is planned for.
struct OpRequest {
  OpAttributes op;
  std::vector<ValueSpec> inputs;  ///< for InputOp: empty, the shape is in `output_shape`
  Shape output_shape;             ///< logical, with the batch in front
  bool training = true;           ///< false: inference, no backward
};

class Device : public BufferSource {
 public:
  virtual DeviceKind kind() const = 0;
  /// One line for people: "cpu, 4 threads, oneDNN 2.6.3 (avx512_core)".
  virtual std::string description() const = 0;
  virtual std::unique_ptr<Stream> make_stream() = 0;
  virtual std::unique_ptr<Event> make_event() = 0;
  /// Dense copy between host and device or within the device, ordered on `stream`; equal byte counts.
  virtual void copy(const Tensor& destination, const Tensor& source, Stream& stream) = 0;
  virtual void zero(void* data, std::size_t bytes, Stream& stream) = 0;
  virtual std::span<const Fusion> fusions() const = 0;
  virtual std::unique_ptr<OpPlan> plan_op(const OpRequest& request) = 0;
};

}  // namespace trireme
