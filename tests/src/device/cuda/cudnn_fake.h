// SPDX-License-Identifier: Apache-2.0
// cuDNN for tests: the table of functions, computed by loops in float64 on the emulator's device memory, in
// the order of its streams. What cuDNN would refuse is refused: descriptors that do not fit each other, a
// workspace that is too small or badly aligned. Workspaces are overwritten from end to end.
#pragma once

#include "src/device/cuda/cudnn_api.h"

namespace trireme::test {

/// Its heuristics name, in this order: an algorithm that is not supported, one that is not deterministic, one
/// that wants too much memory, and one that can be used.
const CudnnApi& fake_cudnn();
/// The same, but no algorithm of a backward pass is deterministic.
const CudnnApi& fake_cudnn_of_random_gradients();

/// How often each pass has run since the program began.
struct FakeCudnnCalls {
  int forward = 0, backward_data = 0, backward_filter = 0, backward_bias = 0, add_tensor = 0;
};
const FakeCudnnCalls& fake_cudnn_calls();

}  // namespace trireme::test
