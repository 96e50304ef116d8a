// SPDX-License-Identifier: Apache-2.0
// What an op is, as data: its attributes, the static shapes it works on, and the memory that it is bound to.
// Activations are logically NHWC ([N,H,W,C], or [N,F] after flatten); a device may lay them out as it likes.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "src/core/augment.h"
#include "src/core/dtype.h"
#include "src/core/shape.h"

namespace trireme {

/// The pictures of the batch as the network sees them: normalised NHWC. What they are made from is said by
/// InputFormat.
struct InputOp {
  friend bool operator==(const InputOp&, const InputOp&) = default;
};
/// y = conv(x, W) [+ b] [then ReLU]. Parameters: weight OHWI, and bias [O] if `bias`. Cross-correlation, as
/// PyTorch.
struct Conv2dOp {
  std::int64_t out_channels = 0, kernel_h = 0, kernel_w = 0, stride_h = 1, stride_w = 1, pad_h = 0, pad_w = 0;
  bool bias = false;
  bool relu = false;  ///< set by fusion
  friend bool operator==(const Conv2dOp&, const Conv2dOp&) = default;
};
/// y = batch_norm(x) [+ residual] [then ReLU]. Parameters: weight, bias, running_mean, running_var, all [C].
/// Training uses batch statistics over N, H, W. With `residual`, set by fusion, input 1 is added.
struct BatchNormOp {
  double epsilon = 1e-5;
  double momentum = 0.1;  ///< share of the new batch in the running statistics
  bool relu = false;      ///< set by fusion
  bool sync = false;      ///< training: statistics over the batches of all ranks together
  bool residual = false;  ///< set by fusion
  friend bool operator==(const BatchNormOp&, const BatchNormOp&) = default;
};
struct ReluOp {
  friend bool operator==(const ReluOp&, const ReluOp&) = default;
};
/// Windows beyond the picture count as minus infinity; floor rounding of the output size.
struct MaxPoolOp {
  std::int64_t kernel_h = 0, kernel_w = 0, stride_h = 1, stride_w = 1, pad_h = 0, pad_w = 0;
  friend bool operator==(const MaxPoolOp&, const MaxPoolOp&) = default;
};
/// Mean over the input window [floor(i*H/out_h), ceil((i+1)*H/out_h)) of each output row, columns likewise.
/// out_h = out_w = 1 is global average pooling.
struct AdaptiveAvgPoolOp {
  std::int64_t out_h = 1, out_w = 1;
  friend bool operator==(const AdaptiveAvgPoolOp&, const AdaptiveAvgPoolOp&) = default;
};
/// y = x W^T + b [then ReLU], x [N,F]. Parameters: weight [out,in], and bias [out] if `bias`.
struct LinearOp {
  std::int64_t out_features = 0;
  bool bias = true;
  bool relu = false;  ///< set by fusion
  friend bool operator==(const LinearOp&, const LinearOp&) = default;
};
/// Training: keeps an element with probability 1-p and scales it by 1/(1-p); inference: identity. Element i
/// of a sample (order C,H,W) is kept if uniform i of Philox(seed, RandomStream::dropout + ordinal, epoch,
/// sample id) is >= p.
struct DropoutOp {
  double probability = 0.5;
  int ordinal = 0;
  friend bool operator==(const DropoutOp&, const DropoutOp&) = default;
};
/// y = a + b [then ReLU]; equal shapes.
struct AddOp {
  bool relu = false;  ///< set by fusion
  friend bool operator==(const AddOp&, const AddOp&) = default;
};
/// [N,H,W,C] to [N,C*H*W] in the order C,H,W: the feature order of torchvision's checkpoints.
struct FlattenOp {
  friend bool operator==(const FlattenOp&, const FlattenOp&) = default;
};
/// Input: logits [N,classes]; output: loss of each sample [N] (0 for padding rows). Adds to the step record.
/// The gradient is scaled by RunContext::gradient_scale. In inference programs label smoothing is off.
struct SoftmaxCrossEntropyOp {
  double label_smoothing = 0;
  friend bool operator==(const SoftmaxCrossEntropyOp&, const SoftmaxCrossEntropyOp&) = default;
};

using OpAttributes = std::variant<InputOp, Conv2dOp, BatchNormOp, ReluOp, MaxPoolOp, AdaptiveAvgPoolOp,
                                  LinearOp, DropoutOp, AddOp, FlattenOp, SoftmaxCrossEntropyOp>;

/// The op's name in the text form of graphs, reports and error messages: "conv2d", "batch_norm", …
std::string_view op_name(const OpAttributes& op);

/// Physical layout of a value on a device; devices subclass it. Null means dense row-major in logical order.
class Layout {
 public:
  virtual ~Layout() = default;
  virtual std::string text() const = 0;
};

/// A value as one device holds it. The gradient of a value has the value's own spec, without what lies beside
/// it.
struct ValueSpec {
  Shape shape;  ///< with the batch in front
  DType dtype = DType::f32;
  std::shared_ptr<const Layout> layout;
  std::size_t bytes = 0;  ///< all of it
  std::size_t side_bytes =
      0;  ///< at the end: what the op behind needs to know of the elements; not of gradients

