// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// Promises of token.h and of `WaitHooks::on_checkpoint`, on every driver that
// can resume a wait.

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "absl/functional/any_invocable.h"
#include "absl/random/bit_gen_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/support/crc32c.h"
#include "tests/support/engine_fixture.h"
#include "tests/support/joining_thread.h"
#include "tests/support/status_matchers.h"
#include "tests/support/unowned.h"
#include "waiter/backoff.h"
#include "waiter/budgets.h"
#include "waiter/clock.h"
#include "waiter/delay_source.h"
#include "waiter/engine/async_waiter.h"
#include "waiter/engine/engine.h"
#include "waiter/engine/handle.h"
#include "waiter/observer.h"
#include "waiter/options.h"
#include "waiter/policy.h"
#include "waiter/poll.h"
#include "waiter/result.h"
#include "waiter/stop_token.h"
#include "waiter/testing/simulated_clock.h"
#include "waiter/token.h"
#include "waiter/waiter.h"

namespace waiter::resume_promises_test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

enum class Driver { kBlocking, kFull, kLean, kExecutor, kAsync };

std::string NameOf(Driver driver) {
  switch (driver) {
    case Driver::kBlocking:
      return "Blocking";
    case Driver::kFull:
      return "Full";
    case Driver::kLean:
      return "Lean";
    case Driver::kExecutor:
      return "Executor";
    case Driver::kAsync:
      return "Async";
  }
  return "";
}

using Function = std::function<Poll<>(const PollContext&)>;
using AsyncFunction =
    std::function<void(const PollContext&, const PollCompletion<>&)>;

// Records the lengths of sleeps.
class Sleeps : public WaitObserver {
 public:
  void BeforeSleep(const SleepEvent& sleep) override {
    lengths.push_back(sleep.delay);
    reasons.push_back(sleep.reason);
  }

  std::vector<absl::Duration> lengths;
  std::vector<SleepReason> reasons;
};

class CheckpointTest : public testing::TestWithParam<Driver> {
 protected:
  WaitOptions Options() {
    return {.name = "job 7",
            .timeout = absl::Seconds(100),
            .backoff = Every(absl::Seconds(2)),
            .errors = {.server_error_backoff = Every(absl::Seconds(3)),
                       .throttled_backoff = Every(absl::Seconds(4))},
            .clock = &clock_};
  }

  // Options whose tokens are collected. `act` runs at each.
  WaitOptions Saving(std::function<void()> act = nullptr) {
    WaitOptions options = Options();
    Save(options, std::move(act));
    return options;
  }
  void Save(WaitOptions& options, std::function<void()> act = nullptr) {
    options.hooks.on_checkpoint =
        [this, act = std::move(act)](const WaitToken& token) {
          tokens_.push_back(token);
          if (act != nullptr) act();
        };
  }

  // Runs a wait to its end, from `token` if that is not empty.
  WaitResult<> Run(Function poll, const WaitOptions& options,
                   const WaitToken& token = {}) {
    return Run(std::move(poll), WaitPolicy::Make(options), token);
  }
  WaitResult<> Run(Function poll, std::shared_ptr<const WaitPolicy> policy,
                   const WaitToken& token = {}) {
    if (GetParam() == Driver::kBlocking) {
      stop_ = waiter::stop_source();
      Waiter wait(std::move(poll), std::move(policy));
      return token.empty()
                 ? wait.Wait(
                       {.stop = stop_.get_token(), .notifier = &notifier_})
                 : wait.Wait({.stop = stop_.get_token(), .resume = token});
    }
    Begin(std::move(poll), std::move(policy), token);
    engine_->Run();
    return std::move(result_).value();
  }

  // Starts a wait on an engine.
  void Begin(Function poll, std::shared_ptr<const WaitPolicy> policy,
             const WaitToken& token = {}) {
    const auto take = [this](WaitResult<> result) {
      result_ = std::move(result);
    };
    result_.reset();
    MakeEngine();
    if (GetParam() == Driver::kAsync) {
      handle_ = engine_->Start(
          AsyncWaiter(AsyncFunction([poll = std::move(poll)](
                                        const PollContext& context,
                                        const PollCompletion<>& done) {
                        done(poll(context));
                      }),
                      std::move(policy)),
          take, {.resume = token});
      return;
    }
    handle_ = engine_->Start(Waiter(std::move(poll), std::move(policy)), take,
                             {.resume = token});
  }

  void MakeEngine() {
    if (engine_.has_value()) return;
    WaitEngineOptions options = {.threads = 0,
                                 .tick = absl::ZeroDuration(),
                                 .report = GetParam() == Driver::kLean
                                               ? ReportLevel::kLean
                                               : ReportLevel::kFull,
                                 .clock = &clock_};
    if (GetParam() == Driver::kExecutor) {
      options.executor = [](absl::AnyInvocable<void()> poll) { poll(); };
    }
    engine_.emplace(options);
  }

  void RequestStop() {
    if (GetParam() == Driver::kBlocking) {
      stop_.request_stop();
    } else {
      handle_.Cancel();
    }
  }
  void PollNow() {
    if (GetParam() == Driver::kBlocking) {
      notifier_.PollNow();
    } else {
      handle_.PollNow();
    }
  }

  // Returns the token of the sleep after `polls` polls that found `found`.
  static WaitToken TokenAfter(int polls, WaitOptions options,
                              const Poll<>& found = NotReady()) {
    waiter::stop_source stop;
    std::optional<WaitToken> last;
    options.hooks.on_checkpoint = [&](const WaitToken& token) {
      last = token;
      if (polls == 0) stop.request_stop();
    };
    options.hooks.observer = nullptr;
    (void)Waiter(
        [&] {
          --polls;
          return found;
        },
        options)
        .Wait(stop.get_token());
    EXPECT_TRUE(last.has_value());
    return last.value_or(WaitToken());
  }

