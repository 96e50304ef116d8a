// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstring>
#include <vector>

#include "src/core/error.h"
#include "src/core/half.h"
#include "src/core/multiversion.h"
#include "src/exchange/wire_packer.h"
#include "src/optim/blocks.h"

namespace trireme {
namespace {

/// Written so that the compiler makes no branch of it.
inline float finite_or_zero(float value) {
  constexpr std::uint32_t kMagnitude = 0x7FFFFFFFU, kFullExponent = 0x7F800000U;
  const auto bits = std::bit_cast<std::uint32_t>(value);
  return std::bit_cast<float>((bits & kMagnitude) < kFullExponent ? bits : 0U);
}

/// sent = round(gradient + residual), residual = what rounding left over. The three do not overlap.
template <typename Half, Half (*round)(float)>
[[gnu::always_inline]] inline void round_values(const float* __restrict gradients, float* __restrict residual,
                                                Half* __restrict sent, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) {
    const float value = gradients[i] + residual[i];
    const Half rounded = round(value);
    sent[i].bits = rounded.bits;  // a whole struct would keep the loop from being vectorised
    residual[i] = finite_or_zero(value - to_float(rounded));
  }
}

template <typename Half>
[[gnu::always_inline]] inline void widen_values(const Half* __restrict sum, float* __restrict gradients,
                                                std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) gradients[i] = to_float(sum[i]);
}

TRIREME_MULTIVERSION
void round_to_bf16(const float* gradients, float* residual, void* sent, std::size_t count) {
  round_values<BFloat16, to_bfloat16>(gradients, residual, static_cast<BFloat16*>(sent), count);
}
TRIREME_MULTIVERSION
void round_to_f16(const float* gradients, float* residual, void* sent, std::size_t count) {
  round_values<Float16, to_float16>(gradients, residual, static_cast<Float16*>(sent), count);
}
TRIREME_MULTIVERSION
void widen_bf16(const void* sum, float* gradients, std::size_t count) {
  widen_values<BFloat16>(static_cast<const BFloat16*>(sum), gradients, count);
}
TRIREME_MULTIVERSION
void widen_f16(const void* sum, float* gradients, std::size_t count) {
  widen_values<Float16>(static_cast<const Float16*>(sum), gradients, count);
}

class HostWirePacker final : public WirePacker {
 public:
  explicit HostWirePacker(DType type) : type_(type) {
    TRIREME_ASSERT(type == DType::bf16 || type == DType::f16, "a narrow wire has 16 bits");
  }

  /// Pieces are cut into blocks, which threads take.
  std::size_t add(std::span<const WirePiece> pieces) override {
    List list;
    for (const WirePiece& piece : pieces)
      for (std::size_t at = 0; at < piece.count; at += kBlockElements)
        list.blocks.push_back(
            {piece.flat + at, piece.staged + at, std::min(kBlockElements, piece.count - at)});
    for (const WirePiece& piece : pieces) list.elements += piece.count;
    lists_.push_back(std::move(list));
    return lists_.size() - 1;
  }

  void round(std::size_t list, const float* gradients, float* residual, void* staged,
             Stream& stream) override {
    const auto round_values_to = type_ == DType::bf16 ? round_to_bf16 : round_to_f16;
    for_each_block(list, stream, [&](const WirePiece& block) {
      round_values_to(gradients + block.flat, residual + block.flat, narrow_at(staged, block.staged),
                      block.count);
    });
  }
  void widen(std::size_t list, const void* staged, float* gradients, Stream& stream) override {
    const auto widen_values_of = type_ == DType::bf16 ? widen_bf16 : widen_f16;
    for_each_block(list, stream, [&](const WirePiece& block) {
      widen_values_of(narrow_at(const_cast<void*>(staged), block.staged), gradients + block.flat,
                      block.count);
    });
  }
  void copy_out(std::size_t list, const float* gradients, float* staged, Stream& stream) override {
    for_each_block(list, stream, [&](const WirePiece& block) {
      std::memcpy(staged + block.staged, gradients + block.flat, block.count * sizeof(float));
    });
  }
  void copy_in(std::size_t list, const float* staged, float* gradients, Stream& stream) override {
    for_each_block(list, stream, [&](const WirePiece& block) {
      std::memcpy(gradients + block.flat, staged + block.staged, block.count * sizeof(float));
    });
  }

 private:
  struct List {
    std::vector<WirePiece> blocks;
    std::size_t elements = 0;
  };

  void* narrow_at(void* staged, std::size_t element) const {
    return static_cast<std::byte*>(staged) + element * size_of(type_);
  }

  template <typename Work>
  void for_each_block(std::size_t index, Stream& stream, const Work& work) const {
    stream.synchronize();
    const List& list = lists_.at(index);
#pragma omp parallel for schedule(static) if (list.elements > kBlockElements)
    for (const WirePiece& block : list.blocks) work(block);
  }

  DType type_;
  std::vector<List> lists_;
};

}  // namespace

std::unique_ptr<WirePacker> make_host_wire_packer(DType type) {
  return std::make_unique<HostWirePacker>(type);
}

}  // namespace trireme
