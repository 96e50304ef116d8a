// SPDX-License-Identifier: Apache-2.0
// kernel_report NETWORK [BATCH]: what the kernels of a training step move and compute, as JSON. Runs the
// emulator; no GPU is needed. bench/kernels_doc.py makes tables of it.
#include <fmt/core.h>

#include <cstdlib>
#include <nlohmann/json.hpp>
#include <string>

#include "bench/kernel_report/network_report.h"

namespace {

using trireme::bench::NetworkReport;
using trireme::bench::Pass;
using trireme::bench::Roofline;
using trireme::simt::emulator::KernelCounts;

nlohmann::json json_of(const KernelCounts& counts) {
  return {{"kernel", counts.kernel},
          {"block_threads", counts.block_threads},
          {"dynamic_shared_bytes", counts.dynamic_shared_bytes},
          {"distinct_bytes", counts.distinct_bytes()},
          {"requested_sectors", counts.requested_sectors},
          {"ideal_sectors", counts.ideal_sectors},
          {"shared_wavefronts", counts.shared_wavefronts},
          {"ideal_wavefronts", counts.ideal_wavefronts}};
}

nlohmann::json json_of(const Pass& pass, std::int64_t batch) {
  nlohmann::json kernels = nlohmann::json::array();
  for (const KernelCounts& counts : pass.kernels) kernels.push_back(json_of(counts));
  return {{"layer", pass.layer},
          {"pass", pass.name},
          {"bytes_per_image", pass.bytes(batch)},
          {"padded_flops_per_image", pass.image_flops},
          {"seconds_per_image", Roofline().seconds(pass, batch)},
          {"kernels", kernels}};
}

}  // namespace

int main(int argc, char** argv) {
  try {
    if (argc < 2 || argc > 3) {
      fmt::print(stderr, "usage: kernel_report NETWORK [BATCH]\n");
      return 64;
    }
    const NetworkReport report =
        trireme::bench::report_network(argv[1], argc > 2 ? std::stoll(argv[2]) : 256);
    nlohmann::json passes = nlohmann::json::array();
    for (const Pass& pass : report.passes) passes.push_back(json_of(pass, report.batch));
    const nlohmann::json all = {{"network", report.network},
                                {"batch", report.batch},
                                {"bytes_per_image", report.bytes_per_image()},
                                {"images_per_second", report.images_per_second(Roofline())},
                                {"passes", passes}};
    fmt::print("{}\n", all.dump(1));
    return 0;
  } catch (const std::exception& error) {
    fmt::print(stderr, "kernel_report: {}\n", error.what());
    return 70;
  }
}
