// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

#include "waiter/durable/claim_pacer.h"

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
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

namespace waiter::internal::claim_pacer_test {
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
  EXPECT_EQ(reply(8, std::nullopt), seconds(0)) << "there may be more";
  EXPECT_EQ(reply(3, milliseconds(70)), milliseconds(70));
  EXPECT_EQ(reply(3, nanoseconds(1)), milliseconds(5));
  EXPECT_EQ(reply(3, seconds(9)), milliseconds(250));
  EXPECT_EQ(reply(std::nullopt, std::nullopt), seconds(1)) << "an error";
}

TEST(ClaimPacerTest, ClaimIsExpectedToFindAsManyAsTheLast) {
  ClaimPacer pacer(100, 10);
  pacer.Open(pacer.AddName({.max_held = 100, .partitions = 1}));
  const ClaimPacer::Claim first = *pacer.Next(kNow);
  EXPECT_EQ(first.expected, first.max_waits);
  pacer.OnReply(first, 3, std::nullopt, 0, kNow);
  EXPECT_EQ(pacer.Next(kNow + seconds(1))->expected, 3);
}

TEST(ClaimPacerTest, NameIsOpenedOnce) {
  ClaimPacer pacer(100, 10);
  const size_t name = pacer.AddName({.max_held = 100, .partitions = 1});
  EXPECT_EQ(pacer.Next(kNow), std::nullopt);
  pacer.Open(name);
  pacer.OnReply(*pacer.Next(kNow), 0, std::nullopt, 0, kNow);
  pacer.Open(name);
  EXPECT_EQ(pacer.next_time(), kNow + milliseconds(250));
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
  for (int i = 0; i < 4; ++i) pacer.OnDue(name);
  EXPECT_FALSE(pacer.IsFull(name, false));
  pacer.OnDue(name);
  EXPECT_TRUE(pacer.IsFull(name, false)) << "many are due";
  EXPECT_FALSE(pacer.IsFull(name, true));
  pacer.OnHeld(small);
  EXPECT_FALSE(pacer.IsFull(small, false));
  pacer.OnHeld(small);
  EXPECT_TRUE(pacer.IsFull(small, false)) << "its own limit is met";
  EXPECT_FALSE(pacer.IsFull(name, true));
  pacer.OnHeld(name);
  EXPECT_TRUE(pacer.IsFull(name, true)) << "an eighth is left free";

  ClaimPacer large(1000, 1);
  large.AddName({.max_held = 1000, .partitions = 1});
  for (int i = 0; i < 989; ++i) large.OnHeld(0);
  EXPECT_FALSE(large.IsFull(0, true));
  large.OnHeld(0);
  EXPECT_TRUE(large.IsFull(0, true)) << "ten batches are left free";
}

TEST(ClaimPacerTest, FullWorkerClaimsOnceThereIsRoom) {
  ClaimPacer pacer(2, 10);
  const size_t name = pacer.AddName({.max_held = 100, .partitions = 2});
  pacer.Open(name);
  const ClaimPacer::Claim claim = *pacer.Next(kNow);
  EXPECT_EQ(claim.max_waits, 2);
  EXPECT_EQ(pacer.Next(kNow), std::nullopt);
  EXPECT_EQ(pacer.next_time(), MonotonicTime::max());
  pacer.OnHeld(name);
  pacer.OnReply(claim, 1, std::nullopt, 0, kNow);
  EXPECT_EQ(pacer.Next(kNow)->max_waits, 1) << "the reply found less";
  EXPECT_EQ(pacer.Next(kNow + seconds(1)), std::nullopt);
  EXPECT_EQ(pacer.next_time(), MonotonicTime::max());
  pacer.OnGone(name);
  EXPECT_EQ(pacer.Next(kNow + seconds(1))->max_waits, 1);
}

// Drives a pacer with one name, of `partitions`.
class OneName {
 public:
  OneName(int64_t claim_batch, size_t partitions, int64_t max_held = 1000)
      : pacer_(1000, claim_batch) {
    pacer_.Open(
        pacer_.AddName({.max_held = max_held, .partitions = partitions}));
  }

  ClaimPacer& pacer() { return pacer_; }
  int64_t max_due() const { return pacer_.max_due(0); }

