// SPDX-License-Identifier: Apache-2.0
// A device: where a Program's memory lives and its ops run.
#pragma once

#include <functional>
#include <memory>
#include <optional>
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

/// An ordered queue of work. On the cpu device work is done when the call returns. Any thread may ask an
/// event; a stream belongs to one thread at a time.
class Stream {
 public:
  virtual ~Stream() = default;
  virtual void record(Event& event) = 0;
  virtual void wait(const Event& event) = 0;
  virtual void synchronize() = 0;
  /// The queue's own handle, for libraries that take one; null if it has none: nothing in it is ever
  /// unfinished.
  virtual void* native_handle() { return nullptr; }
  /// For record(); null where nothing in the queue is ever unfinished.
  virtual std::unique_ptr<Event> make_event() { return nullptr; }
};

enum class DeviceKind { cpu, cuda };

/// Node patterns that a device can run as one op; the graph's fusion pass applies those that it names.
enum class Fusion { conv_relu, linear_relu, batch_norm_relu, add_relu, batch_norm_add };

/// What an op is planned for.
struct OpRequest {
  OpAttributes op;
  std::vector<ValueSpec> inputs;  ///< for InputOp: empty, the shape is in `output_shape`
  Shape output_shape;             ///< logical, with the batch in front
  bool training = true;           ///< false: inference, no backward
  /// Nobody but a batch norm of batch statistics reads the output: the op may leave what that needs beside it
  /// (ValueSpec::side_bytes).
  bool feeds_batch_norm = false;
  bool feeds_convolutions = false;  ///< nobody but convolutions reads the output
  InputFormat input_format = {};    ///< for InputOp
  std::string name = {};            ///< of the node, for messages and tuning
};

/// Work given to the compute stream once, to be given again as a whole.
class Recording {
 public:
  virtual ~Recording() = default;
  virtual void run() = 0;
};

class Device : public BufferSource {
 public:
  virtual DeviceKind kind() const = 0;
  /// One line for people: "cpu, 4 threads, oneDNN 2.6.3 (avx512_core)".
  virtual std::string description() const = 0;
  /// Where ops run.
  virtual Stream& compute_stream() = 0;
  virtual std::unique_ptr<Stream> make_stream() = 0;
  virtual std::unique_ptr<Event> make_event() = 0;
  /// Dense copy between host and device or within the device, ordered on `stream`; equal byte counts.
  virtual void copy(const Tensor& destination, const Tensor& source, Stream& stream) = 0;
  virtual void zero(void* data, std::size_t bytes, Stream& stream) = 0;
  virtual std::span<const Fusion> fusions() const = 0;
  virtual std::unique_ptr<OpPlan> plan_op(const OpRequest& request) = 0;

  /// Host memory that copies run fastest from and to: pinned where the device has its own memory.
  virtual BufferSource& host_memory() = 0;
  /// Makes host memory of another maker such, until the result goes; null where it stays as it is. Any size.
  virtual std::shared_ptr<void> pin(void* /*data*/, std::size_t /*bytes*/) { return nullptr; }
  /// Memory that allocate() can still give; nothing where the host's own limits hold.
  virtual std::optional<std::size_t> free_bytes() const { return std::nullopt; }
  /// How pictures may come: whether InputFormat::dtype may be u8.
  virtual bool takes_levels() const { return false; }

  /// What ops must find in device memory because recorded work has frozen arguments: written by the program
  /// on `stream` before each pass.
  virtual std::size_t step_bytes() const { return 0; }
  virtual void write_step(void* /*step*/, const RunContext& /*context*/, Stream& /*stream*/) {}
  /// Takes what `work` gives the compute stream without running it. Null where the device cannot; `why` then
  /// says the reason.
  virtual std::unique_ptr<Recording> record(const std::function<void()>& /*work*/, std::string& why) {
    why = "this device does not record";
    return nullptr;
  }
  /// The elements of a value or gradient as fp32 in logical order; waits for `stream`. For diagnosis and
  /// tests.
  virtual std::vector<float> read(const ValueSpec& spec, const void* data, Stream& stream) = 0;
};

}  // namespace trireme
