// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

#include "waiter/durable/claim_pacer.h"

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "absl/random/random.h"
#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/support/first_seed.h"
#include "waiter/clock.h"
#include "waiter/durable/membership.h"

namespace waiter::internal {
namespace {

using std::chrono::milliseconds;
using std::chrono::nanoseconds;
using std::chrono::seconds;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr MonotonicTime kNow = MonotonicTime(seconds(1000));

TEST(ClaimPacerTest, GapsGrowWithTheRank) {
  const std::vector<nanoseconds> gaps = {milliseconds(250), seconds(2),
                                         seconds(30), seconds(30)};
  for (int64_t rank = 0; rank < 4; ++rank) {
    ClaimPacer pacer(100, 10);
    pacer.Open(pacer.AddName({.max_held = 100, .partitions = 1}));
    pacer.OnReply(*pacer.Next(kNow), 0, std::nullopt, rank, kNow);
    EXPECT_EQ(pacer.next_time(), kNow + gaps[static_cast<size_t>(rank)]);
    EXPECT_EQ(pacer.Next(kNow), std::nullopt);
  }
}

TEST(ClaimPacerTest, ReplyDecidesWhenToClaimAgain) {
  ClaimPacer pacer(100, 10);
  pacer.Open(pacer.AddName({.max_held = 100, .partitions = 1}));
  const auto reply = [&](std::optional<int64_t> count,
                         std::optional<nanoseconds> next_due_in) {
    const auto claim = pacer.Next(kNow + seconds(1));
    if (claim.has_value()) pacer.OnReply(*claim, count, next_due_in, 0, kNow);
    return pacer.next_time() - kNow;
  };
  EXPECT_EQ(reply(10, std::nullopt), seconds(0)) << "there may be more";
  EXPECT_EQ(reply(3, milliseconds(70)), milliseconds(70));
  EXPECT_EQ(reply(3, nanoseconds(1)), milliseconds(5));
  EXPECT_EQ(reply(3, seconds(9)), milliseconds(250));
  EXPECT_EQ(reply(std::nullopt, std::nullopt), seconds(1)) << "an error";
}

TEST(ClaimPacerTest, ReleaseOrBetterRankHastensAClaim) {
  ClaimPacer pacer(100, 10);
  pacer.Open(pacer.AddName({.max_held = 100, .partitions = 1}));
  const ClaimPacer::Claim claim = *pacer.Next(kNow);
  pacer.OnReleased(0, kNow, 0, kNow);
  pacer.OnRank(0, 0, kNow);
  EXPECT_EQ(pacer.next_time(), MonotonicTime::max()) << "one is in flight";
  pacer.OnReply(claim, 0, std::nullopt, 2, kNow);
  pacer.OnRank(0, 1, kNow);
  EXPECT_EQ(pacer.next_time(), kNow + seconds(2));
  pacer.OnReleased(0, kNow, 1, kNow);
  EXPECT_EQ(pacer.next_time(), kNow + seconds(2)) << "another worker claims";
  pacer.OnReleased(0, kNow + milliseconds(9), 0, kNow);
  EXPECT_EQ(pacer.next_time(), kNow + milliseconds(9));
  pacer.OnReleased(0, kNow, 0, kNow);
  EXPECT_EQ(pacer.next_time(), kNow + milliseconds(5));
}

TEST(ClaimPacerTest, SleepingWaitsLeaveRoom) {
  ClaimPacer pacer(80, 10);
  const size_t name = pacer.AddName({.max_held = 75, .partitions = 1});
  const size_t small = pacer.AddName({.max_held = 2, .partitions = 1});
  for (int i = 0; i < 67; ++i) pacer.OnHeld(name);
  EXPECT_FALSE(pacer.IsFull(name, false));
  for (int i = 0; i < 21; ++i) pacer.OnDue(name);
  EXPECT_TRUE(pacer.IsFull(name, false)) << "many are due";
  EXPECT_FALSE(pacer.IsFull(name, true));
  pacer.OnHeld(small);
  EXPECT_FALSE(pacer.IsFull(small, false));
  pacer.OnHeld(small);
  EXPECT_TRUE(pacer.IsFull(small, false)) << "of its own limit";
  pacer.OnHeld(name);
  EXPECT_TRUE(pacer.IsFull(name, true)) << "an eighth is left free";
}

// Drives a pacer at random and compares it with counts of its own.
class PacerModel {
 public:
  explicit PacerModel(uint64_t seed)
      : gen_(seed),
        max_held_(absl::Uniform(gen_, 1, 60)),
        batch_(absl::Uniform(gen_, 1, 12)),
        pacer_(max_held_, batch_) {
    for (int i = absl::Uniform(gen_, 1, 4); i > 0; --i) {
      const ClaimPacer::Name options = {
          .max_held = absl::Uniform(gen_, 1, 60),
          .is_limited = absl::Bernoulli(gen_, 0.3),
          .partitions = absl::Uniform<size_t>(gen_, 1, 5)};
      const size_t name = pacer_.AddName(options);
      EXPECT_EQ(name, names_.size());
      names_.push_back({options, options.is_limited ? batch_ : 4 * batch_});
      owners_.insert(owners_.end(), options.partitions, name);
      in_flight_.resize(owners_.size());
      pacer_.Open(name);
    }
  }