  void Due(int count) {
    for (int i = 0; i < count; ++i) pacer_.OnDue(0);
  }
  void Poll(int count, nanoseconds queued = milliseconds(300)) {
    for (int i = 0; i < count; ++i) pacer_.OnPolled(0, kNow - queued, kNow);
  }
  // Polls until `count` waits may be due. None is due then.
  void Grow(int64_t count) {
    const int due = 1000;
    Due(due);
    int polls = 0;
    for (; max_due() < count && polls < due; ++polls) Poll(1, seconds(0));
    Poll(due - polls);
    EXPECT_EQ(max_due(), count);
  }
  // Returns the partitions that are claimed from.
  std::vector<size_t> Claims(MonotonicTime now = kNow) {
    std::vector<size_t> partitions;
    while (const auto claim = pacer_.Next(now)) {
      partitions.push_back(claim->partition);
    }
    return partitions;
  }

 private:
  ClaimPacer pacer_;
};

TEST(ClaimPacerTest, TimeInTheQueueDecidesHowManyWaitsMayBeDue) {
  for (const auto& [queued, max_due] : {std::pair(249, 9), std::pair(250, 8),
                                        std::pair(500, 8), std::pair(501, 7)}) {
    OneName name(10, 1);
    name.Due(8);
    name.Poll(1, milliseconds(queued));
    EXPECT_EQ(name.max_due(), max_due) << queued;
  }
}

TEST(ClaimPacerTest, CallOfManyWaitsHasRoomForThemAndItsWindow) {
  ClaimPacer pacer(1000, 250);
  const size_t large = pacer.AddName({.max_held = 1000, .max_batch = 100});
  EXPECT_EQ(pacer.max_due(large), 100);
  const size_t larger = pacer.AddName({.max_held = 1000, .max_batch = 251});
  EXPECT_EQ(pacer.max_due(larger), 250) << "a claim's";
  const size_t name = pacer.AddName({.max_held = 1000, .window = seconds(2)});
  EXPECT_EQ(pacer.max_due(name), 250) << "they wait for others";
  for (int i = 0; i < 250; ++i) pacer.OnDue(name);
  pacer.OnPolled(name, kNow - milliseconds(2500), kNow);
  EXPECT_EQ(pacer.max_due(name), 250);
  pacer.OnDue(name);
  pacer.OnPolled(name, kNow - milliseconds(2249), kNow);
  EXPECT_EQ(pacer.max_due(name), 251);
  pacer.OnPolled(name, kNow - milliseconds(2501), kNow);
  EXPECT_EQ(pacer.max_due(name), 250);
}

TEST(ClaimPacerTest, ClaimsAreBatchesOrHalfOfWhatMayBeDue) {
  OneName few(10, 2);
  few.Due(8);
  few.Poll(1, milliseconds(501));
  EXPECT_EQ(few.max_due(), 7);
  EXPECT_THAT(few.Claims(), IsEmpty());
  few.Poll(3);
  EXPECT_EQ(few.pacer().next_time(), MonotonicTime::max()) << "4 are due";
  few.Poll(1);
  EXPECT_EQ(few.pacer().Next(kNow)->max_waits, 4);
  EXPECT_THAT(few.Claims(), IsEmpty());

  OneName many(2, 2);
  many.Grow(12);
  many.Due(11);
  EXPECT_THAT(many.Claims(), IsEmpty());
  many.Poll(1);
  EXPECT_EQ(many.pacer().Next(kNow)->max_waits, 2);
  EXPECT_THAT(many.Claims(), IsEmpty());

  OneName one(1, 1);
  one.Due(1);
  EXPECT_THAT(one.Claims(), IsEmpty());
  one.Poll(1);
  EXPECT_THAT(one.Claims(), ElementsAre(0));
}

TEST(ClaimPacerTest, PartitionsThatAreDueForLongestGetTheRoomFirst) {
  OneName name(2, 4);
  name.Grow(12);
  for (int due_ms : {40, 30, 20, 10}) {
    name.pacer().OnReply(*name.pacer().Next(kNow), 0, milliseconds(due_ms), 0,
                         kNow);
  }
  name.Due(12);
  const MonotonicTime now = kNow + milliseconds(50);
  EXPECT_THAT(name.Claims(now), IsEmpty());
  name.Poll(12);
  EXPECT_THAT(name.Claims(now), ElementsAre(3, 2, 1, 0));
}

TEST(ClaimPacerTest, PollsOfANameWithoutPlacesWakeNoPartition) {
  OneName name(2, 1, 2);
  for (int i = 0; i < 2; ++i) name.pacer().OnHeld(0);
  name.Due(1);
  EXPECT_THAT(name.Claims(), IsEmpty());
  name.Poll(1);
  EXPECT_EQ(name.pacer().next_time(), MonotonicTime::max());
  name.pacer().OnGone(0);
  EXPECT_THAT(name.Claims(), ElementsAre(0));
}

