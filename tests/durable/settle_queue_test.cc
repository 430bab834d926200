// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

#include "waiter/durable/settle_queue.h"

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/random/random.h"
#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/support/first_seed.h"
#include "waiter/clock.h"
#include "waiter/durable/due_number.h"
#include "waiter/durable/durable_record.h"
#include "waiter/durable/leased_wait.h"
#include "waiter/durable/store.h"
#include "waiter/result.h"

namespace waiter::internal::settle_queue_test {
namespace {

using Event = LeasedWait::Event;
using State = LeasedWait::State;
using WaitPtr = SettleQueue::WaitPtr;
using std::chrono::microseconds;
using std::chrono::milliseconds;
using std::chrono::nanoseconds;
using std::chrono::seconds;
using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr MonotonicTime kNow = MonotonicTime(seconds(1000));
constexpr nanoseconds kLease = seconds(15);

WaitPtr Polling(const std::string& key, int64_t fence, MonotonicTime now) {
  auto wait =
      std::make_shared<LeasedWait>(ClaimedWait{.key = key}, DurableRecord(),
                                   WaitLease{DueNumber(fence), now + kLease});
  EXPECT_TRUE(wait->Apply(Event::kStartDue));
  EXPECT_TRUE(wait->Apply(Event::kPoll));
  return wait;
}

void LetEnd(LeasedWait& wait) {
  wait.End(StopReason::kSuccess, absl::OkStatus(), 1, 0, /*has_handler=*/false,
           "");
  EXPECT_TRUE(wait.Apply(Event::kEnd));
}

// Releases a wait, which is due at `wake_up`.
void LetLeave(LeasedWait& wait, MonotonicTime wake_up) {
  wait.Save({}, {}, wake_up);
  EXPECT_TRUE(wait.Apply(Event::kSleep));
  EXPECT_TRUE(wait.Apply(Event::kSuspended));
}

class SettleQueueTest : public testing::Test {
 protected:
  SettleQueueTest() { queue.Resize(2); }

