// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// Destroys a `BatchPoller` at every moment of its calls.

#include <atomic>
#include <chrono>
#include <functional>
#include <future>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/functional/any_invocable.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "absl/types/span.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/support/batch_fixture.h"
#include "tests/support/joining_thread.h"
#include "tests/support/status_matchers.h"
#include "waiter/backoff.h"
#include "waiter/budgets.h"
#include "waiter/clock.h"
#include "waiter/engine/async_waiter.h"
#include "waiter/engine/batch_poller.h"
#include "waiter/engine/engine.h"
#include "waiter/engine/handle.h"
#include "waiter/options.h"
#include "waiter/policy.h"
#include "waiter/poll.h"
#include "waiter/result.h"
#include "waiter/token.h"

namespace waiter::batch_poller_promises_test {
namespace {

using ::testing::IsEmpty;
using ::testing::SizeIs;
using Keys = absl::Span<const std::string>;
using Answer = BatchAnswer<std::string, int>;

class BatchEndTest : public BatchFixture {
 protected:
  absl::StatusOr<Answer> Serve(Keys /*keys*/) override {
    if (on_call_ != nullptr) on_call_();
    return Answer();
  }
  void Start(const std::string& key, absl::Duration delay = {}) {
    WaitOptions options = EverySecondFor(absl::Seconds(100));
    options.polls.first_delay = delay;
    BatchFixture::Start(key, std::move(options));
  }
  void ExpectCancelled(const std::string& key) {
    ASSERT_TRUE(results_.contains(key)) << key;
    EXPECT_EQ(results_.at(key).reason(), StopReason::kFailed);
    EXPECT_THAT(results_.at(key).status(),
                StatusIs(absl::StatusCode::kCancelled));
  }

