// SPDX-License-Identifier: Apache-2.0
// Whole training steps in bf16: what memory must move, and what a card's ceilings make of it.
#include <gtest/gtest.h>

#include "bench/kernel_report/network_report.h"

namespace trireme::bench {
namespace {

constexpr std::int64_t kBatch = 256;

/// Of matrix products the instructions of a warp touch no more sectors than their bytes fill, and the banks
/// serve them without conflicts. The stem is excepted: its pixels are 8 bytes.
void expect_clean_products(const NetworkReport& report) {
  for (const Pass& pass : report.passes) {
    const bool is_stem = pass.layer == "conv1" || pass.layer == "features.0";
    if (pass.image_flops == 0 || is_stem) continue;
    for (const simt::emulator::KernelCounts& kernel : pass.kernels) {
      EXPECT_LE(kernel.request_ratio(), 1.05) << pass.layer << ", " << pass.name << ": " << kernel.kernel;
      EXPECT_EQ(kernel.shared_wavefronts, kernel.ideal_wavefronts)
          << pass.layer << ", " << pass.name << ": " << kernel.kernel;
    }
  }
}

TEST(LayersOfResnet50, MoveLittleMoreThanTheyMust) {
  const NetworkReport report = report_network("resnet50", kBatch);
  // With statistics in the epilogues and batch norm, ReLU and addition in one pass, a step must move 295 MB
  // an image.
  EXPECT_LE(report.bytes_per_image(), 1.25 * 295e6);
  EXPECT_GE(report.bytes_per_image(), 0.9 * 295e6);
  EXPECT_GE(report.images_per_second(Roofline()), 10500);
  expect_clean_products(report);
}

TEST(LayersOfVgg16, MoveLittleMoreThanTheyMust) {
  const NetworkReport report = report_network("vgg16", kBatch);
  EXPECT_GE(report.images_per_second(Roofline()), 5800);
  expect_clean_products(report);
}

}  // namespace
}  // namespace trireme::bench
