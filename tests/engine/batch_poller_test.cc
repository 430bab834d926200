// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

#include "waiter/engine/batch_poller.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <iostream>
#include <latch>
#include <mutex>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>
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
#include "tests/support/joining_thread.h"
#include "tests/support/status_matchers.h"
#include "tests/support/thread_pool.h"
#include "tests/support/unowned.h"
#include "waiter/backoff.h"
#include "waiter/engine/async_waiter.h"
#include "waiter/engine/engine.h"
#include "waiter/engine/group.h"
#include "waiter/engine/handle.h"
#include "waiter/engine/internal/batch_state.h"
#include "waiter/observer.h"
#include "waiter/options.h"
#include "waiter/policy.h"
#include "waiter/poll.h"
#include "waiter/result.h"
#include "waiter/testing/simulated_clock.h"
#include "waiter/token.h"

namespace waiter::batch_poller_test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

using Keys = std::vector<std::string>;
using Answer = BatchAnswer<std::string, int>;
using Call = BatchedCall;
using Task = absl::AnyInvocable<void()>;

class BatchPollerTest : public BatchFixture {
 protected:
  WaitOptions EverySecond(absl::Duration first_poll_delay = {}) {
    WaitOptions options = EverySecondFor(absl::Seconds(100));
    options.polls.first_delay = first_poll_delay;
    return options;
  }

  using BatchFixture::Start;
  void Start(const std::string& key) { Start(key, EverySecond()); }

  absl::StatusOr<Answer> Serve(
      absl::Span<const std::string> /*keys*/) override {
    if (on_call_ != nullptr) on_call_();
    if (!failures_.empty()) {
      const absl::Status failure = failures_.front();
      failures_.erase(failures_.begin());
      if (!failure.ok()) return failure;
    }
    return answer_;
  }

  // Answer of the simulated server.
  Answer answer_;
  std::vector<absl::Status> failures_;  // Errors of the first calls.
  std::function<void()> on_call_;
};

TEST_F(BatchPollerTest, PollsDueTogetherShareACall) {
  Make();
  for (const std::string key : {"a", "b", "c"}) Start(key);
  clock_.CallAt(absl::Milliseconds(500), [&] {
    answer_ = {{"a", Success(1)}, {"c", Success(3)}};
  });
  clock_.CallAt(absl::Milliseconds(1500), [&] {
    answer_ = {{"b", Success(2)}};
  });

  engine_->Run();

  EXPECT_THAT(calls_, ElementsAre(Call{absl::ZeroDuration(), {"a", "b", "c"}},
                                  Call{absl::Seconds(1), {"a", "b", "c"}},
                                  Call{absl::Seconds(2), {"b"}}));
  EXPECT_EQ(*results_.at("a"), 1);
  EXPECT_EQ(*results_.at("b"), 2);
  EXPECT_EQ(*results_.at("c"), 3);
}

TEST_F(BatchPollerTest, CallHasAtMostMaxBatchKeys) {
  Make({.max_batch = 2});
  for (const std::string key : {"a", "b", "c", "d", "e"}) {
    Start(key);
    answer_.emplace(key, Success(0));
  }

  engine_->Run();

  EXPECT_THAT(calls_, ElementsAre(Call{{}, {"a", "b"}}, Call{{}, {"c", "d"}},
                                  Call{{}, {"e"}}));
  EXPECT_THAT(results_, SizeIs(5));
}

TEST_F(BatchPollerTest, WindowRunsFromTheFirstKey) {
  Make({.window = absl::Milliseconds(200)});
  answer_ = {{"a", Success(0)}, {"b", Success(0)}, {"c", Success(0)}};
  Start("a");
  Start("b", EverySecond(absl::Milliseconds(150)));
  Start("c", EverySecond(absl::Milliseconds(250)));

  engine_->Run();

  EXPECT_THAT(calls_, ElementsAre(Call{absl::Milliseconds(200), {"a", "b"}},
                                  Call{absl::Milliseconds(450), {"c"}}));
  EXPECT_EQ(results_.at("b").report().longest_poll, absl::Milliseconds(50));
}

