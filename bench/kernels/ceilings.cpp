// SPDX-License-Identifier: Apache-2.0
#include "bench/kernels/ceilings.h"

#include <algorithm>
#include <limits>

#include "tests/kernels/support/device_array.h"

namespace trireme::bench {
namespace {

class Timer {
 public:
  Timer() {
    test::check_cuda(cudaEventCreate(&begin_), "cudaEventCreate");
    test::check_cuda(cudaEventCreate(&end_), "cudaEventCreate");
  }
  ~Timer() {
    cudaEventDestroy(begin_);
    cudaEventDestroy(end_);
  }
  Timer(const Timer&) = delete;
  Timer& operator=(const Timer&) = delete;

  double seconds(const std::function<void(cudaStream_t)>& launch) {
    test::check_cuda(cudaEventRecord(begin_, nullptr), "cudaEventRecord");
    launch(nullptr);
    test::check_cuda(cudaEventRecord(end_, nullptr), "cudaEventRecord");
    test::check_cuda(cudaEventSynchronize(end_), "cudaEventSynchronize");
    float milliseconds = 0;
    test::check_cuda(cudaEventElapsedTime(&milliseconds, begin_, end_), "cudaEventElapsedTime");
    return static_cast<double>(milliseconds) * 1e-3;
  }

 private:
  cudaEvent_t begin_ = nullptr, end_ = nullptr;
};

}  // namespace

double seconds_of(const std::function<void(cudaStream_t)>& launch, int repeats) {
  Timer timer;
  timer.seconds(launch);
  double least = std::numeric_limits<double>::infinity();
  for (int i = 0; i < repeats; ++i) least = std::min(least, timer.seconds(launch));
  return std::max(least, 1e-9);
}

Ceilings measure_ceilings(Scale scale) {
  const bool is_card = scale == Scale::card;
  const std::int64_t bytes = is_card ? std::int64_t{1} << 30 : 1 << 16;
  const int blocks = is_card ? 132 * 16 : 2, steps = is_card ? 4096 : 4, repeats = is_card ? 10 : 1;
  test::DeviceArray<float> from(static_cast<std::size_t>(bytes) / 4), to(from.size());
  test::DeviceArray<float> sink(static_cast<std::size_t>(blocks) * 256);
  test::check_cuda(cudaMemset(from.data(), 0, static_cast<std::size_t>(bytes)), "cudaMemset");
  const auto copy = [&](cudaStream_t stream) { launch_copy(to.data(), from.data(), bytes, stream); };
  const auto products = [&](cudaStream_t stream) { launch_products(sink.data(), blocks, steps, stream); };
  return {2.0 * static_cast<double>(bytes) / seconds_of(copy, repeats),
          flops_of_products(blocks, steps) / seconds_of(products, repeats)};
}

}  // namespace trireme::bench
