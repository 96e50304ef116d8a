// SPDX-License-Identifier: Apache-2.0
// Ranks as threads of one process, for programs that sum over the ranks in the middle of a pass.
#pragma once

#include <gtest/gtest.h>

#include <barrier>
#include <exception>
#include <functional>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "src/core/group_sum.h"

namespace trireme::testing {

/// Sums of all ranks, added in rank order, so that every rank gets the same bits.
class ThreadGroup {
 public:
  explicit ThreadGroup(std::size_t ranks) : barrier_(static_cast<std::ptrdiff_t>(ranks)) {
    for (std::size_t rank = 0; rank < ranks; ++rank) members_.push_back({*this, rank});
  }

  /// Calls body(rank, the rank's GroupSum) in a thread per rank; throws what the first rank threw.
  void run(const std::function<void(std::size_t, GroupSum&)>& body) {
    std::vector<std::thread> threads;
    std::vector<std::exception_ptr> failures(members_.size());
    for (std::size_t rank = 0; rank < members_.size(); ++rank)
      threads.emplace_back([&, rank] {
        try {
          body(rank, members_[rank]);
        } catch (...) {
          failures[rank] = std::current_exception();
        }
        members_[rank].gone = true;
        barrier_.arrive_and_drop();
      });
    for (std::thread& thread : threads) thread.join();
    for (const std::exception_ptr& failure : failures)
      if (failure) std::rethrow_exception(failure);
  }

  /// What rank 0 was asked to sum, in order.
  const std::vector<std::string>& asked() const { return asked_; }

 private:
  struct Member final : GroupSum {
    Member(ThreadGroup& of, std::size_t number) : group(of), rank(number) {}
    void sum(std::span<double> values, std::string_view what) override {
      mine = values;
      name = what;
      group.barrier_.arrive_and_wait();
      for (const Member& other : group.members_)
        if (other.gone) throw std::runtime_error("another rank is gone");
      std::vector<double> total(values.size());
      for (const Member& other : group.members_) {
        EXPECT_EQ(other.name, name) << "ranks " << other.rank << " and " << rank;
        ASSERT_EQ(other.mine.size(), values.size());
        for (std::size_t i = 0; i < total.size(); ++i) total[i] += other.mine[i];
      }
      if (rank == 0) group.asked_.emplace_back(what);
      group.barrier_.arrive_and_wait();
      std::copy(total.begin(), total.end(), values.begin());
    }
    ThreadGroup& group;
    std::size_t rank;
    std::span<double> mine;
    std::string name;
    bool gone = false;  ///< its thread ended
  };

  std::barrier<> barrier_;
  std::vector<Member> members_;
  std::vector<std::string> asked_;
};

}  // namespace trireme::testing