  // Answers with the steps, at recorded times.
  Function Script(std::vector<Poll<>> steps) {
    return [this, steps = std::move(steps)](const PollContext& context) {
      contexts_.push_back(context);
      polled_at_.push_back(clock_.Elapsed());
      return steps[std::min(polled_at_.size(), steps.size()) - 1];
    };
  }

  SimulatedClock clock_;
  std::vector<WaitToken> tokens_;
  std::vector<absl::Duration> polled_at_;
  std::vector<PollContext> contexts_;
  PollNotifier notifier_;
  waiter::stop_source stop_;
  std::optional<WaitResult<>> result_;
  std::optional<WaitEngine> engine_;
  WaitHandle handle_;
};

// One cause of a sleep.
struct SleepCase {
  std::string_view name;
  SleepReason reason;
  std::vector<Poll<>> steps;
  std::function<void(WaitOptions&)> set;
};

std::vector<SleepCase> SleepCases() {
  return {
      {"first delay",
       SleepReason::kFirstPollDelay,
       {Success()},
       [](WaitOptions& options) {
         options.polls.first_delay = absl::Seconds(9);
       }},
      {"not ready", SleepReason::kNotReady, {NotReady(), Success()}, {}},
      {"server error",
       SleepReason::kServerError,
       {ServerError(), Success()},
       {}},
      {"throttled", SleepReason::kThrottled, {Throttled(), Success()}, {}},
      {"hint",
       SleepReason::kRetryAfter,
       {NotReady("", absl::Seconds(20)), Success()},
       {}},
      {"rule",
       SleepReason::kDelaySource,
       {NotReady(), Success()},
       [](WaitOptions& options) {
         options.delay_source = [](const DelayRequest&, absl::BitGenRef) {
           return absl::Seconds(5);
         };
       }},
      {"quota",
       SleepReason::kRetryQuota,
       {ServerError(), Success()},
       [](WaitOptions& options) {
         options.budgets.retry_quota = *RetryQuota::Make(
             {.capacity = 14,
              .initial_cost = 14,
              .refill_per_second = 1,
              .when_spent = RetryQuotaOptions::WhenSpent::kWait});
       }},
      {"limiter",
       SleepReason::kRateLimit,
       {NotReady(), Success()},
       [](WaitOptions& options) {
         options.backoff = Every(absl::Milliseconds(1));
         options.budgets.rate_limiter = *AdaptiveRateLimiter::MakeLimiting(
             {}, 0.5, options.clock->MonotonicNow());
       }},
      {"confirming",
       SleepReason::kConfirming,
       {Success()},
       [](WaitOptions& options) { options.confirm.successes = 3; }},
      {"end",
       SleepReason::kFinalPoll,
       {NotReady()},
       [](WaitOptions& options) { options.timeout = absl::Seconds(3); }},
      {"refused",
       SleepReason::kServerError,
       {ServerError()},
       [](WaitOptions& options) {
         options.budgets.retry_quota = *RetryQuota::Make({.capacity = 1});
         options.budgets.delay_when_refused = true;
       }},
  };
}

TEST_P(CheckpointTest, EverySleepHasOneWhateverItsReason) {
  for (const SleepCase& example : SleepCases()) {
    SCOPED_TRACE(std::string(example.name));
    tokens_.clear();
    polled_at_.clear();
    Sleeps sleeps;
    WaitOptions options = Saving();
    options.hooks.observer = Unowned(sleeps);
    if (example.set != nullptr) example.set(options);

    (void)Run(Script(example.steps), options);

    EXPECT_THAT(sleeps.reasons, testing::Contains(example.reason));
    std::vector<absl::Duration> lengths;
    for (const WaitToken& token : tokens_) {
      lengths.push_back(token.wake_up() - token.written());
    }
    EXPECT_EQ(lengths, sleeps.lengths);
  }
}

TEST_P(CheckpointTest, NoSleepHasNone) {
  ASSERT_TRUE(Run(Script({Success()}), Saving()).ok());
  WaitOptions options = Saving();
  options.backoff = Every(absl::ZeroDuration());
  ASSERT_TRUE(Run(Script({NotReady(), NotReady(), Success()}), options).ok());
  options.max_attempts = 5;
  EXPECT_EQ(Run(Script({NotReady()}), options).reason(), StopReason::kAttempts);
  EXPECT_THAT(tokens_, IsEmpty());
}

TEST_P(CheckpointTest, EveryTokenIsOneThatParseTakes) {
  for (const SleepCase& example : SleepCases()) {
    polled_at_.clear();
    tokens_.clear();
    WaitOptions options = Saving();
    if (example.set != nullptr) example.set(options);
    (void)Run(Script(example.steps), options);
    for (const WaitToken& token : tokens_) {
      const absl::StatusOr<WaitToken> parsed = WaitToken::Parse(token.bytes());
      ASSERT_TRUE(parsed.ok()) << parsed.status();
      EXPECT_EQ(parsed->bytes(), token.bytes());
      EXPECT_LE(token.bytes().size(), 150U);
      EXPECT_EQ(parsed->written(), token.written());
      EXPECT_EQ(parsed->wake_up(), token.wake_up());
      EXPECT_EQ(parsed->attempts(), token.attempts());
    }
  }
}

TEST_P(CheckpointTest, ItsTimeIsThatOfTheWait) {
  struct Case {
    absl::Duration takes;
    std::vector<absl::Duration> polls;
  };
  const std::vector<Case> cases = {
      // It ends within the sleep, after the sleep, and after the deadline.
      {absl::Milliseconds(500),
       {absl::ZeroDuration(), absl::Seconds(2), absl::Seconds(4),
        absl::Seconds(5)}},
      {absl::Seconds(3),
       {absl::ZeroDuration(), absl::Seconds(3), absl::Seconds(6)}},
      {absl::Seconds(9), {absl::ZeroDuration(), absl::Seconds(9)}},
  };
  for (const Case& example : cases) {
    SCOPED_TRACE(absl::FormatDuration(example.takes));
    polled_at_.clear();
    const absl::Duration start = clock_.Elapsed();
    WaitOptions options = Saving([&] { clock_.AdvanceTime(example.takes); });
    options.timeout = absl::Seconds(5);

    const WaitResult<> result = Run(Script({NotReady()}), options);

    EXPECT_EQ(result.reason(), StopReason::kDeadline);
    for (absl::Duration& time : polled_at_) time -= start;
    EXPECT_EQ(polled_at_, example.polls);
    EXPECT_EQ(result.report().elapsed, clock_.Elapsed() - start);
  }
}