TEST_F(BatchPollerTest, FullBatchDoesNotAwaitTheEndOfTheWindow) {
  Make({.max_batch = 2, .window = absl::Seconds(10)});
  answer_ = {{"a", Success(0)}, {"b", Success(0)}, {"c", Success(0)}};
  Start("a");
  Start("b", EverySecond(absl::Seconds(1)));
  Start("c", EverySecond(absl::Seconds(2)));

  engine_->Run();

  EXPECT_THAT(calls_, ElementsAre(Call{absl::Seconds(1), {"a", "b"}},
                                  Call{absl::Seconds(12), {"c"}}));
}

TEST_F(BatchPollerTest, PollDoesNotAwaitAWindowThatEndsAfterItsDeadline) {
  Make({.window = absl::Seconds(10)});
  WaitOptions options = EverySecond(absl::Seconds(3));
  options.timeout = absl::Seconds(5);
  Start("a");
  Start("b", options);
  Start("c", options);

  while (!results_.contains("b")) {
    clock_.AdvanceTime(
        absl::FromChrono(engine_->RunDue() - clock_.MonotonicNow()));
  }

  // The earliest poll takes the others along. The last poll is at the deadline.
  EXPECT_THAT(calls_, ElementsAre(Call{absl::Seconds(3), {"a", "b", "c"}},
                                  Call{absl::Seconds(4), {"a", "b", "c"}},
                                  Call{absl::Seconds(5), {"a", "b", "c"}}));
  EXPECT_EQ(ended_.at("b"), absl::Seconds(5));
  EXPECT_EQ(results_.at("b").reason(), StopReason::kDeadline);
}

TEST_F(BatchPollerTest, MissingKeysAreNotReadyAndUnknownKeysAreIgnored) {
  Make();
  Start("a");
  Start("b");
  answer_ = {{"a", Success(1)}, {"z", Failed("not requested")}};
  on_call_ = [&] {
    if (calls_.size() == 3) answer_ = {{"b", Success(2)}};
  };

  engine_->Run();

  EXPECT_EQ(results_.at("a").report().attempts, 1);
  EXPECT_EQ(results_.at("b").report().attempts, 3);
  EXPECT_EQ(results_.at("b").report().count(PollStatus::kNotReady), 2);
  EXPECT_THAT(results_, SizeIs(2));
}

TEST_F(BatchPollerTest, FailedCallCountsAsAnErrorOfEachKey) {
  struct Case {
    absl::Status failure;
    PollStatus found;
  };
  for (const Case& c :
       {Case{absl::UnavailableError("x"), PollStatus::kServerError},
        Case{absl::InternalError("x"), PollStatus::kServerError},
        Case{absl::PermissionDeniedError("x"), PollStatus::kServerError},
        Case{absl::ResourceExhaustedError("x"), PollStatus::kThrottled}}) {
    SCOPED_TRACE(c.failure);
    results_.clear();
    Make();
    answer_ = {{"a", Success(1)}, {"b", Success(2)}};
    failures_ = {c.failure};
    Start("a");
    Start("b");

    engine_->Run();

    for (const std::string key : {"a", "b"}) {
      const WaitReport& report = results_.at(key).report();
      EXPECT_EQ(report.attempts, 2);
      EXPECT_EQ(report.count(c.found), 1);
      EXPECT_EQ(report.last_error->error(), c.failure);
    }
  }
}

TEST_F(BatchPollerTest, ThrowingCallCountsAsAServerErrorOfEachKey) {
  Make();
  answer_ = {{"a", Success(1)}, {"b", Success(2)}};
  on_call_ = [&] {
    if (calls_.size() == 1) throw std::runtime_error("no route");
    if (calls_.size() == 2) throw 42;  // NOLINT: not an exception object
  };
  Start("a");
  Start("b");

  engine_->Run();

  for (const std::string key : {"a", "b"}) {
    const WaitReport& report = results_.at(key).report();
    EXPECT_TRUE(results_.at(key).ok());
    EXPECT_EQ(report.count(PollStatus::kServerError), 2);
    EXPECT_THAT(report.first_error->error(),
                StatusIs(absl::StatusCode::kUnknown, HasSubstr("no route")));
  }
}