  void Step() {
    now_ += milliseconds(absl::Uniform(gen_, 0, 400));
    const size_t partition = absl::Uniform<size_t>(gen_, 0, owners_.size());
    const size_t name = owners_[partition];
    switch (absl::Uniform(gen_, 0, 6)) {
      case 0:
      case 1:
        if (in_flight_[partition].has_value()) {
          Reply(partition, Count(partition));
        }
        break;
      case 2:
        if (names_[name].due > 0) Poll(name);
        break;
      case 3:
        if (names_[name].held > names_[name].due) Release(partition);
        break;
      case 4:
        pacer_.OnRank(partition, absl::Uniform(gen_, 0, 3), now_);
        break;
      default:
        break;
    }
    TakeClaims();
    EXPECT_EQ(pacer_.held(), held_);
  }

  // Once all is released, each partition is claimed from within the longest
  // gap, in claims as large as can be.
  void ExpectRest() {
    for (size_t i = 0; i < owners_.size(); ++i) {
      if (in_flight_[i].has_value()) Reply(i, 0);
    }
    for (size_t i = 0; i < owners_.size(); ++i) {
      while (names_[owners_[i]].due > 0) Poll(owners_[i]);
      while (names_[owners_[i]].held > 0) Release(i);
    }
    std::vector<bool> claimed(owners_.size());
    const MonotonicTime end = now_ + seconds(31);
    // An idle worker claims no more often than four times per second.
    size_t left = owners_.size() * 4 * 32;
    for (; now_ < end && left > 0; --left) {
      TakeClaims();
      for (size_t i = 0; i < owners_.size(); ++i) {
        if (!in_flight_[i].has_value()) continue;
        claimed[i] = true;
        Reply(i, 0);
      }
      now_ = std::max(now_, std::min(end, pacer_.next_time()));
    }
    EXPECT_GT(left, 0U) << "it would spin";
    EXPECT_EQ(std::count(claimed.begin(), claimed.end(), false), 0);
  }

 private:
  struct Name {
    ClaimPacer::Name options;
    int64_t max_due;
    int64_t held = 0;
    int64_t due = 0;
    int64_t requested = 0;
    int64_t expected = 0;
  };

  void TakeClaims() {
    while (const std::optional<ClaimPacer::Claim> claim = pacer_.Next(now_)) {
      Name& name = names_[owners_[claim->partition]];
      EXPECT_FALSE(in_flight_[claim->partition].has_value());
      const int64_t left = name.max_due - name.due - name.expected;
      EXPECT_GE(2 * left, name.max_due) << "small claims cost as much";
      EXPECT_EQ(claim->max_waits,
                std::min({batch_, left, max_held_ - held_ - requested_,
                          name.options.max_held - name.held - name.requested}));
      EXPECT_GE(claim->max_waits, 1);
      EXPECT_LE(claim->expected, claim->max_waits);
      in_flight_[claim->partition] = claim;
      requested_ += claim->max_waits;
      name.requested += claim->max_waits;
      name.expected += claim->expected;
      if (testing::Test::HasFailure()) return;
    }
  }