TEST_P(CheckpointTest, StopInItEndsTheWaitWithoutTheSleep) {
  const WaitResult<> result =
      Run(Script({NotReady()}), Saving([this] { RequestStop(); }));

  EXPECT_EQ(result.reason(), StopReason::kCancelled);
  EXPECT_THAT(polled_at_, SizeIs(1));
  EXPECT_EQ(clock_.Elapsed(), absl::ZeroDuration());
}

TEST_P(CheckpointTest, StopInThatOfAFirstDelayLeavesNoPoll) {
  WaitOptions options = Saving([this] { RequestStop(); });
  options.polls.first_delay = absl::Seconds(3);

  EXPECT_EQ(Run(Script({NotReady()}), options).reason(),
            StopReason::kCancelled);
  EXPECT_THAT(polled_at_, IsEmpty());
  EXPECT_EQ(clock_.Elapsed(), absl::ZeroDuration());
}

TEST_P(CheckpointTest, NotificationInItIsNotLost) {
  bool notified = false;
  const WaitResult<> result = Run(Script({NotReady(), Success()}), Saving([&] {
                                    if (!notified) {
                                      notified = true;
                                      PollNow();
                                    }
                                  }));

  EXPECT_TRUE(result.ok());
  EXPECT_EQ(clock_.Elapsed(), absl::ZeroDuration());
}

TEST_P(CheckpointTest, ItMayWaitItself) {
  std::vector<absl::Status> inner;
  const WaitResult<> result = Run(
      Script({NotReady(), Success()}), Saving([&] {
        // This wait does not sleep, because a sleep would hold up an engine.
        inner.push_back(Waiter([] { return true; }, Options()).Wait().status());
      }));

  EXPECT_TRUE(result.ok());
  EXPECT_THAT(inner, ElementsAre(absl::OkStatus()));
}

// The token comes back in another process, or at another time.

TEST_P(CheckpointTest, ResumedFirstDelayIsTheRestOfTheFirst) {
  WaitOptions options = Options();
  options.polls.first_delay = absl::Seconds(10);
  const WaitToken token = TokenAfter(0, options);
  EXPECT_EQ(token.attempts(), 0);
  clock_.AdvanceTime(absl::Seconds(4));

  const WaitResult<> result = Run(Script({Success()}), options, token);

  EXPECT_TRUE(result.ok());
  EXPECT_THAT(polled_at_, ElementsAre(absl::Seconds(10)));
  EXPECT_EQ(contexts_[0].attempt, 1);
  EXPECT_EQ(contexts_[0].last_status, std::nullopt);
  EXPECT_EQ(result.report().attempts, 1);
  EXPECT_EQ(result.report().elapsed, absl::Seconds(10));
}

TEST_P(CheckpointTest, ContextIsThatOfTheWaitFromItsStart) {
  const WaitToken token = TokenAfter(3, Options(), Throttled("busy"));
  clock_.AdvanceTime(absl::Seconds(1));

  ASSERT_TRUE(Run(Script({Success()}), Options(), token).ok());

  ASSERT_THAT(contexts_, SizeIs(1));
  EXPECT_EQ(contexts_[0].attempt, 4);
  EXPECT_EQ(contexts_[0].elapsed, absl::Seconds(12));
  EXPECT_EQ(contexts_[0].remaining, absl::Seconds(88));
  EXPECT_EQ(contexts_[0].last_status, PollStatus::kThrottled);
}

TEST_P(CheckpointTest, CurvesGoOnGrowing) {
  WaitOptions options = Options();
  const BackoffOptions doubling = {.initial_delay = absl::Seconds(1),
                                   .max_delay = absl::Minutes(10),
                                   .jitter = Jitter::None()};
  for (const Poll<>& found : {NotReady(), ServerError(), Throttled()}) {
    SCOPED_TRACE(std::string(PollStatusName(found.status())));
    polled_at_.clear();
    options.backoff = Every(absl::Seconds(1));
    options.errors.server_error_backoff = options.errors.throttled_backoff =
        options.backoff = doubling;
    const WaitToken token = TokenAfter(3, options, found);
    const absl::Duration saved = clock_.Elapsed();

    ASSERT_TRUE(Run(Script({found, found, Success()}), options, token).ok());

    EXPECT_THAT(polled_at_,
                ElementsAre(saved + absl::Seconds(4), saved + absl::Seconds(12),
                            saved + absl::Seconds(28)));
  }
}

TEST_P(CheckpointTest, LimitsCountThePollsFromBefore) {
  struct Case {
    std::string_view name;
    std::function<void(WaitOptions&)> set;
    Poll<> found;
    StopReason reason;
    int64_t attempts;
  };
  const std::vector<Case> cases = {
      {"attempts", [](WaitOptions& options) { options.max_attempts = 5; },
       NotReady(), StopReason::kAttempts, 5},
      // Fewer attempts than were already made.
      {"fewer", [](WaitOptions& options) { options.max_attempts = 2; },
       NotReady(), StopReason::kAttempts, 4},
      {"errors",
       [](WaitOptions& options) {
         options.errors.max_consecutive_server_errors = 4;
       },
       ServerError(), StopReason::kConsecutiveLimit, 4},
  };
  for (const Case& example : cases) {
    SCOPED_TRACE(std::string(example.name));
    const WaitToken token = TokenAfter(3, Options(), example.found);
    WaitOptions options = Options();
    example.set(options);

    const WaitResult<> result = Run(Script({example.found}), options, token);

    EXPECT_EQ(result.reason(), example.reason);
    EXPECT_EQ(result.report().attempts, example.attempts);
    polled_at_.clear();
  }
}

