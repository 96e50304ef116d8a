// SPDX-License-Identifier: Apache-2.0
// A uniform number is k 2^-24 with an integer k, and scaling by a power of two is exact, so u >= probability
// is k >= ceil(probability 2^24): kernels compare integers, with the result that float64 gives.
#include "kernels/dropout/dropout.h"

#include <cmath>
#include <stdexcept>

#include "kernels/philox.h"
#include "kernels/vectors.cuh"

namespace trireme::kernels {
namespace {

constexpr int kThreads = 256;

struct DropoutArgument {
  std::uint32_t threshold, stream;
  float scale;
  const StepValues* step;
  const std::int64_t* sample_ids;
  int pixels, pitch;

  template <typename Visit>
  __host__ __device__ void visit_pointers(Visit visit) const {
    visit(step), visit(sample_ids);
  }
};

/// The words of elements c to c + Vector - 1 of pixel p. Features stand one after the other in their blocks
/// of four words; channels of a picture are `pixels` words apart, each in a block of its own.
template <int Vector>
__device__ __forceinline__ void draw(std::uint32_t (&words)[Vector], const Philox& random, int c, int p,
                                     int pixels) {
  if (pixels == 1) {
    SIMT_UNROLL
    for (int part = 0; part < Vector; part += 4) {
      const RandomWords block = random.block(static_cast<std::uint32_t>(c + part) / 4);
      SIMT_UNROLL
      for (int i = 0; i < 4; ++i) words[part + i] = block[i];
    }
    return;
  }
  SIMT_UNROLL
  for (int v = 0; v < Vector; ++v) {
    const auto index = static_cast<std::uint32_t>(c + v) * static_cast<std::uint32_t>(pixels) +
                       static_cast<std::uint32_t>(p);
    const RandomWords block = random.block(index / 4);
    const std::uint32_t low = (index & 1U) != 0 ? block[1] : block[0],
                        high = (index & 1U) != 0 ? block[3] : block[2];
    words[v] = (index & 2U) != 0 ? high : low;
  }
}

/// Block (x, y): some vectors of sample y.
template <typename T>
__global__ void __launch_bounds__(kThreads)
    dropout_philox_kernel(T* y, const T* x, DropoutArgument argument) {
  constexpr int kVector = kVectorSize<T>;
  const int vectors = argument.pitch / kVector;
  const int item = static_cast<int>(blockIdx.x) * kThreads + static_cast<int>(threadIdx.x);
  if (item >= argument.pixels * vectors) return;
  const int p = item / vectors, c = item % vectors * kVector;
  const std::int64_t at = (static_cast<std::int64_t>(blockIdx.y) * argument.pixels + p) * argument.pitch + c;
  const simt::Vector16<T> inputs = simt::load16(x + at);

  const Philox random{simt::load(&argument.step->seed),
                      static_cast<std::uint64_t>(simt::load(argument.sample_ids + blockIdx.y)),
                      simt::load(&argument.step->epoch), argument.stream};
  std::uint32_t words[kVector];
  draw(words, random, c, p, argument.pixels);
  float values[kVector];
  SIMT_UNROLL
  for (int v = 0; v < kVector; ++v)
    values[v] = words[v] >> 8 >= argument.threshold ? to_float(inputs[v]) * argument.scale : 0.0F;
  simt::store16(y + at, pack<T>(values));
}

}  // namespace

template <typename T>
void dropout(T* y, const T* x, const DropoutKey& key, const DropoutShape& shape, cudaStream_t stream) {
  const bool is_sound = shape.batch > 0 && shape.batch <= 65535 && shape.pixels > 0 && shape.channels > 0 &&
                        shape.pitch >= shape.channels && shape.pitch % kVectorSize<T> == 0;
  if (!is_sound || !(key.probability >= 0 && key.probability < 1))
    throw std::invalid_argument("dropout: a probability is in [0, 1), a pitch whole 16-byte vectors");
  const DropoutArgument argument{static_cast<std::uint32_t>(std::ceil(key.probability * 0x1p24)),
                                 key.stream,
                                 static_cast<float>(1.0 / (1.0 - key.probability)),
                                 key.step,
                                 key.sample_ids,
                                 shape.pixels,
                                 shape.pitch};
  const int items = shape.pixels * (shape.pitch / kVectorSize<T>);
  const dim3 grid(static_cast<unsigned>(divide_up(items, kThreads)), static_cast<unsigned>(shape.batch));
  SIMT_LAUNCH((dropout_philox_kernel<T>), grid, kThreads, 0, stream, y, x, argument);
}

#define TRIREME_INSTANTIATE(T) \
  template void dropout<T>(T*, const T*, const DropoutKey&, const DropoutShape&, cudaStream_t);
TRIREME_INSTANTIATE(BFloat16)
TRIREME_INSTANTIATE(Half)
TRIREME_INSTANTIATE(float)
#undef TRIREME_INSTANTIATE

}  // namespace trireme::kernels
