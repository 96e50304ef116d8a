// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "src/core/buffer.h"
#include "src/device/device.h"
#include "src/graph/program.h"

namespace trireme {

/// The programs of one rank: a training program for each batch size that it meets and one for evaluation.
/// They share parameters and gradients, and an arena as large as the largest plan, since only one runs at a
/// time.
class Programs {
 public:
  struct Options {
    std::vector<std::int64_t> train_rows;  ///< distinct batch sizes; none: evaluation only
    std::int64_t eval_rows = 0;            ///< 0: no evaluation
    std::uint64_t seed = 0;                ///< keys dropout
    GroupSum* group = nullptr;             ///< see Program
    InputFormat train_input = {}, eval_input = {};
    ProgramRecording recording = {};  ///< of training; evaluation records where training does
  };
  /// Gradients come from `gradient_memory`, all else from the device. Error (78) where the device's memory is
  /// too small, with the batch that would fit.
  Programs(const Graph& graph, const FlatLayout& layout, Device& device, BufferSource& gradient_memory,
           const Options& options);

  Program& train(std::int64_t rows);
  Program& eval();
  float* parameters() const { return static_cast<float*>(parameters_->data()); }
  float* gradients() const { return static_cast<float*>(gradients_->data()); }
  /// Why passes are not recorded although that was wanted, or nothing.
  std::string recording_obstacle() const;
  /// The plans in full and what the rank allocates in all.
  const std::string& memory_report() const { return memory_report_; }

 private:
  std::unique_ptr<Buffer> parameters_, gradients_, arena_;
  std::map<std::int64_t, std::unique_ptr<Program>> train_;
  std::unique_ptr<Program> eval_;
  std::string memory_report_;
};

}  // namespace trireme