TEST_P(CheckpointTest, ConfirmationGoesOn) {
  WaitOptions options = Options();
  options.confirm.successes = 4;
  WaitToken token = TokenAfter(3, options, Success());
  EXPECT_TRUE(Run(Script({Success()}), options, token).ok());
  EXPECT_THAT(polled_at_, SizeIs(1));

  // Polled at 0, 2 and 4 s, and again at 9 s.
  polled_at_.clear();
  options = Options();
  options.confirm.hold_for = absl::Seconds(9);
  const absl::Duration start = clock_.Elapsed();
  token = TokenAfter(3, options, Success());
  clock_.AdvanceTime(absl::Seconds(5));
  EXPECT_TRUE(Run(Script({Success()}), options, token).ok());
  EXPECT_THAT(polled_at_, ElementsAre(start + absl::Seconds(9)));

  // One poll that is not a success restarts the count.
  polled_at_.clear();
  options = Options();
  options.confirm.successes = 4;
  token = TokenAfter(3, options, Success());
  EXPECT_TRUE(Run(Script({NotReady(), Success()}), options, token).ok());
  EXPECT_THAT(polled_at_, SizeIs(5));
}

TEST_P(CheckpointTest, DeadlineIsThatOfTheTokenAlsoIfItHasNone) {
  WaitOptions endless = Options();
  endless.timeout = absl::InfiniteDuration();
  const WaitToken without = TokenAfter(1, endless);
  const WaitToken with = TokenAfter(1, Options());
  const absl::Duration start = clock_.Elapsed();

  WaitOptions options = Options();
  options.max_attempts = 1000;
  EXPECT_EQ(Run(Script({NotReady()}), options, without).reason(),
            StopReason::kAttempts);

  // The options have an absolute deadline, which has passed.
  options.timeout = std::nullopt;
  options.deadline = clock_.TimeNow() - absl::Hours(1);
  EXPECT_EQ(Run(Script({NotReady()}), options, without).reason(),
            StopReason::kAttempts);

  clock_.AdvanceTime(start - clock_.Elapsed() > absl::ZeroDuration()
                         ? start - clock_.Elapsed()
                         : absl::ZeroDuration());
  polled_at_.clear();
  const WaitResult<> result = Run(Script({NotReady()}), endless, with);
  EXPECT_EQ(result.reason(), StopReason::kDeadline);
  EXPECT_THAT(polled_at_, SizeIs(1));
}

TEST_P(CheckpointTest, EndsAreThoseOfOptionsThatGoOn) {
  const WaitToken token = TokenAfter(3, Options());
  clock_.AdvanceTime(absl::Hours(1));
  WaitOptions options = Options();
  options.polls.strict_deadline = true;
  EXPECT_EQ(Run(Script({Success()}), options, token).reason(),
            StopReason::kDeadline);
  options.polls.strict_deadline = false;
  const WaitResult<> result = Run(Script({Success()}), options, token);
  EXPECT_TRUE(result.ok());
  EXPECT_TRUE(result.report().late);
}

TEST_P(CheckpointTest, WallClockMovesTheWaitOnlyForward) {
  for (const absl::Duration step :
       {-absl::Hours(24 * 365 * 50), -absl::Seconds(3), absl::ZeroDuration(),
        absl::Milliseconds(1500), absl::Seconds(50), absl::Hours(24 * 365)}) {
    SCOPED_TRACE(absl::FormatDuration(step));
    polled_at_.clear();
    const absl::Duration start = clock_.Elapsed();
    const WaitToken token = TokenAfter(1, Options());
    clock_.StepWallClock(step);

    const WaitResult<> result =
        Run(Script({NotReady(), Success()}), Options(), token);

    const absl::Duration passed = std::max(step, absl::ZeroDuration());
    EXPECT_EQ(polled_at_[0] - start,
              std::max(absl::Seconds(2) - passed, absl::ZeroDuration()));
    // Past the deadline, there is one poll.
    EXPECT_EQ(result.reason(), passed < absl::Seconds(100)
                                   ? StopReason::kSuccess
                                   : StopReason::kDeadline);
  }
}

TEST_P(CheckpointTest, RefundFollowsAPollThatIsNotMade) {
  const auto quota = *RetryQuota::Make({.capacity = 100, .initial_cost = 10});
  WaitOptions options = Options();
  options.budgets.retry_quota =
      *RetryQuota::Make({.capacity = 100, .initial_cost = 10});
  const WaitToken token = TokenAfter(1, options, ServerError());
  quota->Withdraw(50, clock_.MonotonicNow());
  options.budgets.retry_quota = quota;

  // The resumed wait does not pay for a first poll.
  clock_.CallAt(clock_.Elapsed() + absl::Seconds(1), [this] { RequestStop(); });
  EXPECT_EQ(Run(Script({Success()}), options, token).reason(),
            StopReason::kCancelled);
  EXPECT_THAT(polled_at_, IsEmpty());
  EXPECT_EQ(quota->Available(clock_.MonotonicNow()), 64);
}

TEST_P(CheckpointTest, SuccessGivesBackTheCostAndLaterErrorsPay) {
  const auto quota = *RetryQuota::Make({.capacity = 100, .initial_cost = 10});
  WaitOptions options = Options();
  options.budgets.retry_quota = quota;
  const WaitToken token = TokenAfter(1, options, ServerError());
  // The stop gave back the cost of the second poll.
  ASSERT_EQ(quota->Available(clock_.MonotonicNow()), 90);

  EXPECT_TRUE(Run(Script({Success()}), options, token).ok());
  EXPECT_EQ(quota->Available(clock_.MonotonicNow()), 100);

  polled_at_.clear();
  quota->Withdraw(50, clock_.MonotonicNow());
  options.max_attempts = 3;
  EXPECT_EQ(Run(Script({Throttled()}), options, token).reason(),
            StopReason::kAttempts);
  EXPECT_EQ(quota->Available(clock_.MonotonicNow()), 45);
}

