// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// A limit on the calls of a `BatchPoller`.

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/functional/any_invocable.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "absl/types/span.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/support/batch_fixture.h"
#include "tests/support/first_seed.h"
#include "tests/support/joining_thread.h"
#include "tests/support/status_matchers.h"
#include "waiter/backoff.h"
#include "waiter/budgets.h"
#include "waiter/clock.h"
#include "waiter/engine/batch_poller.h"
#include "waiter/engine/engine.h"
#include "waiter/engine/handle.h"
#include "waiter/options.h"
#include "waiter/policy.h"
#include "waiter/poll.h"
#include "waiter/result.h"
#include "waiter/testing/simulated_clock.h"
#include "waiter/waiter.h"

namespace waiter::batch_rate_limiter_test {
namespace {

using ::absl::Milliseconds;
using ::absl::Seconds;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

using Keys = std::vector<std::string>;
using Answer = BatchAnswer<std::string, int>;
using Call = BatchedCall;
using Poller = BatchPoller<std::string, int>;
using Limiter = std::shared_ptr<AdaptiveRateLimiter>;
using Task = absl::AnyInvocable<void()>;

// Returns a limiter that allows `rate` polls per second from `now` on, and up
// to `burst` together after a pause. At first, it allows none.
Limiter MakeFixed(double rate, double burst, MonotonicTime now) {
  Limiter limiter = *AdaptiveRateLimiter::Make({.scale_constant = 1e-12,
                                                .min_fill_rate = rate,
                                                .min_capacity = burst,
                                                .growth_limit = 1});
  limiter->Update(now, PollStatus::kThrottled);
  return limiter;
}

class BatchRateLimiterTest : public BatchFixture {
 protected:
  // Allows one call per `interval`, the first after one interval.
  Limiter OneEach(absl::Duration interval) {
    return MakeFixed(1 / absl::ToDoubleSeconds(interval), 1,
                     clock_.MonotonicNow());
  }

  WaitOptions EverySecond(absl::Duration timeout = Seconds(1000)) {
    return EverySecondFor(timeout);
  }
  WaitOptions After(absl::Duration first_poll_delay) {
    WaitOptions options = EverySecond();
    options.polls.first_delay = first_poll_delay;
    return options;
  }

  using BatchFixture::Start;
  void Start(const std::string& key) { Start(key, EverySecond()); }

  absl::StatusOr<Answer> Serve(absl::Span<const std::string> keys) override {
    return answer_(keys);
  }

  static absl::StatusOr<Answer> AllReady(absl::Span<const std::string> keys) {
    return AnswerForAll<int>(keys, Success(7));
  }

