// SPDX-License-Identifier: Apache-2.0
// The shared-memory algorithms among threads of this process, which a sanitizer can watch.
#include "src/comm/shm_collective.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <vector>

#include "src/comm/reduce.h"
#include "src/core/error.h"
#include "src/core/philox.h"
#include "tests/src/comm/exact_values.h"
#include "tests/src/comm/shm_ranks.h"

namespace trireme {
namespace {

using Kind = ShmJob::Kind;
using testing::ContainsRegex;
using testing::HasSubstr;
using testing_support::exact_sums;
using testing_support::exact_values;
using testing_support::run_ranks;
using testing_support::ShmRank;
using testing_support::tensor_of;

constexpr std::size_t kBufferBytes = std::size_t{16} << 20;
// One element, one beside a cache line, one beside the short ones, some rounds of the stage, all odd.
constexpr std::int64_t kCounts[] = {1, 2, 17, 1023, 4099, 150001};

template <typename T>
std::vector<T> values_in(const Tensor& tensor) {
  return {tensor.as<T>(), tensor.as<T>() + tensor.count()};
}

/// Where the tensors of a test lie.
enum class Place { shared, outside, mixed };

class ShmCollectiveTest : public testing::TestWithParam<int> {
 protected:
  static int ranks() { return GetParam(); }

  /// `values` where the test wants them; `kept` owns what lies outside.
  template <typename T>
  static Tensor place(ShmRank& rank, Place where, std::vector<T>& kept, std::vector<T> values) {
    const bool shared = where == Place::shared || (where == Place::mixed && rank.lane.rank() != 0);
    if (shared) return rank.share(values);
    kept = std::move(values);
    return tensor_of(kept);
  }