// Allows polls at whole seconds, and counts the calls.
class WholeSeconds : public RateLimiter {
 public:
  MonotonicTime Acquire(MonotonicTime now) override {
    const MonotonicTime::Base pass =
        std::chrono::ceil<std::chrono::seconds>(now);
    if (pass == now) ++passed;
    return pass;
  }
  void Update(MonotonicTime /*now*/, PollStatus /*status*/) override {
    ++updates;
  }
  std::optional<double> Rate() const override { return 1; }
  std::shared_ptr<RateLimiter> MakeAlike() const override {
    return std::make_shared<WholeSeconds>();
  }

  int passed = 0;
  int updates = 0;
};

TEST_P(CheckpointTest, EveryPollPassesTheLimiter) {
  const WaitToken token = TokenAfter(1, Options());
  for (const absl::Duration pause :
       {absl::Milliseconds(300), absl::Milliseconds(2900)}) {
    polled_at_.clear();
    WholeSeconds limiter;
    WaitOptions options = Options();
    options.backoff = Every(absl::Milliseconds(1700));
    options.budgets.rate_limiter = Unowned(limiter);
    clock_.AdvanceTime(pause);

    ASSERT_TRUE(Run(Script({NotReady(), Success()}), options, token).ok());

    ASSERT_THAT(polled_at_, SizeIs(2));
    EXPECT_EQ(polled_at_[0], absl::Ceil(polled_at_[0], absl::Seconds(1)));
    EXPECT_EQ(polled_at_[1], polled_at_[0] + absl::Seconds(2));
    EXPECT_EQ(limiter.passed, 2);
    EXPECT_EQ(limiter.updates, 2);
  }
}

TEST_P(CheckpointTest, LimitersLeaveTheLastPollOfAResumedWait) {
  const WaitToken token = TokenAfter(1, Options());
  clock_.AdvanceTime(absl::Hours(2) + absl::Milliseconds(1));
  WholeSeconds limiter;
  WaitOptions options = Options();
  options.budgets.rate_limiter = Unowned(limiter);

  EXPECT_TRUE(Run(Script({Success()}), options, token).ok());

  EXPECT_THAT(polled_at_, ElementsAre(absl::Hours(2) + absl::Milliseconds(1)));
}

TEST_P(CheckpointTest, RefusedTokenEndsAndGivesUpWithoutAPoll) {
  const WaitToken token = TokenAfter(1, Options());
  std::vector<std::string> given_up;
  for (const bool invalid : {true, false}) {
    WaitOptions options = Options();
    if (invalid) {
      options.max_attempts = 0;
    } else {
      options.name = "job 8";
    }
    options.hooks.on_failure = [&](const WaitFailure& end) {
      given_up.push_back(
          absl::StrCat(std::string(end.name), " ",
                       std::string(StopReasonName(end.report.reason))));
    };

    const WaitResult<> result = Run(Script({Success()}), options, token);

    EXPECT_EQ(result.status().code(), absl::StatusCode::kInvalidArgument);
    EXPECT_EQ(result.reason(), StopReason::kInvalidOptions);
  }
  EXPECT_THAT(given_up,
              ElementsAre("job 7 invalid options", "job 8 invalid options"));
  EXPECT_THAT(polled_at_, IsEmpty());
}

TEST_P(CheckpointTest, TokenServesAnyNumberOfWaits) {
  const WaitToken token = TokenAfter(3, Options());
  const absl::Duration saved = clock_.Elapsed();
  for (const int time : {1, 2}) {
    polled_at_.clear();
    const WaitResult<> result =
        Run(Script({NotReady(), Success()}), Options(), token);
    EXPECT_TRUE(result.ok());
    EXPECT_EQ(result.report().attempts, 5);
    EXPECT_EQ(polled_at_[0], saved + absl::Seconds(time == 1 ? 2 : 4));
  }
}

TEST_P(CheckpointTest, OwnTokensOfAResumedWaitGoOnAgain) {
  WaitToken token = TokenAfter(1, Options());
  for (int64_t i = 1; i <= 5; ++i) {
    EXPECT_EQ(token.attempts(), i);
    bool polled = false;
    WaitOptions options = Options();
    std::optional<WaitToken> next;
    options.hooks.on_checkpoint = [&](const WaitToken& saved) {
      next = saved;
      if (polled) RequestStop();
    };
    (void)Run(
        [&](const PollContext&) {
          polled = true;
          return NotReady();
        },
        options, token);
    ASSERT_TRUE(next.has_value());
    token = *std::move(next);
  }
  EXPECT_EQ(clock_.Elapsed(), absl::Seconds(10));
  const WaitResult<> result = Run(Script({Success()}), Options(), token);
  EXPECT_EQ(result.report().attempts, 7);
  EXPECT_EQ(result.report().elapsed, absl::Seconds(12));
  EXPECT_EQ(token.deadline() - token.written(), absl::Seconds(90));
}

