// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <memory>
#include <span>

#include "src/core/dtype.h"
#include "src/device/device.h"

namespace trireme {

/// Elements [flat, flat + count) of the flat buffers are elements [staged, staged + count) of the staging
/// buffer.
struct WirePiece {
  std::size_t flat = 0, staged = 0, count = 0;
};

/// Moves pieces of the flat fp32 buffers into what travels and back, in one kind of memory, ordered on the
/// stream. Staged values of round and widen are of the packer's 16-bit type, those of copy_out and copy_in
/// fp32. Pointers are those of the buffers' first elements.
class WirePacker {
 public:
  virtual ~WirePacker() = default;
  /// A list of pieces for the functions below.
  virtual std::size_t add(std::span<const WirePiece> pieces) = 0;
  /// staged = gradients + residual, rounded; residual = what rounding left over, 0 where that is not finite.
  virtual void round(std::size_t list, const float* gradients, float* residual, void* staged,
                     Stream& stream) = 0;
  virtual void widen(std::size_t list, const void* staged, float* gradients, Stream& stream) = 0;
  virtual void copy_out(std::size_t list, const float* gradients, float* staged, Stream& stream) = 0;
  virtual void copy_in(std::size_t list, const float* staged, float* gradients, Stream& stream) = 0;
};

/// Over host memory; waits for the stream and works on the calling thread and OpenMP's.
std::unique_ptr<WirePacker> make_host_wire_packer(DType type);

}  // namespace trireme