TEST_F(BatchPollerTest, EachKeyHasItsOwnHintAndStatus) {
  Make();
  answer_ = {{"a", NotReady("busy", absl::Seconds(10))},
             {"b", NotReady()},
             {"c", Failed(absl::AbortedError("broken"))}};
  for (const std::string key : {"a", "b", "c"}) {
    WaitOptions options = EverySecond();
    options.errors.retry_after.rule = RetryAfterOptions::Rule::kReplace;
    Start(key, options);
  }
  clock_.CallAt(absl::Milliseconds(500), [&] {
    answer_ = {{"a", Success(1)}, {"b", Success(2)}};
  });

  engine_->Run();

  EXPECT_THAT(calls_, ElementsAre(Call{{}, {"a", "b", "c"}},
                                  Call{absl::Seconds(1), {"b"}},
                                  Call{absl::Seconds(10), {"a"}}));
  EXPECT_EQ(results_.at("c").status(),
            absl::AbortedError("broken (wait c, after 1 attempt in 0)"));
}

TEST_F(BatchPollerTest, EqualKeysArePolledOnce) {
  Make({.max_batch = 2});
  answer_ = {{"a", Success(1)}, {"b", Success(2)}};
  Start("a");
  const WaitHandle second = poller_->Start("a", EverySecond(), Take("second"));
  const WaitHandle third = poller_->Start("a", EverySecond(), Take("third"));
  Start("b");

  engine_->Run();

  EXPECT_THAT(calls_, ElementsAre(Call{{}, {"a", "b"}}));
  EXPECT_EQ(*results_.at("a"), 1);
  EXPECT_EQ(*results_.at("second"), 1);
  EXPECT_EQ(*results_.at("third"), 1);
}

TEST_F(BatchPollerTest, EndedWaitLeavesItsBatch) {
  Make({.window = absl::Milliseconds(200)});
  answer_ = {{"b", Success(2)}, {"d", Success(4)}};
  for (const std::string key : {"a", "b", "c", "d"}) Start(key);
  // If another wait for a key ends, that key stays in the batch.
  WaitHandle again = poller_->Start("d", EverySecond(), Take("again"));
  clock_.CallAt(absl::Milliseconds(100), [&] {
    handles_.at("a").Cancel();
    handles_.erase("c");
    again = WaitHandle();
  });

  engine_->Run();

  EXPECT_THAT(calls_, ElementsAre(Call{absl::Milliseconds(200), {"b", "d"}}));
  EXPECT_EQ(results_.at("a").reason(), StopReason::kCancelled);
  EXPECT_EQ(ended_.at("a"), absl::Milliseconds(100));
  EXPECT_FALSE(results_.contains("c"));
  EXPECT_FALSE(results_.contains("again"));
}

TEST_F(BatchPollerTest, EmptiedBatchIsNotPolled) {
  Make({.window = absl::Milliseconds(200)});
  Start("a");
  clock_.CallAt(absl::Milliseconds(100), [&] { handles_.at("a").Cancel(); });

  engine_->Run();

  EXPECT_THAT(calls_, IsEmpty());
}

TEST_F(BatchPollerTest, CancelledKeyIsNotPolledAgain) {
  Make();
  Start("a");
  Start("b");
  on_call_ = [&] {
    if (calls_.size() == 2) handles_.at("a").Cancel();
    if (calls_.size() == 3) answer_ = {{"b", Success(2)}};
  };

  engine_->Run();

  EXPECT_THAT(calls_, ElementsAre(Call{{}, {"a", "b"}},
                                  Call{absl::Seconds(1), {"a", "b"}},
                                  Call{absl::Seconds(2), {"b"}}));
  EXPECT_EQ(results_.at("a").reason(), StopReason::kCancelled);
}

