// SPDX-License-Identifier: Apache-2.0
#include "src/exchange/cuda/cuda_wire_packer.h"

#include <vector>

#include "kernels/cast/wire.h"
#include "src/core/error.h"

namespace trireme {
namespace {

template <typename T>
class CudaWirePacker final : public WirePacker {
 public:
  explicit CudaWirePacker(CudaDevice& device) : device_(device) {}

  std::size_t add(std::span<const WirePiece> pieces) override {
    std::vector<kernels::WirePiece> given;
    for (const WirePiece& piece : pieces)
      given.push_back({static_cast<std::int64_t>(piece.flat), static_cast<std::int64_t>(piece.staged),
                       static_cast<std::int64_t>(piece.count)});
    std::vector<kernels::WireTile> tiles = kernels::make_wire_tiles(given);
    const std::size_t bytes = tiles.size() * sizeof(kernels::WireTile);
    lists_.push_back({device_.allocate(bytes), static_cast<int>(tiles.size())});
    device_.copy(
        row_of(static_cast<unsigned char*>(lists_.back().tiles->data()), static_cast<std::int64_t>(bytes)),
        row_of(reinterpret_cast<unsigned char*>(tiles.data()), static_cast<std::int64_t>(bytes)),
        device_.compute_stream());
    device_.compute_stream().synchronize();
    return lists_.size() - 1;
  }

  void round(std::size_t list, const float* gradients, float* residual, void* staged,
             Stream& stream) override {
    if (const kernels::WireTiles tiles = tiles_of(list); tiles.count > 0)
      kernels::round_to_wire(tiles, gradients, residual, static_cast<T*>(staged), handle_of(stream));
  }
  void widen(std::size_t list, const void* staged, float* gradients, Stream& stream) override {
    if (const kernels::WireTiles tiles = tiles_of(list); tiles.count > 0)
      kernels::copy_from_wire(tiles, static_cast<const T*>(staged), gradients, handle_of(stream));
  }
  void copy_out(std::size_t list, const float* gradients, float* staged, Stream& stream) override {
    if (const kernels::WireTiles tiles = tiles_of(list); tiles.count > 0)
      kernels::copy_to_wire(tiles, gradients, staged, handle_of(stream));
  }
  void copy_in(std::size_t list, const float* staged, float* gradients, Stream& stream) override {
    if (const kernels::WireTiles tiles = tiles_of(list); tiles.count > 0)
      kernels::copy_from_wire(tiles, staged, gradients, handle_of(stream));
  }

 private:
  struct List {
    std::unique_ptr<Buffer> tiles;
    int count = 0;
  };

  static cudaStream_t handle_of(Stream& stream) { return static_cast<cudaStream_t>(stream.native_handle()); }
  kernels::WireTiles tiles_of(std::size_t list) const {
    return {static_cast<const kernels::WireTile*>(lists_.at(list).tiles->data()), lists_.at(list).count};
  }

  CudaDevice& device_;
  std::vector<List> lists_;
};

}  // namespace

std::unique_ptr<WirePacker> make_cuda_wire_packer(DType type, CudaDevice& device) {
  TRIREME_ASSERT(type == DType::bf16 || type == DType::f16, "a narrow wire has 16 bits");
  if (type == DType::bf16) return std::make_unique<CudaWirePacker<kernels::BFloat16>>(device);
  return std::make_unique<CudaWirePacker<kernels::Half>>(device);
}

}  // namespace trireme
