// SPDX-License-Identifier: Apache-2.0
#include "src/graph/memory_plan.h"

#include <gtest/gtest.h>

#include "models/models.h"
#include "src/core/philox.h"
#include "src/graph/fusion.h"
#include "src/graph/program_plan.h"
#include "tests/src/graph/naive_device.h"

namespace trireme::testing {
namespace {

void expect_sound(const std::vector<MemoryInterval>& intervals, const MemoryPlan& plan) {
  ASSERT_EQ(plan.offsets.size(), intervals.size());
  for (std::size_t i = 0; i < intervals.size(); ++i) {
    EXPECT_EQ(plan.offsets[i] % kArenaAlignment, 0U);
    EXPECT_LE(plan.offsets[i] + intervals[i].bytes, plan.bytes);
    for (std::size_t j = 0; j < i; ++j) {
      const bool together =
          intervals[i].first <= intervals[j].last && intervals[j].first <= intervals[i].last;
      const bool overlap = plan.offsets[i] < plan.offsets[j] + intervals[j].bytes &&
                           plan.offsets[j] < plan.offsets[i] + intervals[i].bytes;
      EXPECT_FALSE(together && overlap && intervals[i].bytes > 0 && intervals[j].bytes > 0)
          << i << " and " << j;
    }
  }
}

TEST(memory_plan, blocks_in_use_together_never_overlap) {
  Philox random(3, RandomStream::synthetic, 0, 0);
  for (int round = 0; round < 60; ++round) {
    std::vector<MemoryInterval> intervals(random.next_below(60));
    for (MemoryInterval& interval : intervals) {
      interval.bytes = random.next_below(4) == 0 ? random.next_below(300) : random.next_below(100000);
      interval.first = static_cast<int>(random.next_below(40));
      interval.last = interval.first + static_cast<int>(random.next_below(12));
    }
    const MemoryPlan plan = plan_memory(intervals);
    expect_sound(intervals, plan);
    EXPECT_GE(plan.bytes, peak_bytes(intervals));
  }
}

TEST(memory_plan, blocks_apart_in_time_share_memory) {
  const std::vector<MemoryInterval> intervals = {{1000, 0, 1}, {1000, 2, 3}, {1000, 4, 5}};
  EXPECT_EQ(plan_memory(intervals).bytes, 1024U);
}

TEST(memory_plan, blocks_that_touch_in_one_step_do_not_share) {
  const std::vector<MemoryInterval> intervals = {{256, 0, 2}, {256, 2, 3}};
  EXPECT_EQ(plan_memory(intervals).bytes, 512U);
}

TEST(memory_plan, nothing_needs_nothing) {
  EXPECT_EQ(plan_memory({}).bytes, 0U);
  const std::vector<MemoryInterval> empty = {{0, 0, 9}};
  EXPECT_EQ(plan_memory(empty).bytes, 0U);
}

TEST(memory_plan, peak_counts_what_is_in_use_at_once) {
  const std::vector<MemoryInterval> intervals = {{256, 0, 2}, {512, 2, 3}, {256, 3, 9}};
  EXPECT_EQ(peak_bytes(intervals), 768U);
}

std::vector<MemoryInterval> intervals_of(const char* model, const Shape& image, Mode mode) {
  NaiveDevice device({.fusions = {Fusion::conv_relu, Fusion::batch_norm_relu, Fusion::add_relu}});
  ProgramPlan::Impl plan;
  plan.graph = fuse(build_model(model, {.image = image, .num_classes = 10}), device.fusions());
  plan.device = &device;
  plan.batch = 8;
  plan.mode = mode;
  plan_ops(plan);
  plan_forward(plan);
  if (mode == Mode::train) plan_backward(plan);
  std::vector<MemoryInterval> intervals;
  for (const Block& block : plan.blocks) intervals.push_back(block.use);
  return intervals;
}

TEST(memory_plan, is_within_three_percent_of_the_least_possible_on_real_nets) {
  for (const char* model : {"resnet20", "resnet50", "vgg16_bn"})
    for (const Shape& image : {Shape{32, 32, 3}, Shape{224, 224, 3}})
      for (Mode mode : {Mode::train, Mode::eval}) {
        const std::vector<MemoryInterval> intervals = intervals_of(model, image, mode);
        const MemoryPlan plan = plan_memory(intervals);
        expect_sound(intervals, plan);
        EXPECT_LE(static_cast<double>(plan.bytes), 1.03 * static_cast<double>(peak_bytes(intervals)))
            << model << image.text() << (mode == Mode::train ? " train" : " eval");
      }
}

}  // namespace
}  // namespace trireme::testing