TEST_F(BatchPollerTest, KeysMayBeAddedWhileThePollerRuns) {
  Make();
  answer_ = {{"a", Success(1)}, {"b", Success(2)}, {"c", Success(3)}};
  on_call_ = [&] {
    if (calls_.size() == 1) Start("b");
  };
  handles_["a"] =
      poller_->Start("a", EverySecond(), [&](const WaitResult<int>&) {
        Start("c", EverySecond(absl::Seconds(5)));
      });

  engine_->Run();

  EXPECT_THAT(calls_, ElementsAre(Call{{}, {"a"}}, Call{{}, {"b"}},
                                  Call{absl::Seconds(5), {"c"}}));
}

TEST_F(BatchPollerTest, DestroyedPollerMakesNoCallAndItsWaitsEndWhenDue) {
  Make({.window = absl::Seconds(3)});
  Start("pending");
  Start("asleep", EverySecond(absl::Seconds(8)));
  clock_.CallAt(absl::Seconds(2), [&] { poller_.reset(); });

  engine_->Run();

  EXPECT_THAT(calls_, IsEmpty());
  EXPECT_EQ(ended_.at("pending"), absl::Seconds(2));
  EXPECT_EQ(ended_.at("asleep"), absl::Seconds(8));
  for (const auto& [key, result] : results_) {
    EXPECT_EQ(result.reason(), StopReason::kFailed);
    EXPECT_THAT(result.status(),
                StatusIs(absl::StatusCode::kCancelled, HasSubstr("destroyed")));
  }
}

TEST_F(BatchPollerTest, CallMayDestroyThePoller) {
  Make({.max_batch = 1});
  answer_ = {{"a", Success(1)}};
  Start("a");
  Start("b");
  on_call_ = [&] { poller_.reset(); };

  engine_->Run();

  EXPECT_THAT(calls_, ElementsAre(Call{{}, {"a"}}));
  EXPECT_EQ(*results_.at("a"), 1);
  EXPECT_THAT(results_.at("b").status(),
              StatusIs(absl::StatusCode::kCancelled));
}

TEST_F(BatchPollerTest, CallbackOfAKeyMayDestroyThePoller) {
  Make({.max_batch = 1});
  handles_["a"] =
      poller_->Start("a", EverySecondFor(absl::ZeroDuration()),
                     [this](const WaitResult<int>&) { poller_.reset(); });
  Start("b", EverySecond(absl::Seconds(1)));

  engine_->Run();

  EXPECT_FALSE(poller_.has_value());
  EXPECT_THAT(results_.at("b").status(),
              StatusIs(absl::StatusCode::kCancelled));
  EXPECT_THAT(calls_, SizeIs(1));
}

TEST_F(BatchPollerTest, CallMayDestroyItsKeysAndThePoller) {
  for (const bool poller_too : {false, true}) {
    calls_.clear();
    Make({.max_batch = 2});
    on_call_ = [&] {
      if (poller_too) poller_.reset();
      handles_.clear();
    };
    for (const std::string key : {"a", "b", "c"}) Start(key);

    engine_->Run();

    EXPECT_THAT(results_, IsEmpty());
    EXPECT_THAT(calls_, SizeIs(1));
  }
}

TEST_F(BatchPollerTest, PreparedWaitOutlivesThePoller) {
  Make();
  AsyncWaiter key = poller_->Prepare("a", WaitPolicy::Make(EverySecond()));
  poller_.reset();

  handles_["a"] = engine_->Start(std::move(key), Take("a"));
  engine_->Run();

  EXPECT_THAT(results_.at("a").status(),
              StatusIs(absl::StatusCode::kCancelled));
}