  template <typename T>
  static void check_allreduce(ShmRank& rank, std::int64_t count, Place where) {
    std::vector<T> kept;
    const Tensor tensor = place(rank, where, kept, exact_values<T>(rank.lane.rank(), count));
    rank.run(rank.make(Kind::allreduce, tensor, tensor));
    EXPECT_EQ(values_in<T>(tensor), exact_sums<T>(ranks(), count)) << count;
    rank.forget_shared();
  }
};

INSTANTIATE_TEST_SUITE_P(Ranks, ShmCollectiveTest, testing::Values(1, 2, 3, 4, 7, 8));

TEST_P(ShmCollectiveTest, AllreduceSumsEveryTypeAtEveryLengthWhereverTheTensorsAre) {
  run_ranks(ranks(), kBufferBytes, [](ShmRank& rank) {
    for (const Place where : {Place::shared, Place::outside, Place::mixed})
      for (const std::int64_t count : kCounts) {
        check_allreduce<float>(rank, count, where);
        check_allreduce<double>(rank, count, where);
        check_allreduce<std::int64_t>(rank, count, where);
        check_allreduce<BFloat16>(rank, count, where);
        check_allreduce<Float16>(rank, count, where);
      }
  });
}

TEST_P(ShmCollectiveTest, SumsInTheOrderOfTheRanksWhateverTheRoute) {
  run_ranks(ranks(), kBufferBytes, [](ShmRank& rank) {
    for (const std::int64_t count : {900L, 70001L}) {
      std::vector<float> expected, kept;
      for (int r = 0; r < ranks(); ++r) {
        std::vector<float> values(static_cast<std::size_t>(count));
        fill_normal(Philox(1, 99, 0, static_cast<std::uint64_t>(r)), 1.0F, values.data(), count);
        if (r == rank.lane.rank()) kept = values;
        if (r == 0) expected = std::vector<float>(values.size(), -0.0F);
        for (std::size_t i = 0; i < values.size(); ++i) expected[i] += values[i];
      }
      const Tensor shared = rank.share(kept), outside = tensor_of(kept);
      rank.run(rank.make(Kind::allreduce, shared, shared));
      EXPECT_EQ(values_in<float>(shared), expected);
      rank.run(rank.make(Kind::allreduce, outside, outside));
      EXPECT_EQ(kept, expected);
      rank.forget_shared();
    }
  });
}

TEST_P(ShmCollectiveTest, ReduceScatterGivesEveryRankItsPartInPlaceOrNot) {
  run_ranks(ranks(), kBufferBytes, [](ShmRank& rank) {
    const int self = rank.lane.rank();
    for (const Place where : {Place::shared, Place::outside, Place::mixed})
      for (const std::int64_t count : kCounts)
        for (const bool in_place : {false, true}) {
          std::vector<float> kept, apart(static_cast<std::size_t>(count));
          const Tensor tensor = place(rank, where, kept, exact_values<float>(self, count * ranks()));
          const Tensor result =
              in_place ? row_of(tensor.as<float>() + count * self, count) : tensor_of(apart);
          rank.run(rank.make(Kind::reduce_scatter, tensor, result));
          EXPECT_EQ(values_in<float>(result), exact_sums<float>(ranks(), count, count * self)) << count;
          rank.forget_shared();
        }
  });
}

TEST_P(ShmCollectiveTest, AllgatherGivesEveryRankAllPartsInPlaceOrNot) {
  run_ranks(ranks(), kBufferBytes, [](ShmRank& rank) {
    const int self = rank.lane.rank();
    for (const Place where : {Place::shared, Place::outside, Place::mixed})
      for (const std::int64_t count : kCounts)
        for (const bool in_place : {false, true}) {
          std::vector<std::int64_t> expected, kept, mine = exact_values<std::int64_t>(self, count);
          for (int r = 0; r < ranks(); ++r)
            for (const std::int64_t value : exact_values<std::int64_t>(r, count)) expected.push_back(value);
          const Tensor result = place(rank, where, kept, std::vector<std::int64_t>(expected.size()));
          const Tensor own = row_of(result.as<std::int64_t>() + count * self, count);
          std::copy(mine.begin(), mine.end(), own.as<std::int64_t>());
          rank.run(rank.make(Kind::allgather, in_place ? own : tensor_of(mine), result));
          EXPECT_EQ(values_in<std::int64_t>(result), expected) << count;
          rank.forget_shared();
        }
  });
}

TEST_P(ShmCollectiveTest, BroadcastTakesEveryTypeFromEveryRoot) {
  const auto check = []<typename T>(ShmRank& rank, std::int64_t count, Place where, int root, T /*type*/) {
    std::vector<T> kept;
    const Tensor tensor = place(rank, where, kept, exact_values<T>(rank.lane.rank(), count));
    rank.run(rank.make(Kind::broadcast, tensor, tensor, root));
    EXPECT_EQ(values_in<T>(tensor), exact_values<T>(root, count)) << count;
    rank.forget_shared();
  };
  run_ranks(ranks(), kBufferBytes, [&](ShmRank& rank) {
    for (const Place where : {Place::shared, Place::outside, Place::mixed})
      for (const std::int64_t count : kCounts)
        for (int root = 0; root < ranks(); ++root) {
          check(rank, count, where, root, std::uint8_t{});
          check(rank, count, where, root, std::int32_t{});
          check(rank, count, where, root, double{});
          check(rank, count, where, root, Float16{});
        }
  });
}

#ifdef TRIREME_SANITIZED
constexpr int kManyCollectives = 200;  // a sanitizer needs each kind in each place once, and takes its time
#else
constexpr int kManyCollectives = 1000;
#endif

TEST_P(ShmCollectiveTest, ManyCollectivesWithRandomDelaysMixNothingUp) {
  constexpr int kRounds = kManyCollectives, kAtOnce = 100;  // more than there are descriptors
  run_ranks(ranks(), kBufferBytes, [](ShmRank& rank) {
    const int self = rank.lane.rank();
    std::minstd_rand plan(7);  // the same on every rank
    for (int round = 0; round < kRounds; round += kAtOnce) {
      std::vector<std::unique_ptr<Collective>> collectives;
      std::vector<std::vector<float>> kept(kAtOnce), results(kAtOnce);
      std::vector<std::function<void()>> checks;
      for (std::size_t i = 0; i < kAtOnce; ++i) {
        const auto kind = static_cast<Kind>(plan() % 4);
        const auto where = static_cast<Place>(plan() % 3);
        constexpr std::array<std::int64_t, 4> kLengths = {5, 700, 3000, 9001};
        const std::int64_t count = kLengths[plan() % kLengths.size()];
        const int root = static_cast<int>(plan() % static_cast<unsigned>(ranks()));
        const std::int64_t rows = kind == Kind::reduce_scatter ? ranks() : 1;
        const Tensor tensor = place(rank, where, kept[i], exact_values<float>(self, count * rows, round));
        Tensor result = tensor;
        std::vector<float> expected;
        if (kind == Kind::allreduce) expected = exact_sums<float>(ranks(), count, round);
        if (kind == Kind::reduce_scatter) expected = exact_sums<float>(ranks(), count, round + count * self);
        if (kind == Kind::broadcast) expected = exact_values<float>(root, count, round);
        if (kind == Kind::allgather)
          for (int r = 0; r < ranks(); ++r)
            for (const float value : exact_values<float>(r, count, round)) expected.push_back(value);
        if (kind == Kind::reduce_scatter || kind == Kind::allgather) {
          results[i].resize(expected.size());
          result = tensor_of(results[i]);
        }
        collectives.push_back(rank.make(kind, tensor, result, root));
        checks.emplace_back([=] { EXPECT_EQ(values_in<float>(result), expected) << name_of(kind); });
      }
      rank.run(collectives, true);
      for (const auto& check : checks) check();
      rank.forget_shared();
    }
  });
}

TEST(ShmCollective, OneStepOfALongOneReturnsBeforeItIsComplete) {
  run_ranks(2, std::size_t{64} << 20, [](ShmRank& rank) {
    const Tensor tensor = rank.share(std::vector<float>(std::size_t{15} << 20, 1.0F));
    const auto collective = rank.make(Kind::allreduce, tensor, tensor);
    collective->start();
    int steps = 1;
    while (!collective->step()) ++steps;
    EXPECT_GT(steps, 2);
    EXPECT_EQ(values_in<float>(tensor), std::vector<float>(std::size_t{15} << 20, 2.0F));
  });
}

TEST(ShmCollective, NamesTheRanksThatHaveNotCome) {
  std::latch looked(3);
  run_ranks(3, kBufferBytes, [&](ShmRank& rank) {
    std::vector<float> kept(5000, 1.0F);
    const auto collective = rank.make(Kind::allreduce, tensor_of(kept), tensor_of(kept));
    if (rank.lane.rank() == 1) looked.arrive_and_wait();
    collective->start();
    if (rank.lane.rank() != 1) {
      EXPECT_FALSE(collective->step());
      EXPECT_THAT(collective->awaited(), ContainsRegex("^ranks? ([02], )?1"));  // 0 or 2 may be slow too
      looked.arrive_and_wait();
    }
    while (!collective->step()) std::this_thread::yield();
    EXPECT_EQ(collective->awaited(), "");
    EXPECT_EQ(kept, std::vector<float>(5000, 3.0F));
  });
}

TEST(ShmCollective, RanksThatCallDifferentThingsAreToldBothSides) {
  run_ranks(2, kBufferBytes, [](ShmRank& rank) {
    std::vector<float> kept(rank.lane.rank() == 0 ? 1000 : 1001);
    const auto collective = rank.make(Kind::allreduce, tensor_of(kept), tensor_of(kept));
    collective->start();
    try {
      while (!collective->step()) std::this_thread::yield();
      ADD_FAILURE() << "no error";
    } catch (const Error& error) {
      EXPECT_THAT(error.what(), HasSubstr("the ranks call different collectives"));
      EXPECT_THAT(error.what(), HasSubstr("1000 elements of f32"));
      EXPECT_THAT(error.what(), HasSubstr("1001 elements of f32"));
    }
  });
}

}  // namespace
}  // namespace trireme
