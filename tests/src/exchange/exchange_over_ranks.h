// SPDX-License-Identifier: Apache-2.0
// R ranks with different gradients against one process that sums them and steps; bits equal on every rank.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <vector>

#include "src/comm/mpi_library.h"
#include "src/comm/scalar_record.h"
#include "src/core/hash.h"
#include "src/core/philox.h"
#include "src/exchange/allreduce_exchange.h"
#include "tests/src/comm/groups.h"
#include "tests/support/host_stream.h"
#include "tests/support/small_net.h"

namespace trireme::testing_support {

/// One rank's gradient of one step: multiples of 2^-8 below 4, whose sums over few ranks are exact in fp32.
inline std::vector<float> gradient_of(const FlatLayout& layout, int rank, int step) {
  std::vector<float> gradient(layout.elements);
  Philox random(5, 92, static_cast<std::uint32_t>(step), static_cast<std::uint64_t>(rank));
  for (const FlatLayout::Entry& entry : layout.entries)
    for (std::size_t i = 0; i < entry.count; ++i)
      gradient[entry.offset + i] = (static_cast<float>(random.next_below(2048)) - 1024.0F) / 256.0F;
  return gradient;
}

inline std::vector<float> start_of(const FlatLayout& layout) {
  std::vector<float> parameters(layout.elements);
  for (const FlatLayout::Entry& entry : layout.entries)
    fill_normal(Philox(6, 92, 0, static_cast<std::uint64_t>(entry.parameter)), 1.0F,
                &parameters[entry.offset], static_cast<std::int64_t>(entry.count));
  return parameters;
}

class ExchangeOverRanks : public testing::Test {
 protected:
  using MakeCommunicator = std::unique_ptr<Communicator> (*)(const Group& group, CommThread& thread);
  static std::unique_ptr<Communicator> make_library(const Group& group, CommThread& thread) {
    return std::make_unique<MpiLibrary>(group, thread);
  }

  explicit ExchangeOverRanks(Graph graph = small_net(), MakeCommunicator make = make_library)
      : graph_(std::move(graph)), made_communicator_(make(group_, *thread_)) {}

  void TearDown() override {
    exchange_.reset();
    thread_.reset();
  }

  void make_exchange(std::size_t bucket_bytes, const AllReduceExchangeOptions& options) {
    exchange_ = std::make_unique<AllReduceExchange>(
        graph_, layout_, BucketPlan(graph_, layout_, bucket_bytes), communicator_, *optimizer_,
        parameters_.data(), gradients_.data(), stream_, options);
  }

  void run_step(double rate) {
    for (const Parameter& parameter : graph_.parameters())
      exchange_->parameter_needed(static_cast<ParamId>(&parameter - graph_.parameters().data()));
    for (const FlatLayout::Entry& entry : layout_.entries) exchange_->gradient_ready(entry.parameter);
    exchange_->finish_step(rate);
  }

  /// What a wire makes of `gradient` and, for a rank, of what it owes.
  void round_on_wire(DType wire, std::vector<float>& gradient, std::vector<float>* owed) const {
    if (wire == DType::f32) return;
    for (const FlatLayout::Entry& entry : layout_.entries) {
      if (graph_.parameter(entry.parameter).is_statistic()) continue;
      for (std::size_t i = entry.offset; i < entry.offset + entry.count; ++i) {
        const float value = gradient[i] + (owed == nullptr ? 0 : (*owed)[i]);
        gradient[i] = wire == DType::bf16 ? to_float(to_bfloat16(value)) : to_float(to_float16(value));
        if (owed != nullptr) (*owed)[i] = value - gradient[i];
      }
    }
  }

  /// The same steps in one process: the sum over ranks, then the step.
  std::vector<float> expected_after(int steps, double rate, const AllReduceExchangeOptions& options) {
    HostMemory memory;
    const auto sgd = make_sgd(graph_, layout_, {}, memory);
    std::vector<float> parameters = start_of(layout_);
    std::vector<std::vector<float>> owed(static_cast<std::size_t>(ranks_),
                                         std::vector<float>(layout_.elements));
    for (int step = 0; step < steps; ++step) {
      std::vector<float> sum(layout_.elements);
      for (int rank = 0; rank < ranks_; ++rank) {
        std::vector<float> one = gradient_of(layout_, rank, step);
        round_on_wire(options.wire, one, &owed[static_cast<std::size_t>(rank)]);
        for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += one[i];
      }
      round_on_wire(options.wire, sum, nullptr);
      double factor = 1;
      if (options.clip_norm > 0)
        factor =
            std::min(1.0, options.clip_norm / (std::sqrt(squared_norm(graph_, layout_, sum.data())) + 1e-6));
      sgd->step({0, layout_.elements}, parameters.data(), sum.data(), rate, factor);
    }
    return parameters;
  }

  void check(std::size_t bucket_bytes, const AllReduceExchangeOptions& options) {
    optimizer_ = make_sgd(graph_, layout_, {}, communicator_);
    parameters_ = start_of(layout_);
    make_exchange(bucket_bytes, options);
    constexpr int kSteps = 3;
    for (int step = 0; step < kSteps; ++step) {
      std::ranges::copy(gradient_of(layout_, rank_, step), gradients_.begin());
      run_step(0.1);
    }
    exchange_->settle();
    EXPECT_EQ(parameters_, expected_after(kSteps, 0.1, options));
    expect_equal_on_all_ranks(parameters_);
    exchange_.reset();
  }

  void expect_equal_on_all_ranks(const std::vector<float>& values) {
    const std::uint64_t mine = xxh3(values.data(), values.size() * sizeof(float));
    for (const std::uint64_t hash : allgather_u64(communicator_, stream_, mine, "hashes"))
      EXPECT_EQ(hash, mine);
  }

  Graph graph_;
  const FlatLayout layout_{graph_};
  HostStream stream_;
  Group group_ = all_ranks();
  std::unique_ptr<CommThread> thread_ = std::make_unique<CommThread>(kTimeout);
  const std::unique_ptr<Communicator> made_communicator_;
  Communicator& communicator_ = *made_communicator_;
  const int rank_ = group_.rank(), ranks_ = group_.size();
  std::unique_ptr<Optimizer> optimizer_ = make_sgd(graph_, layout_, {}, communicator_);
  std::vector<float> parameters_ = start_of(layout_), gradients_ = std::vector<float>(layout_.elements);
  std::unique_ptr<AllReduceExchange> exchange_;
};

}  // namespace trireme::testing_support