TEST_P(CheckpointTest, LongestTextsFitIntoATokenAndGoOn) {
  WaitOptions options = Saving([this] {
    if (tokens_.size() == 3) RequestStop();
  });
  std::string wide;
  for (int i = 0; i < 4000; ++i) wide += "\xF0\x9F\x8D\x84";
  options.name = "n" + wide;
  options.timeout = absl::Hours(24 * 365 * 70);
  const std::string letters(10'000, 'x');

  (void)Run(Script({ServerError(absl::InternalError(wide)),
                    Throttled(absl::DataLossError("y" + wide), absl::Hours(1)),
                    NotReady(letters, absl::Hours(2))}),
            options);

  ASSERT_THAT(tokens_, SizeIs(3));
  for (const WaitToken& token : tokens_) {
    EXPECT_LE(token.bytes().size(), WaitToken::kMaxSize);
    EXPECT_EQ(token.name(), options.name.substr(0, 125));
    ASSERT_TRUE(WaitToken::Parse(token.bytes()).ok());
  }
  WaitOptions last = Options();
  last.name = options.name;
  last.max_attempts = 4;
  const WaitResult<> result =
      Run(Script({NotReady("z")}), last, tokens_.back());
  EXPECT_EQ(result.reason(), StopReason::kAttempts);
  if (GetParam() == Driver::kLean) return;
  EXPECT_EQ(result.report().first_error->error(),
            absl::InternalError(wide.substr(0, 200)));
  EXPECT_EQ(result.report().last_error->error(),
            absl::DataLossError("y" + wide.substr(0, 196)));
}

TEST_P(CheckpointTest, HintAndLeastDelayHoldForANotifiedWaitThatGoesOn) {
  struct Case {
    Poll<> found;
    absl::Duration min_delay;
    absl::Duration polled_at;
  };
  for (const Case& example :
       {Case{NotReady("", absl::Seconds(30)), absl::ZeroDuration(),
             absl::Seconds(30)},
        Case{NotReady(), absl::Seconds(20), absl::Seconds(20)},
        Case{NotReady(), absl::ZeroDuration(), absl::Seconds(6)}}) {
    polled_at_.clear();
    const absl::Duration start = clock_.Elapsed();
    WaitOptions options = Options();
    options.backoff = Every(absl::Seconds(60));
    options.backoff.min_delay = example.min_delay;
    options.errors.retry_after.rule = RetryAfterOptions::Rule::kReplace;
    const WaitToken token = TokenAfter(1, options, example.found);
    clock_.AdvanceTime(absl::Seconds(5));
    if (GetParam() == Driver::kBlocking) return;  // `PollNow` is missing.
    clock_.CallAt(start + absl::Seconds(6), [this] { PollNow(); });

    ASSERT_TRUE(Run(Script({Success()}), options, token).ok());

    EXPECT_EQ(polled_at_[0] - start, example.polled_at);
  }
}

INSTANTIATE_TEST_SUITE_P(Drivers, CheckpointTest,
                         testing::Values(Driver::kBlocking, Driver::kFull,
                                         Driver::kLean, Driver::kExecutor,
                                         Driver::kAsync),
                         [](const auto& test) { return NameOf(test.param); });

// Checkpoints on an engine that end a wait, or destroy its parts.

class EngineCheckpointTest : public CheckpointTest {};

TEST_P(EngineCheckpointTest, ItMayDestroyTheHandleWithAllThatTheWaitOwns) {
  auto owned = std::make_shared<int>(0);
  bool called = false;
  {
    WaitOptions options = Options();
    options.hooks.on_checkpoint = [this, owned,
                                   &called](const WaitToken& token) {
      handle_ = WaitHandle();
      // The function itself must still be there.
      called = !token.bytes().empty() && owned.use_count() > 1;
    };
    Begin(
        [owned](const PollContext&) {
          ++*owned;
          return NotReady();
        },
        WaitPolicy::Make(options));
  }

  engine_->Run();

  EXPECT_TRUE(called);
  EXPECT_EQ(*owned, 1);
  EXPECT_EQ(owned.use_count(), 1);
  EXPECT_FALSE(result_.has_value());
}

TEST_P(EngineCheckpointTest, ItMayDetachTheWait) {
  Begin(Script({NotReady(), Success()}),
        WaitPolicy::Make(Saving([this] { handle_.Detach(); })));

  engine_->Run();

  ASSERT_TRUE(result_.has_value());
  EXPECT_TRUE(result_->ok());
}

TEST_P(EngineCheckpointTest, ItMayGoOnWithItsOwnTokenElsewhere) {
  std::vector<StopReason> ends;
  Begin(Script({NotReady()}), WaitPolicy::Make(Saving([&] {
          engine_
              ->Start(Waiter([] { return true; }, Options()),
                      [&](const WaitResult<>& result) {
                        ends.push_back(result.reason());
                      },
                      {.resume = tokens_.back()})
              .Detach();
          handle_ = WaitHandle();
        })));

  engine_->Run();

  EXPECT_THAT(ends, ElementsAre(StopReason::kSuccess));
  EXPECT_EQ(clock_.Elapsed(), absl::Seconds(2));
  EXPECT_THAT(polled_at_, SizeIs(1));
}

TEST_P(EngineCheckpointTest, HandleOfAResumedWaitMayBeDestroyedInItsFirst) {
  const WaitToken token = TokenAfter(1, Options());
  auto owned = std::make_shared<int>();
  WaitOptions options = Options();
  options.hooks.on_checkpoint = [this](const WaitToken&) {
    handle_ = WaitHandle();
  };
  Begin([owned](const PollContext&) { return Success(); },
        WaitPolicy::Make(options), token);

  engine_->Run();

  EXPECT_FALSE(result_.has_value());
  EXPECT_EQ(owned.use_count(), 1);
  EXPECT_EQ(clock_.Elapsed(), absl::ZeroDuration());
}

TEST_P(EngineCheckpointTest, PollThatNeverAnswersEndsAtTheDeadlineOfTheToken) {
  const WaitToken token = TokenAfter(1, Options());
  WaitOptions endless = Options();
  endless.timeout = absl::InfiniteDuration();
  for (const absl::Duration pause : {absl::ZeroDuration(), absl::Hours(1)}) {
    clock_.AdvanceTime(pause);
    const absl::Duration start = clock_.Elapsed();
    std::optional<PollCompletion<>> completion;
    std::optional<WaitResult<>> result;
    MakeEngine();
    const WaitHandle wait = engine_->Start(
        AsyncWaiter([&](const PollCompletion<>& done) { completion = done; },
                    endless),
        [&](WaitResult<> got) { result = std::move(got); }, {.resume = token});

    engine_->Run();

    ASSERT_TRUE(result.has_value());
    EXPECT_EQ(result->reason(), StopReason::kDeadline);
    // The last poll, after the deadline, gets the time of a context: 1 s.
    EXPECT_EQ(clock_.Elapsed(), pause == absl::ZeroDuration()
                                    ? absl::Seconds(100)
                                    : start + absl::Seconds(1));
  }
}

TEST_P(EngineCheckpointTest, NamedWaitSavesItsOwnName) {
  MakeEngine();
  const auto policy = WaitPolicy::Make(Saving());
  handle_ = engine_->Start(Waiter(Script({NotReady(), Success()}), policy),
                           [](const WaitResult<>&) {}, {.name = "job 9"});
  engine_->Run();
  ASSERT_THAT(tokens_, SizeIs(1));
  EXPECT_EQ(tokens_[0].name(), "job 9");

  EXPECT_EQ(Run(Script({Success()}), Options(), tokens_[0]).reason(),
            StopReason::kInvalidOptions);
  WaitOptions options = Options();
  options.name = "job 9";
  EXPECT_TRUE(Run(Script({Success()}), options, tokens_[0]).ok());
}

TEST_P(EngineCheckpointTest, DestroyedEngineShutsResumedWaitsDown) {
  const WaitToken token = TokenAfter(3, Options());
  Begin(Script({NotReady()}), WaitPolicy::Make(Options()), token);
  engine_->RunDue();

  engine_.reset();

  ASSERT_TRUE(result_.has_value());
  EXPECT_EQ(result_->reason(), StopReason::kShutDown);
  EXPECT_EQ(result_->report().attempts, 3);
}

TEST_P(EngineCheckpointTest, ResumedWaitThatNeverBeganIsShutDown) {
  const WaitToken token = TokenAfter(3, Options());
  Begin(Script({NotReady()}), WaitPolicy::Make(Options()), token);

  engine_.reset();

  ASSERT_TRUE(result_.has_value());
  EXPECT_EQ(result_->reason(), StopReason::kShutDown);
  EXPECT_THAT(polled_at_, IsEmpty());
}

INSTANTIATE_TEST_SUITE_P(Drivers, EngineCheckpointTest,
                         testing::Values(Driver::kFull, Driver::kLean,
                                         Driver::kExecutor, Driver::kAsync),
                         [](const auto& test) { return NameOf(test.param); });

TEST(CheckpointThreadTest, ItRunsOnTheThreadOfTheEngine) {
  // The thread that runs callbacks is the engine's; polls run elsewhere.
  std::thread::id at_checkpoint;
  std::thread::id at_poll;
  std::thread::id at_end;
  std::vector<JoiningThread> pool;
  {
    WaitEngine engine({.executor = [&](absl::AnyInvocable<void()> poll) {
      pool.emplace_back([poll = std::make_shared<absl::AnyInvocable<void()>>(
                             std::move(poll))] { (*poll)(); });
    }});
    std::atomic<bool> ended = false;
    int polls = 0;
    const WaitHandle wait = engine.Start(
        Waiter(
            [&] {
              at_poll = std::this_thread::get_id();
              return ++polls == 2;
            },
            WaitOptions{.timeout = absl::Minutes(5),
                        .backoff = Every(absl::Milliseconds(1)),
                        .hooks = {.on_checkpoint =
                                      [&](const WaitToken&) {
                                        at_checkpoint =
                                            std::this_thread::get_id();
                                      }}}),
        [&](const WaitResult<>&) {
          at_end = std::this_thread::get_id();
          ended = true;
        });
    while (!ended) std::this_thread::yield();
  }
  EXPECT_EQ(at_checkpoint, at_end);
  EXPECT_NE(at_checkpoint, at_poll);
  EXPECT_NE(at_checkpoint, std::this_thread::get_id());
}

// Two threads resume one token with one waiter, and a third reads the token.
TEST(CheckpointThreadTest, ThreadsMayShareATokenAndAWaiter) {
  std::optional<WaitToken> token;
  (void)Waiter([] { return true; },
               WaitOptions{.timeout = absl::Minutes(5),
                           .polls = {.first_delay = absl::Milliseconds(1)},
                           .hooks = {.on_checkpoint =
                                         [&](const WaitToken& saved) {
                                           token = saved;
                                         }}})
      .Wait();
  ASSERT_TRUE(token.has_value());
  Waiter wait([] { return true; }, absl::Minutes(5));
  WaitEngine engine({.threads = 2});
  std::atomic<int> ok = 0;
  {
    std::vector<JoiningThread> threads;
    for (int i = 0; i < 2; ++i) {
      threads.emplace_back(
          [&] { ok += wait.Wait({.resume = *token}).ok() ? 1 : 0; });
      threads.emplace_back([&] {
        engine
            .Start(wait,
                   [&](const WaitResult<>& got) { ok += got.ok() ? 1 : 0; },
                   {.resume = *token})
            .Detach();
      });
      threads.emplace_back([&] {
        EXPECT_EQ(token->name(), "wait");
        EXPECT_EQ(WaitToken::Parse(token->bytes())->attempts(), 0);
      });
    }
  }
  while (ok < 4) std::this_thread::yield();
}

using CheckpointDeathTest = testing::Test;

TEST(CheckpointDeathTest, ExceptionOfACheckpointTerminatesTheProgram) {
  const WaitOptions options = {.timeout = absl::Minutes(5),
                               .backoff = Every(absl::Milliseconds(1)),
                               .hooks = {.on_checkpoint = [](const WaitToken&) {
                                 throw std::runtime_error("the disk is full");
                               }}};
  const auto block = [&] {
    try {
      (void)Waiter([] { return false; }, options).Wait();
    } catch (const std::exception&) {
    }
  };
  EXPECT_DEATH(block(), "the disk is full");
  const auto run = [&] {
    WaitEngine engine({.threads = 0});
    try {
      engine
          .Start(Waiter([] { return false; }, options),
                 [](const WaitResult<>&) {})
          .Detach();
      engine.Run();
    } catch (const std::exception&) {
    }
  };
  EXPECT_DEATH(run(), "the disk is full");
}

TEST(CheckpointDeathTest, DestroyingTheEngineInItIsReported) {
  const auto run = [] {
    std::optional<WaitEngine> engine(std::in_place,
                                     WaitEngineOptions{.threads = 0});
    engine
        ->Start(Waiter([] { return false; },
                       WaitOptions{.timeout = absl::Minutes(5),
                                   .hooks = {.on_checkpoint =
                                                 [&](const WaitToken&) {
                                                   engine.reset();
                                                 }}}),
                [](const WaitResult<>&) {})
        .Detach();
    engine->Run();
  };
  EXPECT_DEATH(run(), "destroyed by one of its own waits");
}

// Bytes from elsewhere.

WaitToken SmallToken() {
  WaitToken token;
  SimulatedClock clock;
  (void)Waiter(
      [] { return true; },
      WaitOptions{.name = "x",
                  .timeout = absl::Minutes(5),
                  .polls = {.first_delay = absl::Seconds(1)},
                  .hooks = {.on_checkpoint =
                                [&](const WaitToken& saved) { token = saved; }},
                  .clock = &clock})
      .Wait();
  return token;
}

TEST(WaitTokenPromisesTest, NoBytesAreAnEmptyToken) {
  const absl::StatusOr<WaitToken> token = WaitToken::Parse("");
  ASSERT_TRUE(token.ok());
  EXPECT_TRUE(token->empty());
  EXPECT_EQ(token->bytes(), "");
  EXPECT_EQ(token->name(), "");
  EXPECT_EQ(token->attempts(), 0);
}

TEST(WaitTokenPromisesTest, SizeOfATokenIsLimitedWhateverItContains) {
  const std::string bytes = SmallToken().bytes();
  const std::string contents = bytes.substr(0, bytes.size() - 4);
  const auto with = [&](size_t size) {
    return WaitToken::Parse(
        WithChecksum(contents + std::string(size - bytes.size(), 'x')));
  };
  EXPECT_TRUE(with(WaitToken::kMaxSize).ok()) << with(1024).status();
  EXPECT_THAT(with(WaitToken::kMaxSize + 1).status(),
              StatusIs(absl::StatusCode::kInvalidArgument));
  EXPECT_THAT(WaitToken::Parse(std::string(1'000'000, '\0')).status(),
              StatusIs(absl::StatusCode::kInvalidArgument));
}

TEST(WaitTokenPromisesTest, EveryNewerVersionIsUnimplemented) {
  const std::string bytes = SmallToken().bytes();
  std::string contents = bytes.substr(0, bytes.size() - 4);
  for (int version = 2; version < 256; ++version) {
    contents[2] = static_cast<char>(version);
    EXPECT_THAT(WaitToken::Parse(WithChecksum(contents)).status(),
                StatusIs(absl::StatusCode::kUnimplemented,
                         HasSubstr(absl::StrCat("version ", version))));
  }
}

TEST(WaitTokenPromisesTest, MessagesNeverHaveBytesThatCannotBePrinted) {
  const std::string bytes = SmallToken().bytes();
  for (const std::string& wrong :
       {std::string(bytes, 0, 9), "\x01\x02\x03" + bytes, bytes + bytes}) {
    const std::string message(WaitToken::Parse(wrong).status().message());
    for (const char letter : message) EXPECT_GE(letter, ' ') << message;
    EXPECT_NE(message, "");
  }
}

// A machine without a sensible clock.
class OddWallClock : public Clock {
 public:
  absl::Time TimeNow() override { return wall; }
  MonotonicTime MonotonicNow() override { return inner.MonotonicNow(); }
  void SleepUntil(MonotonicTime wake_up, const waiter::stop_token& stop,
                  std::string_view who) override {
    inner.SleepUntil(wake_up, stop, who);
  }

  absl::Time wall = absl::UnixEpoch();
  SimulatedClock inner;
};

TEST(WaitTokenPromisesTest, EveryWallClockGivesAWaitThatEnds) {
  const std::vector<absl::Time> times = {
      absl::InfinitePast(),
      absl::FromUnixNanos(INT64_MIN),
      absl::UnixEpoch(),
      absl::FromUnixSeconds(1'800'000'000),
      absl::FromUnixNanos(INT64_MAX),
      absl::FromUnixSeconds(int64_t{1} << 40),
      absl::InfiniteFuture()};
  for (const absl::Time saved : times) {
    for (const absl::Time resumed : times) {
      SCOPED_TRACE(absl::StrCat(absl::FormatTime(saved), " to ",
                                absl::FormatTime(resumed)));
      OddWallClock clock;
      clock.wall = saved;
      WaitToken token;
      WaitOptions options = {
          .timeout = absl::Seconds(100),
          .backoff = Every(absl::Seconds(2)),
          .hooks = {.on_checkpoint =
                        [&](const WaitToken& got) { token = got; }},
          .clock = &clock};
      int polls = 0;
      Waiter wait([&] { return ++polls == 2; }, options);
      ASSERT_TRUE(wait.Wait().ok());
      ASSERT_TRUE(WaitToken::Parse(token.bytes()).ok());
      clock.wall = resumed;

      polls = -1000;
      const WaitResult<> result =
          wait.Wait({.resume = *WaitToken::Parse(token.bytes())});

      EXPECT_EQ(result.reason(), StopReason::kDeadline);
      EXPECT_LE(clock.inner.Elapsed(), absl::Seconds(2 + 100));
      EXPECT_GE(result.report().elapsed, absl::ZeroDuration());
    }
  }
}

}  // namespace
}  // namespace waiter::resume_promises_test