TEST_F(BatchPollerTest, KeyIsResumedFromATokenUnderTheNameThatItHas) {
  Make();
  std::vector<WaitToken> tokens;
  WaitOptions options = EverySecond();
  options.name = "instance";
  options.hooks.on_checkpoint = [&](const WaitToken& token) {
    tokens.push_back(token);
    handles_.clear();
  };
  Start("i-0abc", options);
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

TEST_F(BatchPollerTest, DestroyedEngineEndsWaitsForACall) {
  Make({.window = absl::Seconds(3)});
  Start("a");
  Start("b", EverySecond(absl::Seconds(8)));
  engine_->RunDue();

  engine_.reset();

  EXPECT_EQ(results_.at("a").reason(), StopReason::kShutDown);
  EXPECT_EQ(results_.at("b").reason(), StopReason::kShutDown);
  EXPECT_THAT(calls_, IsEmpty());
}

TEST_F(BatchPollerTest, EveryWaitReportsInvalidPollerOptions) {
  const auto status_of = [&](BatchPoller<std::string, int>& poller) {
    const WaitHandle wait = poller.Start("a", EverySecond(), Take("a"));
    engine_->Run();
    return results_.extract("a").mapped().status();
  };

  EXPECT_THAT(status_of(Make({.max_batch = 0})),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       "wait a: BatchOptions::max_batch is 0; it must be at "
                       "least 1"));
  EXPECT_THAT(status_of(Make({.window = -absl::Seconds(1)})),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("BatchOptions::window is -1s")));
  EXPECT_THAT(status_of(Make({.window = absl::InfiniteDuration()})),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("BatchOptions::window is inf")));
  EXPECT_THAT(status_of(poller_.emplace(*engine_, nullptr)),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("function is empty")));
  EXPECT_THAT(calls_, IsEmpty());
}

TEST_F(BatchPollerTest, CallsRunOnTheExecutorAndAreAwaitedAtTheDeadline) {
  QueueTasks();
  Make();
  answer_ = {{"a", Success(1)}};
  WaitOptions check_once = EverySecond();
  check_once.timeout = absl::ZeroDuration();
  Start("a", check_once);
  Start("b", check_once);
  engine_->RunDue();
  engine_->RunDue();
  ASSERT_THAT(tasks_, SizeIs(1));
  EXPECT_THAT(calls_, IsEmpty());

  clock_.AdvanceTime(absl::Seconds(1));
  engine_->RunDue();
  std::exchange(tasks_, {}).front()();
  engine_->Run();

  EXPECT_THAT(calls_, ElementsAre(Call{absl::Seconds(1), {"a", "b"}}));
  EXPECT_TRUE(results_.at("a").ok());
  EXPECT_TRUE(results_.at("a").report().late);
  EXPECT_EQ(results_.at("b").reason(), StopReason::kDeadline);
}

TEST_F(BatchPollerTest, GroupWaitsForKeys) {
  Make();
  answer_ = {{"a", Success(1)}, {"b", Success(2)}};
  const auto policy = WaitPolicy::Make(EverySecond());
  std::vector<decltype(poller_->Prepare("", policy))> waits;
  waits.push_back(poller_->Prepare("a", policy));
  waits.push_back(poller_->Prepare("b", policy));
  std::vector<int> values;

  const WaitGroup<int> group(*engine_, std::move(waits), {},
                             [&](const std::vector<WaitResult<int>>& results) {
                               for (const auto& result : results) {
                                 values.push_back(*result);
                               }
                             });
  engine_->Run();

  EXPECT_THAT(values, ElementsAre(1, 2));
  EXPECT_THAT(calls_, ElementsAre(Call{{}, {"a", "b"}}));
}

// Records when each poll of each wait is due.
class DueTimes : public WaitObserver {
 public:
  explicit DueTimes(SimulatedClock& clock) : clock_(clock) {}
  void BeforePoll(const WaitIdentity& /*wait*/, int64_t /*attempt*/) override {
    times.push_back(clock_.Elapsed());
  }

  std::vector<absl::Duration> times;

 private:
  SimulatedClock& clock_;
};

// Returns the fewest calls for polls at `times`: each call takes all it can.
size_t FewestCalls(std::vector<absl::Duration> times,
                   const BatchOptions& options) {
  std::sort(times.begin(), times.end());
  size_t calls = 0;
  for (size_t first = 0; first < times.size(); ++calls) {
    const size_t end =
        std::min(times.size(), first + static_cast<size_t>(options.max_batch));
    const absl::Duration last = times[first] + options.window;
    while (first < end && times[first] <= last) ++first;
  }
  return calls;
}

struct Load {
  std::string name;
  BatchOptions batch;
  Jitter jitter;
  absl::Duration call_takes;
};

