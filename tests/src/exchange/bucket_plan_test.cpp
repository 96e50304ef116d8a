// SPDX-License-Identifier: Apache-2.0
#include "src/exchange/bucket_plan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "models/models.h"
#include "tests/support/small_net.h"

namespace trireme {
namespace {

using testing::HasSubstr;
using testing_support::small_net;

Graph resnet20() {
  return build_model("resnet20", {.image = {32, 32, 3}, .num_classes = 10});
}

void check_plan(const Graph& graph, std::size_t bucket_bytes, std::size_t usual, std::size_t first) {
  const FlatLayout layout(graph);
  const BucketPlan plan(graph, layout, bucket_bytes);
  std::size_t at = 0;
  for (std::size_t b = 0; b < plan.buckets.size(); ++b) {
    const BucketPlan::Bucket& bucket = plan.buckets[b];
    EXPECT_EQ(bucket.range.begin, at);
    EXPECT_EQ(bucket.range.begin % 64, 0U);
    const std::size_t full = b == 0 ? first : usual;
    const bool last = b + 1 == plan.buckets.size();
    EXPECT_EQ(bucket.range.size(), last ? layout.elements - at : full);
    EXPECT_LE(bucket.range.size(), full);
    // Complete exactly with the last entry that begins inside or before it.
    for (std::size_t e = 0; e < layout.entries.size(); ++e)
      EXPECT_EQ(e <= bucket.last_entry, layout.entries[e].offset < bucket.range.end);
    at = bucket.range.end;
  }
  EXPECT_EQ(at, layout.elements);
}

TEST(BucketPlan, CoversTheBufferInOrderWithAShortFirstBucket) {
  check_plan(resnet20(), 256 * 1024, 64 * 1024, 16 * 1024);
  check_plan(resnet20(), 100000, 24960, 6208);  // rounded down to 64 elements
  check_plan(small_net(), 1024, 256, 64);
}

TEST(BucketPlan, NoBucketIsShorterThan256BytesOrCutWithinThem) {
  check_plan(small_net(), 0, 64, 64);
  check_plan(small_net(), 1, 64, 64);
  check_plan(small_net(), 511, 64, 64);
}

TEST(BucketPlan, OneBucketHoldsASmallNet) {
  const Graph graph = small_net();
  const FlatLayout layout(graph);
  const BucketPlan plan(graph, layout, std::size_t{1} << 30);
  ASSERT_EQ(plan.buckets.size(), 1U);
  EXPECT_EQ(plan.buckets[0].last_entry, layout.entries.size() - 1);
}

TEST(BucketPlan, LabelsNameTheFirstAndLastParameterInside) {
  const Graph graph = small_net();
  const FlatLayout layout(graph);
  const BucketPlan whole(graph, layout, std::size_t{1} << 30);
  EXPECT_EQ(whole.buckets[0].label, "bucket 0 (fc.weight .. conv1.bias)");
  const BucketPlan cut(graph, layout, 256);
  EXPECT_EQ(cut.buckets[0].label, "bucket 0 (fc.weight)");
  EXPECT_THAT(cut.buckets.back().label, HasSubstr("(conv1.bias)"));
}

TEST(BucketPlan, TheHashTellsPlansApart) {
  const Graph graph = resnet20();
  const FlatLayout layout(graph);
  EXPECT_EQ(BucketPlan(graph, layout, 100000).hash(), BucketPlan(graph, layout, 100000).hash());
  const Graph small = small_net();
  const std::set<std::uint64_t> hashes = {
      BucketPlan(graph, layout, 100000).hash(), BucketPlan(graph, layout, 200000).hash(),
      BucketPlan(graph, layout, 1 << 30).hash(), BucketPlan(small, FlatLayout(small), 1 << 30).hash()};
  EXPECT_EQ(hashes.size(), 4U);
}

}  // namespace
}  // namespace trireme