  std::function<void()> on_call_;
};

// Delays every call by an hour.
class Closed : public RateLimiter {
 public:
  MonotonicTime Acquire(MonotonicTime now) override {
    return now + std::chrono::hours(1);
  }
  void Update(MonotonicTime /*now*/, PollStatus /*status*/) override {}
  std::optional<double> Rate() const override { return 0; }
  std::shared_ptr<RateLimiter> MakeAlike() const override {
    return std::make_shared<Closed>();
  }
};

TEST_F(BatchEndTest, KeysThatALimiterHoldsUpAreCancelled) {
  Make({.max_batch = 1, .rate_limiter = std::make_shared<Closed>()});
  Start("a");
  Start("b");
  Start("asleep", absl::Seconds(5));
  clock_.CallAt(absl::Seconds(2), [&] { poller_.reset(); });

  engine_->Run();

  for (const char* const key : {"a", "b", "asleep"}) ExpectCancelled(key);
  EXPECT_EQ(ended_.at("a"), absl::Seconds(2));
  EXPECT_EQ(ended_.at("asleep"), absl::Seconds(5));
  EXPECT_THAT(calls_, IsEmpty());
}

TEST_F(BatchEndTest, CallbackOfAKeyMayDestroyThePoller) {
  Make({.max_batch = 1});
  handles_["a"] =
      poller_->Start("a", EverySecondFor(absl::ZeroDuration()),
                     [this](const WaitResult<int>&) { poller_.reset(); });
  Start("b", absl::Seconds(1));

  engine_->Run();

  EXPECT_FALSE(poller_.has_value());
  ExpectCancelled("b");
  EXPECT_THAT(calls_, SizeIs(1));
}

TEST_F(BatchEndTest, CallMayDestroyTheHandlesOfItsKeys) {
  Make({.max_batch = 2});
  on_call_ = [this] { handles_.clear(); };
  Start("a");
  Start("b");

  engine_->Run();

  EXPECT_THAT(results_, IsEmpty());
  EXPECT_THAT(calls_, SizeIs(1));
}

TEST_F(BatchEndTest, CallMayDestroyThePollerAndItsKeys) {
  Make({.max_batch = 2});
  on_call_ = [this] {
    poller_.reset();
    handles_.clear();
  };
  Start("a");
  Start("b");
  Start("c");

  engine_->Run();

  EXPECT_THAT(results_, IsEmpty());
  EXPECT_THAT(calls_, SizeIs(1));
}

TEST_F(BatchEndTest, PreparedWaitOutlivesThePoller) {
  Make();
  AsyncWaiter key = poller_->Prepare(
      "a", WaitPolicy::Make(EverySecondFor(absl::Seconds(100))));
  poller_.reset();

  handles_["a"] = engine_->Start(std::move(key), Take("a"));
  engine_->Run();

  ExpectCancelled("a");
}

TEST_F(BatchEndTest, KeyGoesOnFromATokenUnderTheNameThatItHas) {
  Make();
  std::vector<WaitToken> tokens;
  WaitOptions options = EverySecondFor(absl::Seconds(100));
  options.name = "instance";
  options.hooks.on_checkpoint = [&](const WaitToken& token) {
    tokens.push_back(token);
    handles_.clear();
  };
  BatchFixture::Start("i-0abc", options);
  engine_->Run();
  ASSERT_THAT(tokens, SizeIs(1));
  EXPECT_EQ(tokens[0].name(), "instance i-0abc");

  options.name = tokens[0].name();
  options.hooks.on_checkpoint = nullptr;
  options.max_attempts = 3;
  handles_["again"] =
      engine_->Start(poller_->Prepare("i-0abc", WaitPolicy::Make(options)),
                     Take("again"), {.resume = tokens[0]});
  engine_->Run();
  EXPECT_EQ(results_.at("again").reason(), StopReason::kAttempts);
  EXPECT_THAT(calls_, SizeIs(3));
}

// With threads.

WaitOptions Quick() {
  return {.timeout = absl::Minutes(5),
          .backoff = {.initial_delay = absl::Milliseconds(1),
                      .multiplier = 1,
                      .jitter = Jitter::None()}};
}

TEST(BatchEndThreadTest, DestructorAwaitsTheCallsUnderWay) {
  for (const bool on_executor : {false, true}) {
    std::vector<JoiningThread> pool;
    std::mutex mutex;
    WaitEngineOptions engine_options = {.threads = 2};
    if (on_executor) {
      engine_options.executor = [&](absl::AnyInvocable<void()> poll) {
        const std::lock_guard lock(mutex);
        pool.emplace_back([run = std::make_shared<absl::AnyInvocable<void()>>(
                               std::move(poll))] { (*run)(); });
      };
    }
    std::atomic<int> under_way = 0;
    std::atomic<bool> destroyed = false;
    std::promise<void> begun;
    std::atomic<int> calls = 0;
    std::atomic<int> ended = 0;
    {
      WaitEngine engine(engine_options);
      std::optional<BatchPoller<std::string, int>> poller;
      poller.emplace(
          engine,
          [&](Keys) -> absl::StatusOr<Answer> {
            EXPECT_FALSE(destroyed);
            ++under_way;
            if (++calls == 2) begun.set_value();
            std::this_thread::sleep_for(std::chrono::milliseconds(30));
            EXPECT_FALSE(destroyed);
            --under_way;
            return Answer();
          },
          BatchOptions{.max_batch = 1});
      std::vector<WaitHandle> waits;
      for (const char* const key : {"a", "b", "c", "d"}) {
        waits.push_back(
            poller->Start(key, Quick(), [&](const WaitResult<int>& result) {
              EXPECT_EQ(result.status().code(), absl::StatusCode::kCancelled);
              ++ended;
            }));
      }
      begun.get_future().get();

      poller.reset();

      EXPECT_EQ(under_way, 0);
      destroyed = true;
      while (ended < 4) std::this_thread::yield();
    }
  }
}

TEST(BatchEndThreadTest, CallThatDestroysThePollerAwaitsTheOthers) {
  WaitEngine engine({.threads = 2});
  std::optional<BatchPoller<std::string, int>> poller;
  std::promise<void> second_began;
  std::atomic<bool> second_ended = false;
  std::atomic<int> calls = 0;
  std::atomic<int> ended = 0;
  poller.emplace(
      engine,
      [&](Keys) -> absl::StatusOr<Answer> {
        switch (++calls) {
          case 1:
            second_began.get_future().wait();
            poller.reset();
            EXPECT_TRUE(second_ended);
            break;
          case 2:
            second_began.set_value();
            std::this_thread::sleep_for(std::chrono::milliseconds(30));
            second_ended = true;
            break;
          default:
            ADD_FAILURE() << "a call after the end";
        }
        return Answer();
      },
      BatchOptions{.max_batch = 1});
  std::vector<WaitHandle> waits;
  for (const char* const key : {"a", "b"}) {
    waits.push_back(
        poller->Start(key, Quick(), [&](const WaitResult<int>&) { ++ended; }));
  }
  while (ended < 2) std::this_thread::yield();
  EXPECT_EQ(calls, 2);
}

}  // namespace
}  // namespace waiter::batch_poller_promises_test
