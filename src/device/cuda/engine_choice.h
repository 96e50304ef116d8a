// SPDX-License-Identifier: Apache-2.0
// Which engine computes which pass of which convolution, where that was measured; and as text, so that one
// rank's choices can be sent to the others, kept with a run and used again.
#pragma once

#include <array>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "kernels/conv2d/conv2d.h"
#include "src/device/accelerator.h"

namespace trireme {

enum class ConvolutionPass { forward, backward_data, backward_weights };
inline constexpr std::array<ConvolutionPass, 3> kConvolutionPasses = {
    ConvolutionPass::forward, ConvolutionPass::backward_data, ConvolutionPass::backward_weights};
/// "forward", "backward data", "backward weights"
std::string_view pass_name(ConvolutionPass pass);

/// What a convolution does besides: our kernels do it in passing, cuDNN in passes of its own.
struct ConvolutionUse {
  bool feeds_batch_norm = false;  ///< statistics of the output are needed
  bool bias = false, relu = false;
  bool input_is_relu = false;  ///< the gradient of the input is cut where the input is not positive
};

/// Names a convolution for the table: "bf16/256x56x56x64/64/3x3/1x1/1x1", which is precision, input as
/// NxHxWxC, output channels, kernel, stride and padding; then "/bn", "/bias", "/relu" and "/relu-input" where
/// the use is so.
std::string convolution_key(Precision precision, const kernels::Conv2dShape& shape,
                            const ConvolutionUse& use);

/// The table. Engine::automatic is no value of it.
class EngineChoices {
 public:
  /// Nothing where this pass was not measured.
  std::optional<Engine> find(const std::string& key, ConvolutionPass pass) const;
  void set(const std::string& key, ConvolutionPass pass, Engine engine);
  bool empty() const { return rows_.empty(); }

  /// "KEY=native,cudnn,native;KEY=native,-,native": passes in the order of ConvolutionPass, "-" where there
  /// is no choice. One line without spaces; equal tables have equal texts.
  std::string text() const;
  /// Reads what text() wrote. Error (78) for anything else.
  static EngineChoices parse(std::string_view text);

  friend bool operator==(const EngineChoices&, const EngineChoices&) = default;

 private:
  using Row = std::array<std::optional<Engine>, kConvolutionPasses.size()>;
  std::map<std::string, Row> rows_;
};

}  // namespace trireme