  SettleQueue queue;
};

TEST_F(SettleQueueTest, WritesOfAFewMillisecondsShareABatch) {
  const WaitPtr a = Polling("a", 7, kNow);
  const WaitPtr b = Polling("b", 7, kNow);
  queue.Add(0, a, kNow, false);
  queue.Add(0, b, kNow + milliseconds(4), false);
  EXPECT_EQ(queue.next_time(), kNow + milliseconds(5));
  EXPECT_EQ(queue.Due(kNow + milliseconds(4)), std::nullopt);
  EXPECT_EQ(queue.Due(kNow + milliseconds(5)), 0);
  EXPECT_THAT(queue.Take(0, kNow).items, SizeIs(2));
  EXPECT_THAT(queue.Take(0, kNow).items, IsEmpty());
  EXPECT_EQ(queue.next_time(), MonotonicTime::max());
}

TEST_F(SettleQueueTest, ReleasesWaitUntilTheyAreDueUnlessTheWorkerDrains) {
  const std::vector<std::pair<nanoseconds, nanoseconds>> cases = {
      {seconds(9), milliseconds(50)},
      {milliseconds(20), milliseconds(20)},
      {nanoseconds(0), milliseconds(5)}};
  for (const auto& [delay, sent_after] : cases) {
    const WaitPtr wait = Polling("a", 7, kNow);
    LetLeave(*wait, kNow + delay);
    queue.Add(1, wait, kNow, false);
    EXPECT_EQ(queue.next_time(), kNow + sent_after);
    queue.Add(1, wait, kNow, true);
    EXPECT_EQ(queue.next_time(), kNow + milliseconds(5));
    const SettleQueue::Batch batch = queue.Take(1, kNow + milliseconds(5));
    ASSERT_THAT(batch.items, SizeIs(1));
    EXPECT_EQ(microseconds(batch.items[0].delay_us),
              std::max<nanoseconds>(delay - milliseconds(5), {}));
  }
}

TEST_F(SettleQueueTest, LaterWriteReplacesARenewal) {
  const WaitPtr wait = Polling("a", 7, kNow);
  queue.Add(0, wait, kNow, false);
  LetEnd(*wait);
  queue.Add(0, wait, kNow, false);
  const SettleQueue::Batch batch = queue.Take(0, kNow);
  ASSERT_THAT(batch.items, SizeIs(1));
  EXPECT_EQ(batch.items[0].action, SettleAction::kEndUnheard);
}

TEST_F(SettleQueueTest, WaitThatIsQueuedTwiceIsSentOnce) {
  const WaitPtr wait = Polling("a", 7, kNow);
  queue.Add(0, wait, kNow, false);
  queue.Add(0, wait, kNow, false);
  const SettleQueue::Batch batch = queue.Take(0, kNow);
  EXPECT_THAT(queue.OnReply(0, batch.sent, {.fence = 9}, kNow + kLease, kNow),
              IsEmpty());
  EXPECT_THAT(queue.Take(0, kNow).items, IsEmpty());
}

TEST_F(SettleQueueTest, FullBatchIsToBeTakenAndTheRestFollows) {
  std::vector<WaitPtr> waits;
  for (size_t i = 0; i < SettleQueue::kMaxBatch + 3; ++i) {
    waits.push_back(Polling(absl::StrCat("k", i), 7, kNow));
    EXPECT_EQ(queue.Add(0, waits.back(), kNow, false),
              i + 1 == SettleQueue::kMaxBatch);
  }
  EXPECT_THAT(queue.Take(0, kNow).items, SizeIs(SettleQueue::kMaxBatch));
  EXPECT_EQ(queue.Due(kNow), 0);
  EXPECT_THAT(queue.Take(0, kNow).items, SizeIs(3));
}

TEST_F(SettleQueueTest, WaitThatIsNotHeldIsReleased) {
  queue.AddRelease(0, {.key = "a", .fence = 7}, kNow + seconds(1), kNow);
  EXPECT_EQ(queue.next_time(), kNow + milliseconds(5));
  const SettleQueue::Batch batch = queue.Take(0, queue.next_time());
  ASSERT_THAT(batch.items, SizeIs(1));
  EXPECT_EQ(batch.items[0].fence, 7);
  EXPECT_EQ(batch.items[0].delay_us, 995'000);
  EXPECT_THAT(batch.sent, IsEmpty());
  EXPECT_THAT(queue.Take(0, kNow).items, IsEmpty());
}

TEST_F(SettleQueueTest, RenewalsAreDroppedAndOtherWritesAreNot) {
  const WaitPtr renewed = Polling("a", 7, kNow);
  const WaitPtr ended = Polling("b", 7, kNow);
  LetEnd(*ended);
  queue.Add(0, renewed, kNow, false);
  queue.Add(0, ended, kNow, false);
  queue.DropRenewals();
  LetLeave(*renewed, kNow);
  queue.Add(0, renewed, kNow, false);
  const SettleQueue::Batch batch = queue.Take(0, kNow);
  ASSERT_THAT(batch.items, SizeIs(2));
  EXPECT_EQ(batch.items[0].key, "b");
  EXPECT_EQ(batch.items[1].action, SettleAction::kRelease);
}

TEST_F(SettleQueueTest, WriteIsSentAgainWhileItsLeaseLasts) {
  for (const bool is_late : {false, true}) {
    const WaitPtr wait = Polling("a", 7, kNow);
    LetEnd(*wait);
    queue.Add(0, wait, kNow, false);
    const SettleQueue::Batch batch = queue.Take(0, kNow);
    const MonotonicTime now = kNow + (is_late ? kLease : seconds(1));
    const std::vector<SettleQueue::Outcome> outcomes =
        queue.OnError(0, batch.sent, now);
    if (is_late) {
      ASSERT_THAT(outcomes, SizeIs(1));
      EXPECT_EQ(outcomes[0].event, Event::kLose);
      EXPECT_EQ(queue.next_time(), MonotonicTime::max());
    } else {
      EXPECT_THAT(outcomes, IsEmpty());
      EXPECT_EQ(queue.next_time(), now + seconds(1));
      EXPECT_TRUE(wait->wants_write());
      EXPECT_THAT(queue.Take(0, now).items, SizeIs(1));
    }
  }
}

TEST_F(SettleQueueTest, RenewalsAndWritesOfLostWaitsAreNotSentAgain) {
  const WaitPtr renewed = Polling("a", 7, kNow);
  const WaitPtr lost = Polling("b", 7, kNow);
  LetEnd(*lost);
  queue.Add(0, renewed, kNow, false);
  queue.Add(0, lost, kNow, false);
  const SettleQueue::Batch batch = queue.Take(0, kNow);
  ASSERT_THAT(batch.sent, SizeIs(2));
  EXPECT_TRUE(lost->Apply(Event::kLose));
  EXPECT_THAT(queue.OnError(0, batch.sent, kNow + kLease), IsEmpty());
  EXPECT_FALSE(renewed->is_writing());
  EXPECT_THAT(queue.Take(0, kNow).items, IsEmpty());
}

// One partition of a store: applies writes that have the current fence.
class FakeStore {
 public:
  void Claim(const std::string& key, int64_t fence) { fences_[key] = fence; }

  SettleReply Settle(const std::vector<SettleItem>& items) {
    SettleReply reply = {.fence = last_fence_ += 2};
    for (const SettleItem& item : items) {
      const auto it = fences_.find(item.key);
      if (it == fences_.end() || it->second != item.fence) {
        reply.lost.push_back(item.key);
      } else if (item.action == SettleAction::kHold) {
        it->second = reply.fence;
      } else {
        fences_.erase(it);
        ++ends[item.key];
      }
    }
    return reply;
  }

  int64_t NextFence() { return last_fence_ += 2; }

  std::map<std::string, int> ends;  // Writes that ended a holding.

 private:
  std::map<std::string, int64_t> fences_;
  int64_t last_fence_ = 1;
};

// A worker with a store and a network that loses calls and replies, at random.
class QueueModel {
 public:
  explicit QueueModel(uint64_t seed) : gen_(seed) {
    queue_.Resize(1);
    for (int i = 0; i < 20; ++i) {
      const int64_t fence = store_.NextFence();
      waits_.push_back(Polling(absl::StrCat("k", i), fence, now_));
      store_.Claim(waits_.back()->key(), fence);
    }
  }

  void Step() {
    now_ += milliseconds(absl::Uniform(gen_, 0, 300));
    const WaitPtr& held = waits_[absl::Uniform<size_t>(gen_, 0, waits_.size())];
    LeasedWait& wait = *held;
    switch (absl::Uniform(gen_, 0, 5)) {
      case 0:
        if (wait.state() != State::kPolling) break;
        if (now_ >= wait.lease().end) {
          wait.Apply(Event::kLose);
          break;
        }
        LetEnd(wait);
        [[fallthrough]];
      case 1:
        if (!wait.is_lost()) queue_.Add(0, held, now_, false);
        break;
      case 2:
        if (!calls_.empty()) Answer(/*loses=*/absl::Bernoulli(gen_, 0.3));
        break;
      default:
        break;
    }
    Send();
  }

  // Checks that all writes are done once the network works.
  void ExpectRest() {
    for (int i = 0; i < 100; ++i) {
      while (!calls_.empty()) Answer(/*loses=*/false);
      now_ += seconds(1);
      Send();
    }
    for (const WaitPtr& wait : waits_) {
      EXPECT_FALSE(wait->is_writing() && !wait->is_lost()) << wait->key();
      EXPECT_FALSE(wait->wants_write() && !wait->is_lost()) << wait->key();
      EXPECT_NE(wait->state(), State::kEnding) << wait->key();
      EXPECT_LE(store_.ends[wait->key()], 1) << wait->key();
      if (wait->state() == State::kGone && !lost_.contains(wait->key())) {
        EXPECT_EQ(store_.ends[wait->key()], 1) << wait->key();
      }
    }
  }

 private:
  struct Call {
    SettleQueue::Batch batch;
    std::optional<SettleReply> reply;  // Unset if the call did not arrive.
    MonotonicTime sent;
  };

  void Send() {
    while (queue_.Due(now_).has_value()) {
      SettleQueue::Batch batch = queue_.Take(0, now_);
      if (batch.items.empty()) continue;
      std::set<std::string> keys;
      for (size_t i = 0; i < batch.items.size(); ++i) {
        const LeasedWait& wait = *batch.sent[i].wait;
        const SettleItem& item = batch.items[i];
        EXPECT_TRUE(keys.insert(item.key).second) << "twice in one call";
        EXPECT_EQ(item.fence, wait.lease().fence.value());
        EXPECT_FALSE(wait.is_lost());
        EXPECT_EQ(item.action, wait.write());
        for (const Call& call : calls_) {
          for (const SettleItem& other : call.batch.items) {
            EXPECT_NE(other.key, item.key) << "twice in flight";
          }
        }
      }
      Call call = {.batch = std::move(batch), .reply = {}, .sent = now_};
      if (absl::Bernoulli(gen_, 0.9)) {
        call.reply = store_.Settle(call.batch.items);
      }
      calls_.push_back(std::move(call));
    }
  }

  void Answer(bool loses) {
    const size_t i = absl::Uniform<size_t>(gen_, 0, calls_.size());
    Call call = std::move(calls_[i]);
    calls_.erase(calls_.begin() + static_cast<std::ptrdiff_t>(i));
    const std::vector<SettleQueue::Outcome> outcomes =
        call.reply.has_value() && !loses
            ? queue_.OnReply(0, call.batch.sent, *call.reply,
                             call.sent + kLease, now_)
            : queue_.OnError(0, call.batch.sent, now_);
    for (const auto& [wait, event, done] : outcomes) {
      EXPECT_EQ(done.has_value(), event != Event::kLose);
      if (event == Event::kLose) lost_.insert(wait->key());
      EXPECT_TRUE(wait->Apply(event));
    }
  }

  std::mt19937_64 gen_;
  SettleQueue queue_;
  FakeStore store_;
  MonotonicTime now_ = kNow;
  std::vector<WaitPtr> waits_;
  std::vector<Call> calls_;
  std::set<std::string> lost_;
};

TEST(SettleQueueModelTest, WritesAreFencedAndNoneIsDoneTwiceOrForgotten) {
  const uint64_t first_seed = FirstSeed();
  for (uint64_t seed = first_seed; seed < first_seed + 300; ++seed) {
    SCOPED_TRACE(testing::Message() << "WAITER_TEST_SEED=" << seed);
    QueueModel model(seed);
    for (int i = 0; i < 300 && !HasFailure(); ++i) model.Step();
    if (!HasFailure()) model.ExpectRest();
    if (HasFailure()) return;
  }
}

}  // namespace
}  // namespace waiter::internal::settle_queue_test