  std::size_t element_bytes() const { return bytes - side_bytes; }
};

/// How pictures come to a program.
struct InputFormat {
  DType dtype =
      DType::f32;  ///< f32: [N,H,W,C] as the network sees them; u8: levels, which the device makes so
  Shape stored;    ///< u8: [H,W,C] of a picture; 1 or 3 channels
  Augment augment = Augment::none;
  double crop_ratio = 0.875;      ///< u8: pictures of another size than the network's, see TransformOptions
  std::vector<double> mean, std;  ///< u8: by channel of the network, in 0..1
};

/// Sums over the samples that the loss op has seen since the record was last zeroed. Lives on the device.
struct StepRecord {
  double loss_sum = 0;  ///< in train programs: with label smoothing
  std::int64_t loss_fixed =
      0;                     ///< sum of llrint(loss * 2^24) of each sample: exact at any order of summation
  std::int64_t samples = 0;  ///< padding rows are not counted
  std::int64_t top1 = 0,
               top5 = 0;  ///< the label is among the 1 or 5 largest logits; ties go to the lowest class
};

/// What changes from step to step. Pointers are device memory.
struct RunContext {
  const void* images = nullptr;              ///< the input slot, as InputFormat says
  const std::int32_t* labels = nullptr;      ///< [N]
  const std::int64_t* sample_ids = nullptr;  ///< [N]
  std::int64_t valid_samples = 0;            ///< rows from here on are padding
  float gradient_scale = 1;                  ///< 1 / samples of the global step
  float share_weight = 1;   ///< valid samples of this micro-batch / samples of the global step
  bool accumulate = false;  ///< backward adds to parameter gradients instead of writing them
  std::uint64_t seed = 0;
  std::uint32_t epoch = 0;
};

/// Memory that an op is bound to for life. Vectors follow the op's inputs and parameters in order.
struct Bindings {
  std::vector<void*> inputs;
  void* output = nullptr;
  void* saved = nullptr;                 ///< OpFacts::saved_bytes, kept from forward to backward
  void* scratch = nullptr;               ///< undefined content at every call
  std::vector<const float*> parameters;  ///< into the flat parameter buffer
  std::vector<float*> parameter_grads;   ///< into the flat gradient buffer; backward only
  const void* output_grad = nullptr;     ///< backward only
  std::vector<void*> input_grads;        ///< null where no gradient is wanted; written, never added to
  StepRecord* record = nullptr;
  double* group_sums = nullptr;  ///< GroupSums values; no other op uses them between run and finish
  /// Backward, where OpFacts::adds_to_input_grad: input_grads[0] = its gradient + this, or null. May be
  /// input_grads[0] itself.
  const void* input_grad_addend = nullptr;
  const void* step = nullptr;  ///< Device::step_bytes, as Device::write_step left them
};

/// One pass of one op, bound to its memory. Not thread-safe; runs on the device's compute stream.
class Op {
 public:
  virtual ~Op() = default;
  /// The whole pass; of an op with GroupSums the part before the sums, which it writes.
  virtual void run(const RunContext& context) = 0;
  /// The part after Bindings::group_sums have become the sums over all ranks. Called for ops with GroupSums
  /// only.
  virtual void finish(const RunContext& /*context*/) {}
};

/// Float64 values that an op needs summed over all ranks in the middle of a pass, 0: none. A rank without
/// valid samples runs no ops; it takes part with zeros.
struct GroupSums {
  std::int64_t forward = 0, backward = 0;
  std::string_view what;  ///< for messages: "batch norm statistics"
};

/// What the memory plan must know of an op.
struct OpFacts {
  ValueSpec output;
  std::size_t saved_bytes = 0;
  std::size_t forward_scratch_bytes = 0, backward_scratch_bytes = 0;
  bool backward_needs_inputs = false, backward_needs_output = false;
  bool output_may_overwrite_input = false;  ///< output and input 0 may be the same memory in forward
  /// input_grads[in_place_gradient] and output_grad may be the same memory in backward. If
  /// `grads_are_aliases`, backward has nothing to compute: every input gradient *is* the output gradient (add
  /// without ReLU).
  bool input_grad_may_overwrite_output_grad = false;
  int in_place_gradient = 0;
  bool grads_are_aliases = false;
  /// Of an addition: its inputs' gradients are not one and the same, though they look alike.
  bool input_grads_differ = false;
  bool adds_to_input_grad = false;  ///< see Bindings::input_grad_addend
  GroupSums group_sums;
};

/// An op planned by a device for static shapes: facts first, then memory, then the passes.
class OpPlan {
 public:
  virtual ~OpPlan() = default;
  const OpFacts& facts() const { return facts_; }
  virtual std::unique_ptr<Op> make_forward(const Bindings& bindings) const = 0;
  /// Writes all input gradients asked for and all parameter gradients.
  virtual std::unique_ptr<Op> make_backward(const Bindings& bindings) const = 0;

 protected:
  OpFacts facts_;
};

}  // namespace trireme