  std::optional<int64_t> Count(size_t partition) {
    if (absl::Bernoulli(gen_, 0.1)) return std::nullopt;
    return absl::Uniform<int64_t>(absl::IntervalClosed, gen_, 0,
                                  in_flight_[partition]->max_waits);
  }

  void Reply(size_t partition, std::optional<int64_t> count) {
    const ClaimPacer::Claim claim = *std::exchange(in_flight_[partition], {});
    Name& name = names_[owners_[partition]];
    for (int64_t i = 0; i < count.value_or(0); ++i) {
      pacer_.OnHeld(owners_[partition]);
      ++name.held;
      ++held_;
      if (absl::Bernoulli(gen_, 0.2)) continue;
      pacer_.OnDue(owners_[partition]);
      ++name.due;
    }
    requested_ -= claim.max_waits;
    name.requested -= claim.max_waits;
    name.expected -= claim.expected;
    EXPECT_LE(held_ + requested_, max_held_);
    EXPECT_LE(name.held + name.requested, name.options.max_held);
    pacer_.OnReply(claim, count, std::nullopt, absl::Uniform(gen_, 0, 4), now_);
  }

  void Poll(size_t name) {
    pacer_.OnPolled(name);
    --names_[name].due;
  }

  void Release(size_t partition) {
    pacer_.OnGone(owners_[partition]);
    --names_[owners_[partition]].held;
    --held_;
    pacer_.OnReleased(partition, now_ + seconds(absl::Uniform(gen_, 0, 5)),
                      absl::Uniform(gen_, 0, 3), now_);
  }

  std::mt19937_64 gen_;
  const int64_t max_held_;
  const int64_t batch_;
  ClaimPacer pacer_;
  MonotonicTime now_ = kNow;
  std::vector<Name> names_;
  std::vector<size_t> owners_;  // The name of each partition.
  std::vector<std::optional<ClaimPacer::Claim>> in_flight_;
  int64_t held_ = 0;
  int64_t requested_ = 0;
};

TEST(ClaimPacerTest, ClaimsAreWithinAllLimitsAndNoPartitionIsForgotten) {
  const uint64_t first_seed = FirstSeed();
  for (uint64_t seed = first_seed; seed < first_seed + 300; ++seed) {
    SCOPED_TRACE(testing::Message() << "WAITER_TEST_SEED=" << seed);
    PacerModel model(seed);
    for (int i = 0; i < 200 && !HasFailure(); ++i) model.Step();
    if (!HasFailure()) model.ExpectRest();
    if (HasFailure()) return;
  }
}

TEST(MembershipTest, WorkersAgreeOnRanksAndFewChange) {
  std::vector<std::string> ids = {"a", "b", "c", "d"};
  std::vector<Membership> workers(ids.begin(), ids.end());
  constexpr size_t kPartitions = 64;
  std::vector<std::vector<int64_t>> before(ids.size());
  for (size_t w = 0; w < ids.size(); ++w) {
    for (size_t i = 0; i < kPartitions; ++i) {
      workers[w].AddPartition("job", static_cast<int>(i));
    }
    EXPECT_THAT(workers[w].OnWorkers(ids), IsEmpty())
        << "none is better than 0";
    before[w].reserve(kPartitions);
    for (size_t i = 0; i < kPartitions; ++i) {
      before[w].push_back(workers[w].rank(i));
    }
  }
  for (size_t i = 0; i < kPartitions; ++i) {
    std::vector<int64_t> ranks;
    for (const auto& of_worker : before) ranks.push_back(of_worker[i]);
    std::sort(ranks.begin(), ranks.end());
    EXPECT_THAT(ranks, ElementsAre(0, 1, 2, 3)) << i;
  }
  ids.pop_back();
  for (size_t w = 0; w < ids.size(); ++w) {
    std::vector<size_t> improved;
    for (size_t i = 0; i < kPartitions; ++i) {
      if (before[3][i] < before[w][i]) improved.push_back(i);
    }
    EXPECT_EQ(workers[w].OnWorkers(ids), improved) << "only by the one gone";
    for (size_t i = 0; i < kPartitions; ++i) {
      EXPECT_EQ(workers[w].rank(i),
                before[w][i] - (before[3][i] < before[w][i]));
    }
  }
}

}  // namespace
}  // namespace waiter::internal
