// SPDX-License-Identifier: Apache-2.0
#include "src/train/cuda/cuda_accelerator.h"

#include "src/core/error.h"
#include "src/device/cuda/cuda_device.h"
#include "src/device/cuda/gpu_facts.h"
#include "src/exchange/cuda/cuda_wire_packer.h"
#include "src/optim/cuda/cuda_sgd.h"
#include "src/train/cuda/library_versions.h"

namespace trireme {
namespace {

CudaDevice& ours(Device& device) {
  auto* cuda = dynamic_cast<CudaDevice*>(&device);
  TRIREME_ASSERT(cuda != nullptr, "a device that this accelerator made");
  return *cuda;
}

class CudaAccelerator final : public Accelerator {
 public:
  explicit CudaAccelerator(const GpuLibraries& libraries) : libraries_(libraries) {}

  AcceleratorFacts facts() const override {
    AcceleratorFacts facts = read_gpu_facts();
    facts.is_emulated = libraries_.is_emulated;
    std::string obstacle;
    const std::shared_ptr<const CudnnApi> cudnn = libraries_.cudnn(obstacle);
    facts.has_cudnn = cudnn != nullptr;
    facts.cudnn = cudnn == nullptr ? obstacle : cudnn_version(*cudnn);
    const NcclApi* nccl = libraries_.nccl(obstacle);
    facts.nccl = nccl == nullptr ? obstacle : nccl_version(*nccl);
    return facts;
  }

  std::unique_ptr<Device> make_device(const CudaDeviceOptions& options) override {
    std::string obstacle;
    if (options.engine != Engine::native && cudnn_ == nullptr) cudnn_ = libraries_.cudnn(obstacle);
    return make_cuda_device(options, cudnn_.get(), obstacle);
  }
  std::unique_ptr<Optimizer> make_sgd(const Graph& graph, const FlatLayout& layout,
                                      const OptimizerOptions& options, Device& device) override {
    return make_cuda_sgd(graph, layout, options, ours(device));
  }
  std::unique_ptr<WirePacker> make_wire_packer(DType type, Device& device) override {
    return make_cuda_wire_packer(type, ours(device));
  }
  std::string engine_choices(Device& device) override { return ours(device).engine_choices(); }
  const NcclApi* nccl(std::string& obstacle) override { return libraries_.nccl(obstacle); }
  bool calls_mpi() const override { return libraries_.is_emulated; }

 private:
  GpuLibraries libraries_;
  std::shared_ptr<const CudnnApi> cudnn_;  ///< outlives the devices that use it
};

}  // namespace

std::unique_ptr<Accelerator> make_cuda_accelerator(const GpuLibraries& libraries) {
  return std::make_unique<CudaAccelerator>(libraries);
}

}  // namespace trireme