class ManyKeysTest : public testing::TestWithParam<Load> {};

TEST_P(ManyKeysTest, CallsExceedTheFewestByAtMost10Percent) {
  constexpr int kKeys = 10000;
  const Load& load = GetParam();
  SimulatedClock clock;
  DueTimes due(clock);
  const auto policy = WaitPolicy::Make({.timeout = absl::Hours(1),
                                        .backoff = {.jitter = load.jitter},
                                        .hooks = {.observer = Unowned(due)},
                                        .clock = &clock});
  WaitEngine engine({.threads = 0, .clock = &clock, .seed = 7});
  SplitMix64 gen(7);
  std::vector<int> polls_left(kKeys);
  for (int& polls : polls_left) polls = 1 + static_cast<int>(gen() % 20);
  size_t calls = 0;
  size_t most_keys = 0;
  BatchPoller<int> poller(
      engine,
      [&](absl::Span<const int> keys) {
        ++calls;
        most_keys = std::max(most_keys, keys.size());
        clock.AdvanceTime(load.call_takes);
        BatchAnswer<int> answer;
        for (const int key : keys) {
          if (--polls_left[static_cast<size_t>(key)] == 0) {
            answer.emplace(key, Success());
          }
        }
        return answer;
      },
      load.batch);
  int succeeded = 0;
  for (int key = 0; key < kKeys; ++key) {
    poller
        .Start(key, policy,
               [&](const WaitResult<>& result) {
                 succeeded += result.ok() ? 1 : 0;
               })
        .Detach();
  }

  engine.Run();

  const size_t fewest = FewestCalls(due.times, load.batch);
  std::cout << load.name << ": " << due.times.size() << " polls, " << calls
            << " calls, at least " << fewest << " are needed\n";
  EXPECT_EQ(succeeded, kKeys);
  EXPECT_LE(most_keys, static_cast<size_t>(load.batch.max_batch));
  EXPECT_LE(10 * calls, 11 * fewest);
}

INSTANTIATE_TEST_SUITE_P(
    Loads, ManyKeysTest,
    testing::Values(Load{"InStep", {.max_batch = 100}, Jitter::None(), {}},
                    Load{"Jittered",
                         {.max_batch = 100, .window = absl::Milliseconds(200)},
                         Jitter::Full(),
                         {}},
                    Load{"LongWindow",
                         {.max_batch = 100, .window = absl::Seconds(2)},
                         Jitter::Full(),
                         {}},
                    Load{"ShortWindow",
                         {.max_batch = 100, .window = absl::Milliseconds(5)},
                         Jitter::Equal(),
                         {}},
                    Load{"SlowCalls",
                         {.max_batch = 100, .window = absl::Milliseconds(200)},
                         Jitter::Full(),
                         absl::Milliseconds(2)}),
    [](const testing::TestParamInfo<Load>& test) { return test.param.name; });

using BatchPollerThreadsTest = BatchThreadsFixture;

TEST_P(BatchPollerThreadsTest, ManyThreadsMayAddAndRemoveKeys) {
  std::vector<WaitHandle> all_left;
  {
    WaitEngine engine(Options());
    auto poller = MakePoller(engine, {.window = absl::Milliseconds(1)});
    std::vector<JoiningThread> threads;
    for (uint64_t seed = 0; seed < 3; ++seed) {
      threads.emplace_back([&, seed] {
        std::vector<WaitHandle> left = StartAndDestroy({poller.get()}, seed);
        const std::lock_guard lock(mutex_);
        for (WaitHandle& wait : left) all_left.push_back(std::move(wait));
      });
    }
    threads.clear();
    AwaitKept();
    poller.reset();  // The remaining keys are still polled.
  }
  EXPECT_EQ(ended_, kept_);
  EXPECT_FALSE(repeated_);
}

INSTANTIATE_TEST_SUITE_P(OnEngineAndExecutor, BatchPollerThreadsTest,
                         testing::Bool());