// Claims waits and polls them one by one. Returns the pacer's maximum number of
// due waits after `polls` polls.
int64_t MaxDueAfter(int polls, nanoseconds poll_time, bool is_limited = false) {
  ClaimPacer pacer(10'000, 250);
  const size_t name = pacer.AddName(
      {.max_held = 10'000, .is_limited = is_limited, .partitions = 1});
  pacer.Open(name);
  MonotonicTime now = kNow;
  std::deque<MonotonicTime> due;
  while (polls-- > 0) {
    while (const std::optional<ClaimPacer::Claim> claim = pacer.Next(now)) {
      for (int64_t i = 0; i < claim->max_waits; ++i) {
        pacer.OnHeld(name);
        pacer.OnDue(name);
        due.push_back(now);
      }
      pacer.OnReply(*claim, claim->max_waits, std::nullopt, 0, now);
    }
    if (due.empty()) return 0;
    pacer.OnPolled(name, due.front(), now);
    pacer.OnGone(name);
    due.pop_front();
    now += poll_time;
  }
  return pacer.max_due(name);
}

TEST(ClaimPacerTest, WaitsThatMayBeDueFollowTheTimeOfPolls) {
  EXPECT_EQ(MaxDueAfter(0, seconds(10)), 8);
  EXPECT_EQ(MaxDueAfter(20, seconds(10)), 1);
  EXPECT_LE(MaxDueAfter(200, seconds(1)), 2);
  const int64_t slow = MaxDueAfter(200, milliseconds(100));
  EXPECT_GE(slow, 2);
  EXPECT_LE(slow, 6);
  const int64_t fast = MaxDueAfter(5000, milliseconds(1));
  EXPECT_GE(fast, 200);
  EXPECT_LE(fast, 600);
  EXPECT_EQ(MaxDueAfter(5000, nanoseconds(0)), 1500);
  EXPECT_EQ(MaxDueAfter(5000, nanoseconds(0), /*is_limited=*/true), 250);
}

TEST(ClaimPacerTest, RoomThatIsNotUsedIsGivenUp) {
  const auto max_due_after = [](OneName& name, int64_t count,
                                milliseconds time) {
    const MonotonicTime now = kNow + time;
    const ClaimPacer::Claim claim = *name.pacer().Next(now);
    EXPECT_EQ(claim.max_waits, 10);
    name.pacer().OnReply(claim, count, std::nullopt, 0, now);
    return name.max_due();
  };
  OneName grown(10, 1);
  grown.Grow(16);
  EXPECT_EQ(max_due_after(grown, 0, milliseconds(999)), 16);

  OneName name(10, 1);
  name.Grow(16);
  EXPECT_EQ(max_due_after(name, 4, milliseconds(1000)), 14) << "an eighth";
  EXPECT_EQ(max_due_after(name, 4, milliseconds(1999)), 14);
  EXPECT_EQ(max_due_after(name, 5, milliseconds(3000)), 14) << "half is used";
  EXPECT_EQ(max_due_after(name, 4, milliseconds(4000)), 13);

  OneName few(10, 1);
  EXPECT_EQ(few.max_due(), 8);
  few.pacer().OnReply(*few.pacer().Next(kNow), 0, std::nullopt, 0, kNow);
  EXPECT_EQ(few.max_due(), 8) << "what each name has at first";
}

// Drives a pacer at random and compares it with its own counts.
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
          .max_batch = absl::Uniform(gen_, 1, 20),
          .window = milliseconds(absl::Uniform(gen_, 0, 3) * 300),
          .partitions = absl::Uniform<size_t>(gen_, 1, 5)};
      const size_t name = pacer_.AddName(options);
      EXPECT_EQ(name, names_.size());
      names_.push_back({options});
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

  // Releases all waits. After that, each partition is claimed from within the
  // longest gap, in claims that are as large as possible.
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
    // An idle worker claims at most four times per second.
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
    int64_t held = 0;
    int64_t due = 0;
    int64_t requested = 0;
    int64_t expected = 0;
  };

  void TakeClaims() {
    while (const std::optional<ClaimPacer::Claim> claim = pacer_.Next(now_)) {
      Name& name = names_[owners_[claim->partition]];
      EXPECT_FALSE(in_flight_[claim->partition].has_value());
      const int64_t max_due = pacer_.max_due(owners_[claim->partition]);
      EXPECT_GE(max_due, 1);
      EXPECT_LE(max_due, (name.options.is_limited ? 1 : 6) * batch_);
      const int64_t left = max_due - name.due - name.expected;
      EXPECT_GE(left, std::min(batch_, (max_due + 1) / 2))
          << "small claims cost as much";
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
    pacer_.OnPolled(name, now_ - milliseconds(absl::Uniform(gen_, 0, 1000)),
                    now_);
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

// Workers that share a backlog. Each wait ends with its first poll, which keeps
// a thread busy for `poll_time`.
class Backlog {
 public:
  static constexpr size_t kPartitions = 16;

  Backlog(uint64_t seed, size_t workers, size_t threads, int64_t waits,
          nanoseconds poll_time)
      : poll_time_(poll_time), gen_(seed), waits_(kPartitions) {
    std::vector<std::string> ids;
    for (size_t i = 0; i < workers; ++i) {
      ids.push_back(absl::StrCat("w", seed, "-", i));
    }
    for (const std::string& id : ids) {
      Worker& worker = workers_.emplace_back(id, threads);
      for (size_t i = 0; i < kPartitions; ++i) {
        worker.membership.AddPartition("job", static_cast<int>(i));
      }
      worker.membership.OnWorkers(ids);
      worker.pacer.Open(worker.pacer.AddName(
          {.max_held = 10'000, .partitions = kPartitions}));
    }
    for (int64_t i = 0; i < waits; ++i) {
      ++waits_[absl::Uniform<size_t>(gen_, 0, kPartitions)];
    }
  }

  // Returns when the last wait has ended.
  nanoseconds Run() {
    MonotonicTime now = kNow;
    MonotonicTime end = kNow;
    while (now < MonotonicTime::max()) {
      MonotonicTime next = MonotonicTime::max();
      for (Worker& worker : workers_) {
        Claim(worker, now);
        const MonotonicTime busy_until = StartPolls(worker, now);
        if (busy_until != MonotonicTime::max()) end = std::max(end, busy_until);
        next = std::min(next, busy_until);
        if (HasWaits()) next = std::min(next, worker.pacer.next_time());
      }
      now = std::max(next, now + nanoseconds(1));
      if (next == MonotonicTime::max()) break;
    }
    return end - kNow;
  }

 private:
  struct Worker {
    Worker(const std::string& id, size_t threads)
        : membership(id), busy_until(threads) {}

    Membership membership;
    ClaimPacer pacer{10'000, 250};
    std::deque<MonotonicTime> due;
    std::vector<MonotonicTime> busy_until;  // One for each thread.
  };

  bool HasWaits() const {
    return std::any_of(waits_.begin(), waits_.end(),
                       [](int64_t count) { return count > 0; });
  }

  void Claim(Worker& worker, MonotonicTime now) {
    while (const auto claim = worker.pacer.Next(now)) {
      int64_t& left = waits_[claim->partition];
      const int64_t count = std::min(left, claim->max_waits);
      left -= count;
      for (int64_t i = 0; i < count; ++i) {
        worker.pacer.OnHeld(0);
        worker.pacer.OnDue(0);
        worker.due.push_back(now);
      }
      worker.pacer.OnReply(*claim, count, std::nullopt,
                           worker.membership.rank(claim->partition), now);
    }
  }

  // Returns when the next busy thread will be free.
  MonotonicTime StartPolls(Worker& worker, MonotonicTime now) {
    MonotonicTime next = MonotonicTime::max();
    for (MonotonicTime& busy_until : worker.busy_until) {
      if (busy_until <= now && !worker.due.empty()) {
        worker.pacer.OnPolled(0, worker.due.front(), now);
        worker.pacer.OnGone(0);
        worker.due.pop_front();
        busy_until = now + poll_time_;
      }
      if (busy_until > now) next = std::min(next, busy_until);
    }
    return next;
  }

  const nanoseconds poll_time_;
  std::mt19937_64 gen_;
  std::deque<Worker> workers_;
  std::vector<int64_t> waits_;  // Waits in the store, by partition.
};

TEST(ClaimPacerTest, WorkersShareABacklogEvenlyWhateverPollsTake) {
  const uint64_t seed = FirstSeed();
  for (const nanoseconds poll_time :
       {nanoseconds(milliseconds(1)), nanoseconds(milliseconds(10)),
        nanoseconds(milliseconds(100)), nanoseconds(seconds(1)),
        nanoseconds(seconds(10))}) {
    for (const size_t workers : {1U, 2U, 3U, 8U}) {
      for (const size_t threads : {1U, 4U}) {
        SCOPED_TRACE(testing::Message()
                     << "WAITER_TEST_SEED=" << seed << ", polls of "
                     << poll_time.count() << " ns, " << workers
                     << " workers with " << threads << " threads");
        const auto waits = static_cast<int64_t>(100 * workers * threads);
        Backlog backlog(seed, workers, threads, waits, poll_time);
        EXPECT_LE(backlog.Run(), 120 * poll_time);
      }
    }
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
    ranks.reserve(before.size());
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
}  // namespace waiter::internal::claim_pacer_test