  std::function<absl::StatusOr<Answer>(absl::Span<const std::string>)> answer_ =
      AllReady;
};

TEST_F(BatchRateLimiterTest, CallTakesOneTokenHoweverManyKeysItHolds) {
  Make({.rate_limiter = OneEach(Seconds(10))});
  for (const std::string key : {"a", "b", "c"}) Start(key);

  engine_->Run();

  EXPECT_THAT(calls_, ElementsAre(Call{Seconds(10), {"a", "b", "c"}}));
  EXPECT_EQ(results_.at("a").report().attempts, 1);
  EXPECT_EQ(results_.at("a").report().longest_poll, Seconds(10));
}

TEST_F(BatchRateLimiterTest, LimiterThatNeverThrottledLetsEveryCallPass) {
  const Limiter limiter = *AdaptiveRateLimiter::Make({});
  Make({.max_batch = 1, .rate_limiter = limiter});
  for (const std::string key : {"a", "b", "c"}) Start(key);

  engine_->Run();

  EXPECT_THAT(calls_,
              ElementsAre(Call{{}, {"a"}}, Call{{}, {"b"}}, Call{{}, {"c"}}));
  EXPECT_FALSE(limiter->State().limiting);
}

TEST_F(BatchRateLimiterTest, CallThatWaitsForItsTokenTakesFurtherKeysAlong) {
  Make({.max_batch = 3, .rate_limiter = OneEach(Seconds(10))});
  Start("a");
  Start("b", After(Seconds(4)));
  Start("c", After(Seconds(9)));
  Start("d", After(Seconds(9.5)));

  engine_->Run();

  EXPECT_THAT(calls_, ElementsAre(Call{Seconds(10), {"a", "b", "c"}},
                                  Call{Seconds(20), {"d"}}));
  EXPECT_EQ(results_.at("c").report().longest_poll, Seconds(1));
}

TEST_F(BatchRateLimiterTest, FullBatchesCallInTheOrderInWhichTheyWereDue) {
  Make({.max_batch = 2, .rate_limiter = OneEach(Seconds(10))});
  for (const std::string key : {"e", "d", "c", "b", "a"}) Start(key);

  engine_->Run();

  EXPECT_THAT(calls_, ElementsAre(Call{Seconds(10), {"d", "e"}},
                                  Call{Seconds(20), {"b", "c"}},
                                  Call{Seconds(30), {"a"}}));
}

TEST_F(BatchRateLimiterTest, TokenIsTakenWhenTheWindowIsOver) {
  Make({.window = Seconds(3), .rate_limiter = OneEach(Seconds(1))});
  Start("a");
  Start("b", After(Seconds(2)));
  Start("c", After(Seconds(3.5)));

  engine_->Run();

  EXPECT_THAT(calls_, ElementsAre(Call{Seconds(3), {"a", "b"}},
                                  Call{Seconds(6.5), {"c"}}));
}

TEST_F(BatchRateLimiterTest, KeyEndsAtItsDeadlineWhileItsCallWaits) {
  Make({.rate_limiter = OneEach(Seconds(100))});
  Start("a", EverySecond(Seconds(5)));
  Start("b");

  engine_->Run();

  EXPECT_EQ(ended_.at("a"), Seconds(5));
  EXPECT_EQ(results_.at("a").reason(), StopReason::kDeadline);
  EXPECT_EQ(results_.at("a").report().attempts, 0);
  EXPECT_EQ(results_.at("a").status().message(),
            "wait a: timeout of 5s reached after 0 attempts in 5s; attempt 1 "
            "has not answered");
  EXPECT_THAT(calls_, ElementsAre(Call{Seconds(100), {"b"}}));
}

TEST_F(BatchRateLimiterTest, PollAtTheDeadlineIsGivenTimeForItsToken) {
  Make({.rate_limiter = OneEach(Seconds(3))});
  WaitOptions patient = EverySecond(absl::ZeroDuration());
  patient.poll_timeout = Seconds(4);
  WaitOptions hurried = patient;
  hurried.poll_timeout = Seconds(2);
  Start("a", patient);
  Start("b", hurried);

  engine_->Run();

  EXPECT_THAT(calls_, ElementsAre(Call{Seconds(3), {"a"}}));
  EXPECT_TRUE(results_.at("a").ok());
  EXPECT_TRUE(results_.at("a").report().late);
  EXPECT_EQ(results_.at("b").reason(), StopReason::kDeadline);
  EXPECT_EQ(ended_.at("b"), Seconds(2));
}

TEST_F(BatchRateLimiterTest, CallUnderWayIsAwaitedBeyondTheDeadline) {
  QueueTasks();
  Make({.rate_limiter = OneEach(Seconds(1))});
  answer_ = [&](absl::Span<const std::string> keys) {
    clock_.AdvanceTime(Seconds(10));
    engine_->RunDue();
    EXPECT_THAT(results_, IsEmpty());
    return AllReady(keys);
  };
  Start("a", EverySecond(Seconds(5)));

  for (int i = 0; i < 20; ++i) {
    const MonotonicTime next = engine_->RunDue();
    if (!tasks_.empty()) {
      for (Task& task : std::exchange(tasks_, {})) task();
    } else if (next < MonotonicTime::max()) {
      clock_.AdvanceTime(absl::FromChrono(next - clock_.MonotonicNow()));
    }
  }

  EXPECT_TRUE(results_.at("a").ok());
  EXPECT_TRUE(results_.at("a").report().late);
  EXPECT_THAT(calls_, ElementsAre(Call{Seconds(1), {"a"}}));
}

TEST_F(BatchRateLimiterTest, StoppedKeysLeaveTheCallThatWaits) {
  Make({.rate_limiter = OneEach(Seconds(10))});
  for (const std::string key : {"a", "b", "c"}) Start(key);
  clock_.CallAt(Seconds(4), [&] {
    handles_.at("a").Cancel();
    handles_.erase("b");
  });

  engine_->Run();

  EXPECT_EQ(ended_.at("a"), Seconds(4));
  EXPECT_EQ(results_.at("a").reason(), StopReason::kCancelled);
  EXPECT_FALSE(results_.contains("b"));
  EXPECT_THAT(calls_, ElementsAre(Call{Seconds(10), {"c"}}));
}

// All keys end before the token would come, so no call takes it.
TEST_F(BatchRateLimiterTest, CallWhoseKeysHaveAllEndedTakesNoToken) {
  const Limiter limiter = OneEach(Seconds(1000));
  Make({.max_batch = 2, .rate_limiter = limiter});
  for (const std::string key : {"a", "b", "c", "d", "e"}) {
    Start(key, EverySecond(Seconds(20)));
  }
  clock_.CallAt(Seconds(4), [&] { handles_.at("c").Cancel(); });
  clock_.CallAt(Seconds(5), [&] { handles_.erase("d"); });
  clock_.CallAt(Seconds(6), [&] { handles_.at("a").Cancel(); });
  clock_.CallAt(Seconds(7), [&] { handles_.at("b").Cancel(); });

  engine_->Run();

  EXPECT_EQ(clock_.Elapsed(), Seconds(20));
  EXPECT_EQ(ended_.at("e"), Seconds(20));
  EXPECT_THAT(results_, SizeIs(4));
  EXPECT_THAT(calls_, IsEmpty());

  clock_.AdvanceTime(Seconds(1000));
  Start("f");
  engine_->Run();
  EXPECT_THAT(calls_, ElementsAre(Call{Seconds(1020), {"f"}}));
}

TEST_F(BatchRateLimiterTest, EmptiedCallMakesWayForTheNext) {
  Make({.max_batch = 1, .rate_limiter = OneEach(Seconds(10))});
  for (const std::string key : {"a", "b", "c", "d"}) Start(key);
  clock_.CallAt(Seconds(5), [&] { handles_.at("a").Cancel(); });
  clock_.CallAt(Seconds(6), [&] { handles_.at("c").Cancel(); });

  engine_->Run();

  EXPECT_THAT(calls_,
              ElementsAre(Call{Seconds(10), {"b"}}, Call{Seconds(20), {"d"}}));
}

TEST_F(BatchRateLimiterTest, KeyThatComesAfterAnEmptiedCallGetsOneOfItsOwn) {
  Make({.rate_limiter = OneEach(Seconds(10))});
  Start("a");
  clock_.CallAt(Seconds(5), [&] {
    handles_.at("a").Cancel();
    Start("b");
  });

  engine_->Run();

  EXPECT_TRUE(results_.at("b").ok());
  EXPECT_THAT(calls_, ElementsAre(Call{Seconds(10), {"b"}}));
}

TEST_F(BatchRateLimiterTest, ThrottledCallIsCountedOnce) {
  const Limiter limiter = *AdaptiveRateLimiter::Make({});
  Make({.rate_limiter = limiter});
  answer_ = [&](absl::Span<const std::string> keys) -> absl::StatusOr<Answer> {
    if (calls_.size() < 10) return AnswerForAll<int>(keys, NotReady());
    if (calls_.size() == 10) {
      EXPECT_FALSE(limiter->State().limiting);
      return absl::ResourceExhaustedError("slow down");
    }
    return AllReady(keys);
  };
  for (int i = 0; i < 50; ++i) Start(absl::StrCat("key ", i));

  while (calls_.size() < 10) {
    clock_.AdvanceTime(
        absl::FromChrono(engine_->RunDue() - clock_.MonotonicNow()));
  }

  // One call each second, of 50 keys.
  EXPECT_TRUE(limiter->State().limiting);
  EXPECT_NEAR(limiter->State().measured_rate, 1, 0.2);
  EXPECT_NEAR(limiter->State().fill_rate, 0.7, 0.2);
  engine_->Run();
  EXPECT_THAT(results_, SizeIs(50));
  EXPECT_THAT(calls_, SizeIs(11));
}

TEST_F(BatchRateLimiterTest, CallThatThrottlesOneOfItsKeysIsThrottled) {
  struct Case {
    absl::StatusOr<Answer> answer;
    bool limits;
  };
  const absl::Status slow_down = absl::ResourceExhaustedError("slow down");
  const absl::Status limit_of_another_wait =
      Waiter([] { return false; }, {.timeout = Seconds(1), .max_attempts = 1})
          .Wait()
          .status();
  ASSERT_TRUE(absl::IsResourceExhausted(limit_of_another_wait));
  for (const Case& c : {
           Case{slow_down, true},
           Case{absl::UnavailableError("reset"), false},
           Case{limit_of_another_wait, false},
           Case{Answer{{"a", Success(1)}, {"b", Throttled()}}, true},
           Case{Answer{{"a", ServerError()}, {"b", NotReady()}}, false},
           Case{Answer{{"a", Success(1)}, {"unknown", Throttled()}}, false},
       }) {
    const Limiter limiter = *AdaptiveRateLimiter::Make({});
    Make({.rate_limiter = limiter});
    calls_.clear();
    results_.clear();
    answer_ = [&](absl::Span<const std::string> keys) {
      return calls_.size() == 1 ? c.answer : AllReady(keys);
    };
    Start("a");
    Start("b");

    engine_->Run();

    EXPECT_EQ(limiter->State().limiting, c.limits)
        << testing::PrintToString(c.answer.status());
  }
}

// A server that throttles says when to come back. The keys of the call do so,
// and only the limiter holds back other keys.
TEST_F(BatchRateLimiterTest, HintOfAWholeCallIsForItsKeys) {
  const Limiter limiter = *AdaptiveRateLimiter::Make({.min_fill_rate = 0.25});
  Make({.rate_limiter = limiter});
  answer_ = [&](absl::Span<const std::string> keys) -> absl::StatusOr<Answer> {
    if (calls_.size() > 1) return AllReady(keys);
    return AnswerForAll<int>(keys, Throttled("429", Seconds(30)));
  };
  WaitOptions options = EverySecond();
  options.errors.retry_after.rule = RetryAfterOptions::Rule::kReplace;
  Start("a", options);
  Start("b", options);
  options.polls.first_delay = Seconds(1);
  Start("c", options);

  engine_->Run();

  EXPECT_THAT(calls_, ElementsAre(Call{{}, {"a", "b"}}, Call{Seconds(4), {"c"}},
                                  Call{Seconds(30), {"a", "b"}}));
  EXPECT_EQ(results_.at("a").report().count(PollStatus::kThrottled), 1);
}

TEST_F(BatchRateLimiterTest, LimitsOfAWaitHoldAsWell) {
  Make({.rate_limiter = OneEach(Seconds(2))});
  answer_ = [](absl::Span<const std::string> keys) {
    return AnswerForAll<int>(keys, NotReady());
  };
  WaitOptions options = EverySecond();
  options.max_attempts = 3;
  Start("attempts", options);
  options = EverySecond();
  options.budgets.rate_limiter = OneEach(Seconds(7));
  options.max_attempts = 2;
  Start("limiter", options);

  engine_->Run();

  EXPECT_THAT(calls_, ElementsAre(Call{Seconds(2), {"attempts"}},
                                  Call{Seconds(4), {"attempts"}},
                                  Call{Seconds(6), {"attempts"}},
                                  Call{Seconds(8), {"limiter"}},
                                  Call{Seconds(14), {"limiter"}}));
  EXPECT_EQ(results_.at("attempts").reason(), StopReason::kAttempts);
  EXPECT_EQ(results_.at("limiter").reason(), StopReason::kAttempts);
}

TEST_F(BatchRateLimiterTest, LimiterThatWouldCountKeysTooIsReported) {
  Make({.rate_limiter = OneEach(Seconds(2))});
  WaitOptions options = EverySecond();
  const Limiter shared = OneEach(Seconds(2));
  Make({.rate_limiter = shared});
  options.budgets.rate_limiter = shared;
  Start("a", options);

  engine_->Run();

  EXPECT_THAT(results_.at("a").status(),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("would count both keys and calls")));
  EXPECT_THAT(calls_, IsEmpty());
}

TEST_F(BatchRateLimiterTest, DestroyedPollerEndsKeysWhoseCallsWait) {
  Make({.max_batch = 1, .rate_limiter = OneEach(Seconds(100))});
  for (const std::string key : {"a", "b", "c"}) Start(key);
  clock_.CallAt(Seconds(5), [&] { poller_.reset(); });

  engine_->Run();

  EXPECT_EQ(clock_.Elapsed(), Seconds(5));
  EXPECT_THAT(calls_, IsEmpty());
  for (const std::string key : {"a", "b", "c"}) {
    EXPECT_THAT(results_.at(key).status(),
                StatusIs(absl::StatusCode::kCancelled, HasSubstr("destroyed")));
  }
}

TEST_F(BatchRateLimiterTest, DestroyedEngineEndsKeysWhoseCallsWait) {
  Make({.max_batch = 1, .rate_limiter = OneEach(Seconds(100))});
  for (int i = 0; i < 100; ++i) Start(absl::StrCat("key ", i));
  for (int i = 0; i < 5; ++i) engine_->RunDue();

  engine_.reset();

  EXPECT_THAT(calls_, IsEmpty());
  EXPECT_THAT(results_, SizeIs(100));
  for (const auto& [key, result] : results_) {
    EXPECT_EQ(result.reason(), StopReason::kShutDown) << key;
  }
}

TEST_F(BatchRateLimiterTest, CallThatTheExecutorLostMakesWayForTheNext) {
  int tasks = 0;
  UseExecutor([&](Task task) {
    // Drops the first alarm's second try.
    if (++tasks != 4) task();
  });
  Make({.max_batch = 1, .rate_limiter = OneEach(Seconds(10))});
  for (const std::string key : {"a", "b", "c"}) Start(key);

  engine_->Run();

  EXPECT_THAT(calls_,
              ElementsAre(Call{Seconds(10), {"b"}}, Call{Seconds(20), {"c"}},
                          Call{Seconds(30), {"a"}}));
  EXPECT_EQ(results_.at("a").report().count(PollStatus::kServerError), 1);
}

TEST_F(BatchRateLimiterTest, CallMayDestroyThePollerWhileOthersWait) {
  Make({.max_batch = 1, .rate_limiter = OneEach(Seconds(10))});
  answer_ = [&](absl::Span<const std::string> keys) {
    poller_.reset();
    return AllReady(keys);
  };
  for (const std::string key : {"a", "b", "c"}) Start(key);

  engine_->Run();

  EXPECT_THAT(calls_, SizeIs(1));
  EXPECT_TRUE(results_.at("a").ok());
  EXPECT_THAT(results_.at("b").status(),
              StatusIs(absl::StatusCode::kCancelled));
  EXPECT_THAT(results_.at("c").status(),
              StatusIs(absl::StatusCode::kCancelled));
}

TEST_F(BatchRateLimiterTest, CallsOfOnePollerMayBeUnderWayAtTheSameTime) {
  QueueTasks();
  Make({.max_batch = 1, .rate_limiter = *AdaptiveRateLimiter::Make({})});
  const auto run = [&] {
    engine_->RunDue();
    while (!tasks_.empty()) {
      Task task = std::move(tasks_.back());
      tasks_.pop_back();
      task();
    }
  };
  int under_way = 0;
  int most = 0;
  answer_ = [&](absl::Span<const std::string> keys) {
    most = std::max(most, ++under_way);
    run();
    --under_way;
    return AllReady(keys);
  };
  for (const std::string key : {"a", "b", "c"}) Start(key);

  while (results_.size() < 3) run();
  run();

  EXPECT_EQ(most, 3);
}

// Pollers of many keys that are never ready. The limiter allows far fewer calls
// than they would make.
TEST_F(BatchRateLimiterTest, PollersThatShareALimiterAllGetOn) {
  const Limiter limiter = OneEach(Seconds(10));
  const auto policy = WaitPolicy::Make(EverySecond(Seconds(10'000)));
  std::map<int, int> calls_of;
  std::map<int, std::map<int, int>> polls_of;
  std::vector<std::unique_ptr<BatchPoller<int>>> pollers;
  for (const int poller : {0, 1, 2}) {
    pollers.push_back(std::make_unique<BatchPoller<int>>(
        *engine_,
        [&, poller](absl::Span<const int> keys) {
          ++calls_of[poller];
          for (const int key : keys) ++polls_of[poller][key];
          return AnswerForAll(keys, NotReady());
        },
        BatchOptions{.max_batch = 4, .rate_limiter = limiter}));
    for (int key = 0; key < 20; ++key) {
      pollers.back()->Start(key, policy, [](const WaitResult<>&) {}).Detach();
    }
  }

  engine_->Run();

  // 1000 tokens for 3 pollers of 5 batches each: 66 for each batch.
  for (const int poller : {0, 1, 2}) {
    EXPECT_GE(calls_of[poller], 250) << poller;
    ASSERT_THAT(polls_of[poller], SizeIs(20));
    for (const auto& [key, polls] : polls_of[poller]) {
      EXPECT_GE(polls, 40) << poller << " " << key;
    }
  }
}

// Random waits for keys of a few pollers that share a limiter.
class RandomCalls {
 public:
  explicit RandomCalls(uint64_t seed) : gen_(seed) {
    rate_ = 0.2 + static_cast<double>(gen_() % 100) / 10;
    burst_ = 1 + static_cast<double>(gen_() % 5);
    limiter_ = MakeFixed(rate_, burst_, clock_.MonotonicNow());
    if (gen_() % 2 == 0) {
      engine_.emplace(WaitEngineOptions{
          .threads = 0, .tick = Time(Milliseconds(100)), .clock = &clock_});
    } else {
      engine_.emplace(WaitEngineOptions{
          .threads = 0, .tick = absl::ZeroDuration(), .clock = &clock_});
    }
    const uint64_t pollers = 1 + gen_() % 3;
    for (uint64_t i = 0; i < pollers; ++i) AddPoller();
    const uint64_t waits = gen_() % 300;
    for (uint64_t i = 0; i < waits; ++i) {
      clock_.CallAt(Time(Seconds(60)), [this] { StartOne(); });
    }
    // Keeps the engine running until all have started.
    engine_
        ->Start(Waiter([this] { return clock_.Elapsed() > Seconds(60); },
                       {.timeout = absl::Minutes(2), .clock = &clock_}),
                [](const WaitResult<>&) {})
        .Detach();
    engine_->Run();
    handles_.clear();
  }

  // Returns an error, or nothing.
  std::string Broken() const {
    if (!broken_.empty()) return broken_;
    if (ended_ + dropped_ != started_) {
      return absl::StrCat(started_, " waits started, ", ended_, " ended");
    }
    for (size_t i = 0; i < calls_.size(); ++i) {
      for (size_t j = i; j < calls_.size(); ++j) {
        const double allowed =
            burst_ + rate_ * absl::ToDoubleSeconds(calls_[j] - calls_[i]);
        if (static_cast<double>(j - i + 1) > allowed + 1e-6) {
          return absl::StrCat(
              j - i + 1, " calls from ", absl::FormatDuration(calls_[i]),
              " to ", absl::FormatDuration(calls_[j]), ", not ", allowed);
        }
      }
    }
    return "";
  }
  size_t calls() const { return calls_.size(); }

 private:
  absl::Duration Time(absl::Duration longest) {
    return longest * (static_cast<double>(gen_() % 1000 + 1) / 1000);
  }

  void AddPoller() {
    const auto max_batch = static_cast<int64_t>(1 + gen_() % 20);
    const absl::Duration window =
        gen_() % 2 == 0 ? absl::ZeroDuration() : Time(Seconds(3));
    pollers_.push_back(std::make_unique<BatchPoller<int>>(
        *engine_,
        [this, max_batch](absl::Span<const int> keys) {
          return PollKeys(keys, max_batch);
        },
        BatchOptions{.max_batch = max_batch,
                     .window = window,
                     .rate_limiter = limiter_}));
    pending_.emplace_back();
  }

  absl::StatusOr<BatchAnswer<int>> PollKeys(absl::Span<const int> keys,
                                            int64_t max_batch) {
    calls_.push_back(clock_.Elapsed());
    const std::set<int> distinct(keys.begin(), keys.end());
    if (keys.empty() || distinct.size() != keys.size() ||
        keys.size() > static_cast<size_t>(max_batch)) {
      broken_ = absl::StrCat("a call of ", keys.size(), " keys");
    }
    for (const int key : keys) {
      const std::multiset<int>& pending =
          pending_[static_cast<size_t>(key) % pollers_.size()];
      if (!pending.contains(key)) broken_ = "a call for a key without a wait";
    }
    if (gen_() % 8 == 0) return absl::UnavailableError("reset");
    if (gen_() % 8 == 0) clock_.AdvanceTime(Time(Seconds(2)));
    BatchAnswer<int> answer;
    for (const int key : keys) {
      if (gen_() % 3 == 0) answer.emplace(key, Success());
    }
    return answer;
  }

  void StartOne() {
    const size_t poller = gen_() % pollers_.size();
    const int key = static_cast<int>(gen_() % 40 * pollers_.size() + poller);
    WaitOptions options = {
        .timeout = Time(Seconds(gen_() % 2 == 0 ? 10 : 1000)),
        .backoff = {.initial_delay = Time(Seconds(2))},
        .clock = &clock_};
    if (gen_() % 4 == 0) options.timeout = absl::ZeroDuration();
    const uint64_t id = ++started_;
    pending_[poller].insert(key);
    handles_[id] = pollers_[poller]->Start(
        key, std::move(options), [this, poller, key](const WaitResult<>&) {
          ++ended_;
          pending_[poller].extract(key);
        });
    const uint64_t fate = gen_() % 6;
    if (fate == 0) {
      clock_.CallAt(clock_.Elapsed() + Time(Seconds(20)),
                    [this, id] { handles_[id].Cancel(); });
    } else if (fate == 1) {
      clock_.CallAt(clock_.Elapsed() + Time(Seconds(20)),
                    [this, id, poller, key] {
                      if (!handles_[id].pending()) return;
                      handles_.erase(id);
                      ++dropped_;
                      pending_[poller].extract(key);
                    });
    }
  }

  SplitMix64 gen_;
  double rate_;
  double burst_;
  SimulatedClock clock_;
  Limiter limiter_;
  std::optional<WaitEngine> engine_;
  std::vector<std::unique_ptr<BatchPoller<int>>> pollers_;
  std::vector<std::multiset<int>> pending_;  // Keys with waits, by poller.
  std::map<uint64_t, WaitHandle> handles_;
  std::vector<absl::Duration> calls_;
  uint64_t started_ = 0;
  uint64_t ended_ = 0;
  uint64_t dropped_ = 0;
  std::string broken_;
};

TEST(BatchRateLimiterPropertyTest, CallsNeverExceedTheLimitAndEveryWaitEnds) {
  const uint64_t first = FirstSeed();
  size_t calls = 0;
  for (uint64_t seed = first; seed < first + 60; ++seed) {
    const RandomCalls random(seed);
    ASSERT_EQ(random.Broken(), "") << "WAITER_TEST_SEED=" << seed;
    calls += random.calls();
  }
  EXPECT_GT(calls, 60);
}

// A batch is in line behind at most the other batches of its poller.
TEST(BatchRateLimiterPropertyTest, NoKeyWaitsForMoreThanTheBatchesBeforeIt) {
  const uint64_t first = FirstSeed();
  for (uint64_t seed = first; seed < first + 10; ++seed) {
    SplitMix64 gen(seed);
    SimulatedClock clock;
    WaitEngine engine(
        {.threads = 0, .tick = absl::ZeroDuration(), .clock = &clock});
    const int keys = static_cast<int>(10 + gen() % 90);
    const int max_batch = static_cast<int>(1 + gen() % 10);
    BatchPoller<int> poller(
        engine,
        [](absl::Span<const int> call) {
          return AnswerForAll(call, NotReady());
        },
        {.max_batch = max_batch,
         .rate_limiter = MakeFixed(1, 1, clock.MonotonicNow())});
    const auto policy = WaitPolicy::Make({.timeout = Seconds(500),
                                          .backoff = {.max_delay = Seconds(2)},
                                          .clock = &clock});
    absl::Duration longest;
    for (int key = 0; key < keys; ++key) {
      poller
          .Start(key, policy,
                 [&](const WaitResult<>& result) {
                   longest = std::max(longest, result.report().longest_poll);
                 })
          .Detach();
    }
    engine.Run();

    const int batches = keys / max_batch + 1;
    EXPECT_LE(longest, Seconds(batches + 1))
        << keys << " keys in calls of " << max_batch
        << ", WAITER_TEST_SEED=" << seed;
  }
}

using BatchRateLimiterThreadsTest = BatchThreadsFixture;

TEST_P(BatchRateLimiterThreadsTest, ManyThreadsMayAddAndRemoveKeys) {
  constexpr double kRate = 2000;
  constexpr double kBurst = 5;
  Clock& clock = GetRealClock();
  const MonotonicTime start = clock.MonotonicNow();
  {
    WaitEngine engine(Options());
    const Limiter limiter = MakeFixed(kRate, kBurst, start);
    const auto first = MakePoller(engine, {.rate_limiter = limiter});
    auto second = MakePoller(
        engine, {.window = Milliseconds(1), .rate_limiter = limiter});
    std::vector<JoiningThread> threads;
    for (uint64_t seed = 0; seed < 3; ++seed) {
      threads.emplace_back([&, seed] {
        StartAndDestroy({first.get(), second.get()}, seed);
      });
    }
    threads.clear();
    AwaitKept();
    second.reset();  // The other one ends with its keys in progress.
  }
  const double seconds =
      absl::ToDoubleSeconds(absl::FromChrono(clock.MonotonicNow() - start));
  EXPECT_EQ(ended_, kept_);
  EXPECT_FALSE(repeated_);
  EXPECT_LE(calls_, kBurst + kRate * seconds);
}

INSTANTIATE_TEST_SUITE_P(OnEngineAndExecutor, BatchRateLimiterThreadsTest,
                         testing::Bool());

}  // namespace
}  // namespace waiter::batch_rate_limiter_test