// Starts waits that poll every millisecond.
std::vector<WaitHandle> StartKeys(BatchPoller<std::string, int>& poller,
                                  int count, std::latch& ended) {
  const auto policy =
      WaitPolicy::Make({.timeout = absl::Minutes(5),
                        .backoff = {.initial_delay = absl::Milliseconds(1),
                                    .max_delay = absl::Milliseconds(1)}});
  std::vector<WaitHandle> waits;
  for (int i = 0; i < count; ++i) {
    waits.push_back(
        poller.Start(absl::StrCat(i), policy, [&](const WaitResult<int>& got) {
          EXPECT_THAT(got.status(), StatusIs(absl::StatusCode::kCancelled));
          ended.count_down();
        }));
  }
  return waits;
}

TEST(BatchPollerEndTest, DestructorAwaitsTheCallsUnderWay) {
  for (const bool on_executor : {false, true}) {
    ThreadPool pool(2);
    WaitEngineOptions engine_options = {.threads = 2};
    if (on_executor) engine_options.executor = pool.executor();
    std::atomic<int> under_way = 0;
    std::atomic<bool> destroyed = false;
    std::atomic<int> calls = 0;
    std::latch begun(1);
    std::latch ended(4);
    WaitEngine engine(engine_options);
    std::optional<BatchPoller<std::string, int>> poller;
    poller.emplace(
        engine,
        [&](absl::Span<const std::string>) -> absl::StatusOr<Answer> {
          EXPECT_FALSE(destroyed);
          ++under_way;
          if (++calls == 2) begun.count_down();
          std::this_thread::sleep_for(std::chrono::milliseconds(30));
          EXPECT_FALSE(destroyed);
          --under_way;
          return Answer();
        },
        BatchOptions{.max_batch = 1});
    const std::vector<WaitHandle> waits = StartKeys(*poller, 4, ended);
    begun.wait();

    poller.reset();

    EXPECT_EQ(under_way, 0);
    destroyed = true;
    ended.wait();
  }
}

TEST(BatchPollerEndTest, CallThatDestroysThePollerAwaitsTheOthers) {
  WaitEngine engine({.threads = 2});
  std::optional<BatchPoller<std::string, int>> poller;
  std::latch second_began(1);
  std::latch ended(2);
  std::atomic<bool> second_ended = false;
  std::atomic<int> calls = 0;
  poller.emplace(
      engine,
      [&](absl::Span<const std::string>) -> absl::StatusOr<Answer> {
        if (++calls == 1) {
          second_began.wait();
          poller.reset();
          EXPECT_TRUE(second_ended);
        } else {
          second_began.count_down();
          std::this_thread::sleep_for(std::chrono::milliseconds(30));
          second_ended = true;
        }
        return Answer();
      },
      BatchOptions{.max_batch = 1});
  const std::vector<WaitHandle> waits = StartKeys(*poller, 2, ended);
  ended.wait();
  EXPECT_EQ(calls, 2);
}

// The alarm of a batch is a wait on the engine, and may be lost there.
TEST(BatchPollerExecutorTest, KeysOfACallThatTheExecutorLostArePolledAgain) {
  for (const bool throws : {false, true}) {
    SimulatedClock clock;
    int tasks = 0;
    WaitEngineOptions options;
    options.threads = 0;
    options.clock = &clock;
    options.executor = [&](Task task) {
      if (++tasks > 1) return task();
      if (throws) throw std::runtime_error("the pool is full");
    };
    WaitEngine engine(options);
    BatchPoller<std::string, int> poller(
        engine, [](absl::Span<const std::string> keys) {
          Answer answer;
          for (const std::string& key : keys) answer.emplace(key, Success(7));
          return absl::StatusOr<Answer>(std::move(answer));
        });
    std::optional<WaitReport> report;
    const WaitHandle wait = poller.Start(
        "a", WaitOptions{.timeout = absl::Seconds(20), .clock = &clock},
        [&](WaitResult<int> result) { report = std::move(result).report(); });
    engine.Run();

    ASSERT_TRUE(report.has_value());
    EXPECT_EQ(report->reason, StopReason::kSuccess);
    EXPECT_EQ(report->count(PollStatus::kServerError), 1);
  }
}

}  // namespace
}  // namespace waiter::batch_poller_test
