// SPDX-License-Identifier: Apache-2.0
// kernel_bench: every kernel family by Google Benchmark, against the card's measured ceilings. A case is
// checked before it is timed; one that is wrong ends as an error without a number, and the program with
// status 1.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <cstdlib>
#include <iostream>
#include <iterator>
#include <string>
#include <vector>

#include "bench/kernels/ceilings.h"
#include "bench/kernels/kernel_case.h"

namespace trireme::bench {
namespace {

std::vector<KernelCase> all_cases(Scale scale) {
  std::vector<KernelCase> cases;
  for (const auto family :
       {conv2d_cases, linear_cases, batch_norm_cases, pool2d_cases, elementwise_cases, dropout_cases,
        softmax_cross_entropy_cases, optimizer_cases, step_cases, cast_cases, augment_cases}) {
    std::vector<KernelCase> more = family(scale);
    cases.insert(cases.end(), std::make_move_iterator(more.begin()), std::make_move_iterator(more.end()));
  }
  return cases;
}

/// The roofline's time over the measured one.
double efficiency(const KernelCase& kernel, const Ceilings& ceilings, double seconds) {
  const double moving = kernel.bytes / ceilings.bytes_per_second;
  const double computing = kernel.flops / ceilings.flops_per_second;
  return std::max(moving, computing) / seconds;
}

/// A case that fails its check, to see what becomes of it: TRIREME_BENCH_BREAK=1.
KernelCase broken_case() {
  KernelCase one;
  one.name = "broken";
  one.check = [] { return std::string("made to fail"); };
  one.prepare = [] { return [](cudaStream_t /*stream*/) {}; };
  one.bytes = 1;
  return one;
}

void run(benchmark::State& state, const KernelCase& kernel, const Ceilings& ceilings, bool& failed) {
  if (const std::string wrong = kernel.check(); !wrong.empty()) {
    failed = true;
    state.SkipWithError(("wrong: " + wrong).c_str());
    return;
  }
  const std::function<void(cudaStream_t)> launch = kernel.prepare();
  seconds_of(launch, 1);  // warms up
  double least = 1e9;
  for (auto unused : state) {
    (void)unused;
    const double seconds = seconds_of(launch, 1);
    state.SetIterationTime(seconds);
    least = std::min(least, seconds);
  }
  state.counters["GB/s"] = kernel.bytes / least * 1e-9;
  if (kernel.flops > 0) state.counters["TFLOP/s"] = kernel.flops / least * 1e-12;
  state.counters["of ceiling"] = efficiency(kernel, ceilings, least);
}

}  // namespace
}  // namespace trireme::bench

int main(int argc, char** argv) {
  using namespace trireme::bench;
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 64;
  bool failed = false;
  try {
    const Scale scale = std::getenv("TRIREME_BENCH_SMALL") != nullptr ? Scale::emulated : Scale::card;
    const Ceilings ceilings = measure_ceilings(scale);
    std::cerr << "ceilings: " << ceilings.bytes_per_second * 1e-9 << " GB/s copied, "
              << ceilings.flops_per_second * 1e-12 << " TFLOP/s in bf16 mma\n";
    std::vector<KernelCase> cases = all_cases(scale);
    if (std::getenv("TRIREME_BENCH_BREAK") != nullptr) cases.push_back(broken_case());
    for (const KernelCase& kernel : cases) {
      auto* registered = benchmark::RegisterBenchmark(
          kernel.name.c_str(), [&](benchmark::State& state) { run(state, kernel, ceilings, failed); });
      registered->UseManualTime();
      if (scale == Scale::emulated) registered->Iterations(1);
    }
    benchmark::RunSpecifiedBenchmarks();
  } catch (const std::exception& error) {
    std::cerr << "kernel_bench: " << error.what() << "\n";
    return 70;
  }
  return failed ? 1 : 0;
}
