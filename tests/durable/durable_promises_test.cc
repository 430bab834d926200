// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// Tests the promises of the headers of durable waits in edge cases: odd stores,
// odd arguments, and functions that destroy their callers.

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <latch>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/random/random.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "cli/sim/budget_book.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/durable/bent_wait_store.h"
#include "tests/durable/durable_world.h"
#include "tests/durable/live_wait_store.h"
#include "tests/support/first_seed.h"
#include "tests/support/joining_thread.h"
#include "tests/support/memory_wait_store.h"
#include "tests/support/simulated_budget_store.h"
#include "tests/support/status_matchers.h"
#include "tests/support/wait_book.h"
#include "waiter/budgets.h"
#include "waiter/clock.h"
#include "waiter/durable/client.h"
#include "waiter/durable/store.h"
#include "waiter/durable/worker.h"
#include "waiter/engine/async_waiter.h"
#include "waiter/engine/engine.h"
#include "waiter/engine/handle.h"
#include "waiter/options.h"
#include "waiter/poll.h"
#include "waiter/redis/shared_budgets.h"
#include "waiter/result.h"
#include "waiter/testing/simulated_clock.h"
#include "waiter/token.h"

namespace waiter {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::Ge;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Le;
using ::testing::SizeIs;
using ::testing::StartsWith;
using Phase = DurableStatus::Phase;

constexpr int64_t kLeast = std::numeric_limits<int64_t>::min();
constexpr int64_t kMost = std::numeric_limits<int64_t>::max();

// Returns requests with the keys k0, k1, ...
std::vector<DurableRequest> Requests(int count) {
  std::vector<DurableRequest> requests(static_cast<size_t>(count));
  for (int i = 0; i < count; ++i) {
    requests[static_cast<size_t>(i)].key = absl::StrCat("k", i);
  }
  return requests;
}

// A client and workers of one name on one store, whose replies a test may
// change.
class Bench {
 public:
  using Step = std::function<void(absl::StatusOr<int64_t>)>;

  Bench() = default;

  DurableClient& client() {
    if (client_ == nullptr) {
      client_ = *DurableClient::Make(store, {.partitions = options.partitions,
                                             .max_pending = max_pending});
    }
    return *client_;
  }

  DurableWaits& AddWorker() {
    workers.push_back(*DurableWaits::Make(store, options));
    EXPECT_TRUE(workers.back()
                    ->Register(
                        "job", policy,
                        [this](const DurablePoll& poll) {
                          polls.push_back(clock.Elapsed());
                          return function(poll);
                        },
                        handler == nullptr
                            ? DurableHandler()
                            : [this](const DurableResult& result) {
                                results.push_back(result);
                                result_times.push_back(clock.Elapsed());
                                return handler(result);
                              })
                    .ok());
    workers.back()->Start();
    return *workers.back();
  }

  void Run(absl::Duration time, absl::Duration step = absl::Milliseconds(20)) {
    const absl::Duration end = clock.Elapsed() + time;
    while (clock.Elapsed() < end) {
      clock.AdvanceTime(std::min(step, end - clock.Elapsed()));
      for (const auto& worker : workers) {
        if (worker != nullptr) (void)worker->RunDue();
      }
    }
  }

  // Runs the clock until `ask` has called back.
  template <typename T>
  absl::StatusOr<T> Ask(
      const std::function<void(DurableClient::Callback<T>)>& ask) {
    struct Answer {
      int count = 0;
      absl::StatusOr<T> got = absl::UnknownError("no answer");
    };
    const auto answer = std::make_shared<Answer>();
    ask([answer](absl::StatusOr<T> got) {
      ++answer->count;
      answer->got = std::move(got);
    });
    EXPECT_EQ(answer->count, 0) << "called back inside the call";
    for (int i = 0; i < 10'000 && answer->count == 0; ++i) {
      Run(absl::Milliseconds(1));
    }
    Run(absl::Milliseconds(10));
    EXPECT_EQ(answer->count, 1);
    return answer->got;
  }

  absl::StatusOr<bool> Enqueue(DurableRequest request,
                               const std::string& name = "job") {
    return Ask<bool>([&](DurableClient::Callback<bool> callback) {
      client().Enqueue(name, std::move(request), std::move(callback));
    });
  }
  absl::StatusOr<int64_t> EnqueueMany(std::vector<DurableRequest> requests,
                                      const std::string& name = "job") {
    return Ask<int64_t>([&](DurableClient::Callback<int64_t> callback) {
      client().EnqueueMany(name, std::move(requests), std::move(callback));
    });
  }
  absl::StatusOr<DurableStatus> Get(const std::string& key,
                                    const std::string& name = "job") {
    return Ask<DurableStatus>(
        [&](DurableClient::Callback<DurableStatus> callback) {
          client().Get(name, key, std::move(callback));
        });
  }
  absl::StatusOr<DurableStatus> Cancel(const std::string& key,
                                       const std::string& name = "job") {
    return Ask<DurableStatus>(
        [&](DurableClient::Callback<DurableStatus> callback) {
          client().Cancel(name, key, std::move(callback));
        });
  }
  absl::StatusOr<DurableClient::Listed> List(const std::string& cursor,
                                             const std::string& name = "job") {
    return Ask<DurableClient::Listed>(
        [&](DurableClient::Callback<DurableClient::Listed> callback) {
          client().List(name, cursor, std::move(callback));
        });
  }
  absl::StatusOr<DurableStats> Stats(const std::string& name = "job") {
    return Ask<DurableStats>(
        [&](DurableClient::Callback<DurableStats> callback) {
          client().Stats(name, std::move(callback));
        });
  }

  // Returns the errors of all calls with this name and key.
  std::vector<absl::Status> Errors(const std::string& name,
                                   const std::string& key) {
    return {Enqueue({.key = key}, name).status(),
            EnqueueMany({{.key = key}}, name).status(), Get(key, name).status(),
            Cancel(key, name).status()};
  }

  SimulatedClock clock{SimulatedClock::Mode::kManual};
  const std::shared_ptr<WaitBook> book = std::make_shared<WaitBook>();
  const std::shared_ptr<MemoryWaitStore> memory =
      std::make_shared<MemoryWaitStore>(clock, book);
  const std::shared_ptr<BentWaitStore> store =
      std::make_shared<BentWaitStore>(memory);
  DurableWaitsOptions options = {.threads = 0, .partitions = 2};
  int64_t max_pending = 1'000'000;
  WaitOptions policy = {.timeout = absl::Hours(1),
                        .backoff = Every(absl::Seconds(10))};
  std::function<Poll<std::string>(const DurablePoll&)> function =
      [](const DurablePoll&) -> Poll<std::string> { return NotReady(); };
  std::function<absl::Status(const DurableResult&)> handler =
      [](const DurableResult&) { return absl::OkStatus(); };

  std::vector<absl::Duration> polls;
  std::vector<DurableResult> results;
  std::vector<absl::Duration> result_times;
  std::vector<std::unique_ptr<DurableWaits>> workers;

 private:
  std::unique_ptr<DurableClient> client_;
};

Poll<std::string> Done(const DurablePoll& /*poll*/) {
  return Success(std::string("done"));
}

const std::string& AllBytes() {
  static const auto* const bytes = [] {
    auto* const all = new std::string;
    for (int i = 0; i < 128; ++i) all->push_back(static_cast<char>(2 * i));
    return all;
  }();
  return *bytes;
}

// Names, keys, args and times.

TEST(DurablePromisesTest, KeysArgsAndValuesHaveAnyBytes) {
  for (const std::string& key :
       {std::string(1, '\0'), std::string("a\nb"), std::string("ключ 鍵"),
        std::string(" "), std::string("0"), std::string("{a}:*?\r\n$-1"),
        AllBytes(), std::string(128, '\xff')}) {
    Bench bench;
    std::string seen_key;
    std::string seen_args;
    bench.function = [&](const DurablePoll& poll) -> Poll<std::string> {
      seen_key = poll.key;
      seen_args = poll.args;
      if (bench.polls.size() == 1) return NotReady(key);
      return Success(key);
    };
    bench.AddWorker();
    ASSERT_TRUE(*bench.Enqueue({.key = key, .args = key}));
    bench.Run(absl::Seconds(5));
    const DurableStatus pending = *bench.Get(key);
    EXPECT_EQ(pending.phase, Phase::kPending);
    EXPECT_EQ(pending.key, key);
    EXPECT_EQ(pending.args, key);
    EXPECT_EQ(pending.attempts, 1);
    bench.Run(absl::Seconds(10));
    EXPECT_EQ(seen_key, key);
    EXPECT_EQ(seen_args, key);
    ASSERT_THAT(bench.results, SizeIs(1));
    EXPECT_EQ(bench.results[0].key, key);
    EXPECT_EQ(*bench.results[0].value, key);
    const DurableStatus status = *bench.Get(key);
    EXPECT_EQ(status.phase, Phase::kDelivered);
    ASSERT_TRUE(status.result.has_value());
    EXPECT_EQ(*status.result->value, key);
    EXPECT_EQ(status.result->name, "job");
    EXPECT_EQ(status.result->key, key);
    const DurableClient::Listed listed = *bench.List("");
    EXPECT_LE(listed.waits.size(), 1);
  }
}

TEST(DurablePromisesTest, LongestKeyArgsAndValueArePassedOnAndLongerRefused) {
  Bench bench;
  const std::string value(size_t{64} * 1024, '\0');
  std::string seen_args;
  bench.function = [&](const DurablePoll& poll) -> Poll<std::string> {
    seen_args = poll.args;
    return Success(value);
  };
  bench.AddWorker();
  const std::string args(size_t{16} * 1024, '\xfe');
  EXPECT_TRUE(*bench.Enqueue({.key = std::string(128, 'k'), .args = args}));
  bench.Run(absl::Seconds(2));
  EXPECT_EQ(seen_args, args);
  ASSERT_THAT(bench.results, SizeIs(1));
  EXPECT_EQ(*bench.results[0].value, value);
  EXPECT_EQ(*bench.Get(std::string(128, 'k'))->result->value, value);

  EXPECT_THAT(bench.Enqueue({.key = "a", .args = args + "x"}).status(),
              StatusIs(absl::StatusCode::kInvalidArgument));
  for (const std::string& key : {std::string(), std::string(129, 'k')}) {
    for (const absl::Status& error : bench.Errors("job", key)) {
      EXPECT_THAT(error, StatusIs(absl::StatusCode::kInvalidArgument));
    }
  }
}

TEST(DurablePromisesTest, NamesOutsideOfTheRuleAreRefusedByAllCalls) {
  Bench bench;
  const std::string longest = std::string(61, 'n') + "_.-";
  for (const absl::Status& status : bench.Errors(longest, "k")) {
    EXPECT_TRUE(status.ok()) << status;
  }
  const int64_t calls = bench.store->calls;
  for (const std::string& name :
       {std::string(), std::string(65, 'n'), std::string("a b"),
        std::string("a/b"), std::string("a}"), std::string("a\0b", 3),
        std::string("é")}) {
    auto errors = bench.Errors(name, "k");
    errors.push_back(bench.List("", name).status());
    errors.push_back(bench.Stats(name).status());
    for (const absl::Status& error : errors) {
      EXPECT_THAT(error, StatusIs(absl::StatusCode::kInvalidArgument));
    }
    auto waits = *DurableWaits::Make(bench.store, bench.options);
    EXPECT_THAT(waits->Register(name, bench.policy, Done),
                StatusIs(absl::StatusCode::kInvalidArgument));
  }
  EXPECT_EQ(bench.store->calls, calls);
}

TEST(DurablePromisesTest, ClientsOptionsOutsideOfTheirRangesAreRefused) {
  Bench bench;
  for (const DurableClientOptions& options :
       {DurableClientOptions{.space = ""},
        DurableClientOptions{.space = std::string(65, 's')},
        DurableClientOptions{.space = "a/b"},
        DurableClientOptions{.partitions = 0},
        DurableClientOptions{.partitions = -1},
        DurableClientOptions{.partitions = 4097},
        DurableClientOptions{.max_pending = 0},
        DurableClientOptions{.max_pending = kLeast}}) {
    EXPECT_THAT(DurableClient::Make(bench.store, options).status(),
                StatusIs(absl::StatusCode::kInvalidArgument));
  }
  EXPECT_THAT(DurableClient::Make(nullptr, {}).status(),
              StatusIs(absl::StatusCode::kInvalidArgument));
  EXPECT_THAT(DurableWaits::Make(nullptr, {}).status(),
              StatusIs(absl::StatusCode::kInvalidArgument));
  EXPECT_TRUE(DurableClient::Make(bench.store,
                                  {.partitions = 4096, .max_pending = kMost})
                  .ok());
}

TEST(DurablePromisesTest, OneWaitPerPartitionFitsWhateverTheLimit) {
  Bench bench;
  bench.options.partitions = 16;
  bench.max_pending = 1;
  EXPECT_TRUE(bench.Enqueue({.key = "a"}).ok());
  EXPECT_THAT(bench.EnqueueMany(
                  std::vector<DurableRequest>({{.key = "a"}, {.key = "a"}})),
              testing::ResultOf([](const auto& count) { return *count; }, 0));
}

TEST(DurablePromisesTest, TimeoutOfARequestReplacesThatOfThePolicy) {
  struct Case {
    absl::Duration timeout;
    absl::Duration ends;
    size_t polls;
  };
  constexpr std::array<Case, 4> kCases = {{
      {absl::ZeroDuration(), absl::ZeroDuration(), 1},
      {absl::Nanoseconds(1), absl::ZeroDuration(), 1},
      {absl::Seconds(25), absl::Seconds(25), 4},
      {absl::Hours(2), absl::Hours(2), 721},
  }};
  for (const Case& c : kCases) {
    SCOPED_TRACE(c.timeout);
    Bench bench;
    bench.AddWorker();
    ASSERT_TRUE(bench.Enqueue({.key = "a", .timeout = c.timeout}).ok());
    bench.Run(c.ends + absl::Seconds(2));
    ASSERT_THAT(bench.results, SizeIs(1));
    EXPECT_EQ(bench.results[0].reason, StopReason::kDeadline);
    EXPECT_THAT(bench.results[0].value.status(),
                StatusIs(absl::StatusCode::kDeadlineExceeded));
    EXPECT_GE(bench.results[0].elapsed, c.ends);
    EXPECT_LE(bench.results[0].elapsed, c.ends + absl::Seconds(1.5));
    EXPECT_GE(bench.polls.size(), std::min<size_t>(c.polls, 4));
    EXPECT_LE(bench.polls.size(), c.polls + 1);
  }
}

TEST(DurablePromisesTest, InfiniteTimeoutOfThePolicyNeverEnds) {
  Bench bench;
  bench.policy.backoff = Every(absl::Hours(1));
  bench.policy.timeout = absl::InfiniteDuration();
  bench.AddWorker();
  ASSERT_TRUE(bench.Enqueue({.key = "a"}).ok());
  bench.Run(absl::Hours(5), absl::Seconds(5));
  EXPECT_THAT(bench.results, IsEmpty());
  EXPECT_THAT(bench.polls, SizeIs(AllOf(Ge(4), Le(6))));
}

TEST(DurablePromisesTest, TimesOutsideOfTheirRangesAreRefused) {
  Bench bench;
  for (const absl::Duration time :
       {-absl::Nanoseconds(1), -absl::Seconds(1), -absl::InfiniteDuration(),
        absl::Hours(876'001), absl::InfiniteDuration()}) {
    EXPECT_THAT(
        bench.Enqueue({.key = "a", .timeout = time}).status(),
        StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("timeout")))
        << time;
    EXPECT_THAT(
        bench.Enqueue({.key = "a", .first_delay = time}).status(),
        StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("first_delay")))
        << time;
  }
  EXPECT_TRUE(*bench.Enqueue({.key = "a",
                              .timeout = absl::Hours(876'000),
                              .first_delay = absl::Hours(876'000)}));
}

TEST(DurablePromisesTest, FirstDelayBeyondTheTimeoutStillDelays) {
  Bench bench;
  bench.AddWorker();
  ASSERT_TRUE(bench
                  .Enqueue({.key = "a",
                            .timeout = absl::Seconds(30),
                            .first_delay = absl::Minutes(2)})
                  .ok());
  bench.Run(absl::Minutes(1.9));
  EXPECT_THAT(bench.polls, IsEmpty());
  bench.Run(absl::Seconds(10));
  ASSERT_THAT(bench.results, SizeIs(1));
  EXPECT_EQ(bench.results[0].reason, StopReason::kDeadline);
  EXPECT_EQ(bench.results[0].attempts, 1);
}

// Policies.

TEST(DurablePromisesTest, SuccessesInARowAreCountedAcrossReleases) {
  Bench bench;
  bench.policy.confirm.successes = 3;
  bench.function = [&](const DurablePoll&) -> Poll<std::string> {
    if (bench.polls.size() == 2) return NotReady();
    return Success(std::string("up"));
  };
  bench.AddWorker();
  ASSERT_TRUE(bench.Enqueue({.key = "a"}).ok());
  bench.Run(absl::Minutes(2));
  ASSERT_THAT(bench.results, SizeIs(1));
  EXPECT_EQ(*bench.results[0].value, "up");
  EXPECT_EQ(bench.results[0].attempts, 5);
}

TEST(DurablePromisesTest, HoldIsMeasuredAcrossReleasesAndWorkers) {
  Bench bench;
  bench.policy.confirm.hold_for = absl::Seconds(63);
  bench.function = Done;
  bench.AddWorker();
  ASSERT_TRUE(bench.Enqueue({.key = "a"}).ok());
  bench.Run(absl::Seconds(25));
  bench.workers[0] = nullptr;
  bench.AddWorker();
  bench.Run(absl::Minutes(2));
  ASSERT_THAT(bench.results, SizeIs(1));
  EXPECT_EQ(bench.results[0].reason, StopReason::kSuccess);
  EXPECT_GE(bench.polls.back() - bench.polls.front(), absl::Seconds(63));
  EXPECT_LE(bench.polls.back() - bench.polls.front(), absl::Seconds(66));
}

TEST(DurablePromisesTest, FirstPollDelayOfThePolicyIsKept) {
  Bench bench;
  bench.policy.polls.first_delay = absl::Seconds(30);
  bench.AddWorker();
  ASSERT_TRUE(bench.Enqueue({.key = "a"}).ok());
  bench.Run(absl::Minutes(1));
  ASSERT_FALSE(bench.polls.empty());
  EXPECT_GE(bench.polls[0], absl::Seconds(30));
  EXPECT_LE(bench.polls[0], absl::Seconds(32));
}

TEST(DurablePromisesTest, QuotaThatRefusesEndsTheWait) {
  Bench bench;
  bench.policy.budgets.retry_quota =
      *RetryQuota::Make({.capacity = 10, .retry_cost = 5});
  bench.policy.errors.server_error_backoff = Every(absl::Seconds(7));
  bench.function = [](const DurablePoll&) -> Poll<std::string> {
    return ServerError("down");
  };
  bench.AddWorker();
  ASSERT_TRUE(bench.Enqueue({.key = "a"}).ok());
  bench.Run(absl::Minutes(2));
  ASSERT_THAT(bench.results, SizeIs(1));
  EXPECT_EQ(bench.results[0].reason, StopReason::kQuota);
  EXPECT_THAT(bench.results[0].value.status(),
              StatusIs(absl::StatusCode::kResourceExhausted));
  EXPECT_EQ(bench.results[0].attempts, 3);
}

class OnePerSecond final : public RateLimiter {
 public:
  MonotonicTime Acquire(MonotonicTime now) override {
    if (now < next_) return next_;
    next_ = now + std::chrono::seconds(1);
    return now;
  }
  void Update(MonotonicTime, PollStatus) override {}
  std::optional<double> Rate() const override { return 1; }
  std::shared_ptr<RateLimiter> MakeAlike() const override {
    return std::make_shared<OnePerSecond>();
  }

 private:
  MonotonicTime next_ = {};
};

TEST(DurablePromisesTest, LimiterHoldsForAllWaitsOfTheName) {
  Bench bench;
  bench.policy.budgets.rate_limiter = std::make_shared<OnePerSecond>();
  bench.function = Done;
  const std::vector<DurableRequest> requests = Requests(60);
  EXPECT_EQ(*bench.EnqueueMany(requests), 60);
  bench.AddWorker();
  bench.Run(absl::Seconds(90));
  EXPECT_THAT(bench.results, SizeIs(60));
  ASSERT_THAT(bench.polls, SizeIs(60));
  for (size_t i = 1; i < bench.polls.size(); ++i) {
    EXPECT_GE(bench.polls[i] - bench.polls[i - 1], absl::Seconds(1));
  }
  EXPECT_LE(bench.polls.back(), absl::Seconds(75));
}

TEST(DurablePromisesTest, OneAttemptIsOnePoll) {
  Bench bench;
  bench.policy.max_attempts = 1;
  bench.AddWorker();
  ASSERT_TRUE(bench.Enqueue({.key = "a"}).ok());
  bench.Run(absl::Seconds(30));
  EXPECT_THAT(bench.polls, SizeIs(1));
  ASSERT_THAT(bench.results, SizeIs(1));
  EXPECT_EQ(bench.results[0].reason, StopReason::kAttempts);
}

TEST(DurablePromisesTest, ContextIsThatOfTheWholeWait) {
  Bench bench;
  bench.policy.poll_timeout = absl::Seconds(3);
  std::vector<PollContext> contexts;
  bench.function = [&](const DurablePoll& poll) -> Poll<std::string> {
    contexts.push_back(poll.context);
    return NotReady();
  };
  bench.AddWorker();
  ASSERT_TRUE(bench.Enqueue({.key = "a"}).ok());
  bench.Run(absl::Seconds(35));
  bench.workers[0] = nullptr;
  bench.AddWorker();
  bench.Run(absl::Seconds(30));
  ASSERT_THAT(contexts, SizeIs(Ge(6)));
  for (size_t i = 0; i < contexts.size(); ++i) {
    EXPECT_EQ(contexts[i].attempt, static_cast<int64_t>(i) + 1);
    EXPECT_EQ(contexts[i].timeout, absl::Seconds(3));
    const absl::Duration since = bench.polls[i];
    EXPECT_LE(contexts[i].elapsed, since);
    EXPECT_GE(contexts[i].elapsed, since - absl::Seconds(1));
    EXPECT_EQ(contexts[i].last_status.has_value(), i > 0);
  }
}

TEST(DurablePromisesTest, GiveUpIsCalledOnceThoughTheWaitIsGivenBack) {
  Bench bench;
  bench.policy.timeout = absl::Seconds(35);
  std::vector<StopReason> gave_up;
  bench.policy.hooks.on_failure = [&](const WaitFailure& end) {
    gave_up.push_back(end.report.reason);
  };
  bench.AddWorker();
  ASSERT_TRUE(bench.Enqueue({.key = "a"}).ok());
  bench.Run(absl::Seconds(15));
  EXPECT_THAT(gave_up, IsEmpty());
  bench.workers[0] = nullptr;
  EXPECT_THAT(gave_up, IsEmpty());
  bench.AddWorker();
  bench.Run(absl::Minutes(1));
  EXPECT_THAT(gave_up, ElementsAre(StopReason::kDeadline));
}

TEST(DurablePromisesTest, NewPolicyAppliesExceptForTheDeadline) {
  Bench bench;
  bench.policy.timeout = absl::Minutes(2);
  bench.AddWorker();
  ASSERT_TRUE(bench.Enqueue({.key = "a"}).ok());
  bench.Run(absl::Seconds(15));
  bench.workers[0] = nullptr;
  bench.policy.timeout = absl::Hours(5);
  bench.policy.backoff = Every(absl::Seconds(50));
  bench.AddWorker();
  bench.Run(absl::Seconds(65));
  EXPECT_THAT(bench.polls, SizeIs(AllOf(Ge(3), Le(4))));
  bench.Run(absl::Minutes(1));
  ASSERT_THAT(bench.results, SizeIs(1));
  EXPECT_EQ(bench.results[0].reason, StopReason::kDeadline);
  EXPECT_LE(bench.results[0].elapsed, absl::Seconds(121));
}

TEST(DurablePromisesTest, ErrorOfAFailureIsKeptAndItsMessageCut) {
  Bench bench;
  bench.function = [](const DurablePoll& poll) -> Poll<std::string> {
    if (poll.key == "none") return Failed();
    return Failed(absl::DataLossError(poll.key == "long"
                                          ? std::string(5000, 'x')
                                          : std::string("a\0b\n", 4)));
  };
  bench.AddWorker();
  ASSERT_EQ(
      *bench.EnqueueMany({{.key = "long"}, {.key = "odd"}, {.key = "none"}}),
      3);
  bench.Run(absl::Seconds(3));
  ASSERT_THAT(bench.results, SizeIs(3));
  for (const DurableResult& result : bench.results) {
    EXPECT_EQ(result.reason, StopReason::kFailed);
    const absl::Status& status = result.value.status();
    if (result.key == "none") {
      EXPECT_THAT(status, StatusIs(absl::StatusCode::kUnknown));
    } else if (result.key == "long") {
      EXPECT_THAT(status, StatusIs(absl::StatusCode::kDataLoss,
                                   std::string(1000, 'x')));
    } else {
      EXPECT_THAT(status, StatusIs(absl::StatusCode::kDataLoss,
                                   StartsWith(std::string("a\0b\n", 4) +
                                              " (odd, after 1 attempt in ")));
    }
    EXPECT_EQ(bench.Get(result.key)->result->value.status(), status);
  }
}

// Results.

TEST(DurablePromisesTest, WithoutAHandlerResultsAreKeptForGet) {
  Bench bench;
  bench.handler = nullptr;
  bench.function = Done;
  DurableWaits& waits = bench.AddWorker();
  ASSERT_TRUE(bench.Enqueue({.key = "a"}).ok());
  bench.Run(absl::Seconds(2));
  const DurableStatus status = *bench.Get("a");
  EXPECT_EQ(status.phase, Phase::kDelivered);
  EXPECT_EQ(*status.result->value, "done");
  EXPECT_EQ(status.due, absl::InfiniteFuture());
  EXPECT_FALSE(status.is_held);
  EXPECT_EQ(waits.State().ended, 1);
  EXPECT_EQ(waits.State().held, 0);
}

TEST(DurablePromisesTest, NothingIsKeptWithNoTimeToRetain) {
  for (const bool has_handler : {false, true}) {
    Bench bench;
    bench.options.retain = absl::ZeroDuration();
    if (!has_handler) bench.handler = nullptr;
    bench.function = Done;
    bench.AddWorker();
    ASSERT_TRUE(*bench.Enqueue({.key = "a"}));
    bench.Run(absl::Seconds(2));
    EXPECT_EQ(bench.Get("a")->phase, Phase::kUnknown);
    EXPECT_TRUE(*bench.Enqueue({.key = "a"}));
    bench.Run(absl::Seconds(2));
    EXPECT_THAT(bench.results, SizeIs(has_handler ? 2 : 0));
  }
}

TEST(DurablePromisesTest, HandlersAreCalledLaterAndLaterButWithinFiveMinutes) {
  Bench bench;
  bench.function = Done;
  bench.handler = [](const DurableResult&) {
    return absl::InternalError("busy");
  };
  bench.AddWorker();
  ASSERT_TRUE(bench.Enqueue({.key = "a"}).ok());
  bench.Run(absl::Hours(1), absl::Milliseconds(200));
  ASSERT_THAT(bench.results, SizeIs(Ge(16)));
  EXPECT_THAT(bench.results, SizeIs(Le(30)));
  EXPECT_LE(bench.result_times[1] - bench.result_times[0], absl::Seconds(2.5));
  EXPECT_GE(bench.result_times[1] - bench.result_times[0], absl::Seconds(1));
  for (size_t i = 1; i < bench.results.size(); ++i) {
    EXPECT_EQ(bench.results[i].delivery, static_cast<int64_t>(i) + 1);
    EXPECT_LE(bench.result_times[i] - bench.result_times[i - 1],
              absl::Minutes(5) + absl::Seconds(2));
  }
  EXPECT_EQ(bench.Get("a")->phase, Phase::kEnded);
  EXPECT_EQ(*bench.Get("a")->result->value, "done");
}

TEST(DurablePromisesTest, IdempotencyKeysDifferByNameSpaceAndKey) {
  Bench bench;
  std::set<std::string> keys;
  bench.function = Done;
  bench.options.space = "other";
  auto client = *DurableClient::Make(bench.store, {.partitions = 2});
  auto other =
      *DurableClient::Make(bench.store, {.space = "other", .partitions = 2});
  std::vector<DurableResult> results;
  for (const char* const space : {"default", "other"}) {
    bench.options.space = space;
    bench.workers.push_back(*DurableWaits::Make(bench.store, bench.options));
    for (const char* const name : {"x", "y"}) {
      ASSERT_TRUE(bench.workers.back()
                      ->Register(name, bench.policy, Done,
                                 [&](const DurableResult& result) {
                                   keys.insert(result.idempotency_key);
                                   results.push_back(result);
                                   return absl::OkStatus();
                                 })
                      .ok());
    }
    bench.workers.back()->Start();
  }
  for (const char* const name : {"x", "y"}) {
    for (DurableClient* const each : {client.get(), other.get()}) {
      each->EnqueueMany(
          name, {{.key = "a"}, {.key = "b"}, {.key = "a b"}},
          [](absl::StatusOr<int64_t> count) { EXPECT_EQ(*count, 3); });
    }
  }
  bench.Run(absl::Seconds(3));
  EXPECT_THAT(results, SizeIs(12));
  EXPECT_THAT(keys, SizeIs(12));
}

TEST(DurablePromisesTest, StatusSaysWhatIsKnownOfAPendingWait) {
  Bench bench;
  bench.function = [](const DurablePoll&) -> Poll<std::string> {
    return NotReady("building 7%");
  };
  bench.Run(absl::Seconds(3));
  ASSERT_TRUE(bench.Enqueue({.key = "a", .args = "x"}).ok());
  const absl::Time enqueued =
      absl::FromUnixMicros(MemoryWaitStore::StoreTime(bench.clock));
  DurableStatus status = *bench.Get("a");
  EXPECT_EQ(status.phase, Phase::kPending);
  EXPECT_LE(absl::AbsDuration(status.enqueued - enqueued),
            absl::Milliseconds(50));
  EXPECT_LE(absl::AbsDuration(status.due - enqueued), absl::Milliseconds(50));
  EXPECT_EQ(status.attempts, 0);
  EXPECT_EQ(status.last_poll, "");
  bench.AddWorker();
  bench.Run(absl::Seconds(5));
  status = *bench.Get("a");
  EXPECT_EQ(status.attempts, 1);
  EXPECT_EQ(status.args, "x");
  EXPECT_THAT(status.last_poll, HasSubstr("building 7%"));
  EXPECT_FALSE(status.is_cancelled);
  EXPECT_FALSE(status.result.has_value());
  EXPECT_LE(absl::AbsDuration(status.enqueued - enqueued),
            absl::Milliseconds(50));
  EXPECT_GE(status.due - enqueued, absl::Seconds(10));
  EXPECT_LE(status.due - enqueued, absl::Seconds(12));
  const DurableStatus nothing = *bench.Get("nothing");
  EXPECT_EQ(nothing.phase, Phase::kUnknown);
  EXPECT_EQ(nothing.key, "nothing");
  EXPECT_EQ(nothing.enqueued, absl::InfinitePast());
  EXPECT_EQ(nothing.due, absl::InfiniteFuture());
  EXPECT_FALSE(nothing.result.has_value());
  for (const auto& [phase, text] :
       std::map<Phase, std::string>{{Phase::kUnknown, "unknown"},
                                    {Phase::kPending, "pending"},
                                    {Phase::kEnded, "ended"},
                                    {Phase::kDelivered, "delivered"}}) {
    EXPECT_EQ(ToString(phase), text);
  }
}

TEST(DurablePromisesTest, CancelOfAWaitThatHasEndedChangesNothing) {
  Bench bench;
  bench.function = Done;
  bench.handler = [&](const DurableResult&) {
    return bench.results.size() < 4 ? absl::InternalError("busy")
                                    : absl::OkStatus();
  };
  bench.AddWorker();
  ASSERT_TRUE(bench.Enqueue({.key = "a"}).ok());
  bench.Run(absl::Seconds(1));
  const DurableStatus ended = *bench.Cancel("a");
  EXPECT_EQ(ended.phase, Phase::kEnded);
  EXPECT_FALSE(ended.is_cancelled);
  bench.Run(absl::Seconds(20));
  ASSERT_THAT(bench.results, SizeIs(4));
  for (const DurableResult& result : bench.results) {
    EXPECT_EQ(*result.value, "done");
  }
}

TEST(DurablePromisesTest, CancelSaysThatItWasAskedFor) {
  Bench bench;
  ASSERT_TRUE(bench.Enqueue({.key = "a", .first_delay = absl::Hours(1)}).ok());
  EXPECT_TRUE(bench.Cancel("a")->is_cancelled);
  EXPECT_TRUE(bench.Get("a")->is_cancelled);
  bench.AddWorker();
  bench.Run(absl::Seconds(2));
  ASSERT_THAT(bench.results, SizeIs(1));
  EXPECT_THAT(bench.results[0].value.status(),
              StatusIs(absl::StatusCode::kCancelled));
  EXPECT_THAT(bench.polls, IsEmpty());
}

TEST(DurablePromisesTest, StateCountsSinceTheStart) {
  Bench bench;
  bench.function = [](const DurablePoll& poll) -> Poll<std::string> {
    if (poll.context.attempt < 3) return NotReady();
    return Success(std::string("x"));
  };
  DurableWaits& waits = bench.AddWorker();
  ASSERT_EQ(*bench.EnqueueMany({{.key = "a"}, {.key = "b"}}), 2);
  bench.Run(absl::Minutes(1));
  const DurableWaitsState state = waits.State();
  EXPECT_EQ(state.held, 0);
  EXPECT_EQ(state.claimed, 6);
  EXPECT_EQ(state.polls, 6);
  EXPECT_EQ(state.ended, 2);
  EXPECT_EQ(state.delivered, 2);
  EXPECT_EQ(state.lost, 0);
  EXPECT_EQ(state.unreadable, 0);
  EXPECT_TRUE(state.last_error.ok());
}

TEST(DurablePromisesTest, ClaimsAreNoLargerThanTheBatch) {
  Bench bench;
  bench.options.claim_batch = 3;
  bench.function = Done;
  const std::vector<DurableRequest> requests = Requests(100);
  ASSERT_EQ(*bench.EnqueueMany(requests), 100);
  bench.AddWorker();
  bench.Run(absl::Seconds(5));
  EXPECT_THAT(bench.results, SizeIs(100));
  EXPECT_LE(bench.store->most_claimed, 3);
}

// Functions that throw.

#ifdef __cpp_exceptions
TEST(DurablePromisesTest, ThrowingStatusFunctionFailsItsWaitAlone) {
  Bench bench;
  bench.function = [](const DurablePoll& poll) -> Poll<std::string> {
    if (poll.key == "bad") throw std::runtime_error("boom");
    return Success(std::string("fine"));
  };
  bench.AddWorker();
  ASSERT_EQ(*bench.EnqueueMany({{.key = "bad"}, {.key = "good"}}), 2);
  bench.Run(absl::Seconds(3));
  ASSERT_THAT(bench.results, SizeIs(2));
  for (const DurableResult& result : bench.results) {
    if (result.key == "good") {
      EXPECT_TRUE(result.value.ok());
    } else {
      EXPECT_EQ(result.reason, StopReason::kFailed);
      EXPECT_THAT(result.value.status(), StatusIs(absl::StatusCode::kUnknown));
    }
  }
}

TEST(DurablePromisesTest, ThrowingHandlerIsCalledAgain) {
  Bench bench;
  bench.function = Done;
  bench.handler = [&](const DurableResult&) -> absl::Status {
    if (bench.results.size() < 3) throw std::runtime_error("boom");
    return absl::OkStatus();
  };
  DurableWaits& waits = bench.AddWorker();
  ASSERT_TRUE(bench.Enqueue({.key = "a"}).ok());
  bench.Run(absl::Seconds(20));
  EXPECT_THAT(bench.results, SizeIs(3));
  EXPECT_EQ(waits.State().delivered, 1);
  EXPECT_EQ(waits.State().held, 0);
}
#endif

// Many waits, and lists of them.

TEST(DurablePromisesTest, EnqueueManyCountsWhatIsNew) {
  Bench bench;
  EXPECT_EQ(*bench.EnqueueMany({}), 0);
  EXPECT_EQ(*bench.EnqueueMany({{.key = "a"}, {.key = "b"}, {.key = "a"}}), 2);
  EXPECT_EQ(*bench.EnqueueMany({{.key = "b"}, {.key = "c"}}), 1);
  std::vector<DurableRequest> requests = Requests(700);
  requests.resize(1000);
  std::copy_n(requests.begin(), 300, requests.begin() + 700);
  for (DurableRequest& request : requests) request.args.assign(1000, 'a');
  EXPECT_EQ(*bench.EnqueueMany(requests), 700);
  EXPECT_EQ(*bench.EnqueueMany(requests), 0);
  EXPECT_EQ(bench.Stats()->pending, 703);
}

TEST(DurablePromisesTest, EnqueueManyWithOneBadRequestHasNoEffect) {
  Bench bench;
  std::vector<DurableRequest> requests = Requests(100);
  requests[57].key = "";
  EXPECT_THAT(bench.EnqueueMany(requests).status(),
              StatusIs(absl::StatusCode::kInvalidArgument));
  EXPECT_EQ(bench.Stats()->pending, 0);
}

TEST(DurablePromisesTest, FullPartitionRefusesAndOthersMayTake) {
  Bench bench;
  bench.max_pending = 20;
  const std::vector<DurableRequest> requests = Requests(100);
  EXPECT_THAT(bench.EnqueueMany(requests).status(),
              StatusIs(absl::StatusCode::kResourceExhausted));
  for (const DurableRequest& request : requests) {
    const absl::Status status = bench.Enqueue(request).status();
    EXPECT_TRUE(status.ok() || absl::IsResourceExhausted(status)) << status;
  }
  EXPECT_LE(bench.Stats()->pending, 20);
  EXPECT_GE(bench.Stats()->pending, 10);
  // Enqueues of existing keys still succeed.
  const DurableClient::Listed listed = *bench.List("");
  for (const DurableStatus& wait : listed.waits) {
    EXPECT_FALSE(*bench.Enqueue({.key = wait.key}));
  }
}

TEST(DurablePromisesTest, ListStepsThroughAllWaitsPendingAndKept) {
  Bench bench;
  bench.options.partitions = 5;
  bench.function = [](const DurablePoll& poll) -> Poll<std::string> {
    if (poll.key.back() == '7') return Success(std::string("seven"));
    return NotReady();
  };
  const std::vector<DurableRequest> requests = Requests(300);
  ASSERT_EQ(*bench.EnqueueMany(requests), 300);
  bench.AddWorker();
  bench.Run(absl::Seconds(3));
  std::map<std::string, Phase> seen;
  std::string cursor;
  int steps = 0;
  do {
    const absl::StatusOr<DurableClient::Listed> listed = bench.List(cursor);
    ASSERT_TRUE(listed.ok()) << listed.status();
    for (const DurableStatus& wait : listed->waits) {
      seen[wait.key] = wait.phase;
    }
    cursor = listed->cursor;
  } while (!cursor.empty() && ++steps < 100);
  EXPECT_THAT(cursor, IsEmpty());
  EXPECT_THAT(seen, SizeIs(300));
  for (const auto& [key, phase] : seen) {
    EXPECT_EQ(phase, key.back() == '7' ? Phase::kDelivered : Phase::kPending);
  }
}

TEST(DurablePromisesTest, CursorsThatListDidNotReturnAreRefused) {
  Bench bench;
  ASSERT_TRUE(bench.Enqueue({.key = "a"}).ok());
  for (const std::string& cursor :
       {std::string("x"), std::string("2:0"), std::string("-1:0"),
        std::string("99999999999999999999:0"), std::string("4096:0"),
        std::string(":"), std::string("1"), std::string(1, '\0'),
        std::string(100'000, '0'), std::string("+1:0")}) {
    const absl::StatusOr<DurableClient::Listed> listed = bench.List(cursor);
    EXPECT_THAT(listed.status(), StatusIs(absl::StatusCode::kInvalidArgument))
        << cursor.substr(0, 40);
  }
}

TEST(DurablePromisesTest, EveryCallOfAnotherDivisionIsRefused) {
  Bench bench;
  bench.options.partitions = 3;
  ASSERT_TRUE(bench.Enqueue({.key = "a"}).ok());
  Bench other;
  auto client = *DurableClient::Make(bench.store, {.partitions = 4});
  std::vector<absl::Status> errors;
  for (int turn = 0; turn < 2; ++turn) {
    const auto note = [&](const auto& got) { errors.push_back(got.status()); };
    client->Enqueue("job", {.key = "a"}, note);
    client->EnqueueMany("job", {{.key = "a"}}, note);
    client->Get("job", "a", note);
    client->Cancel("job", "a", note);
    client->List("job", "", note);
    client->Stats("job", note);
    bench.Run(absl::Seconds(1));
    EXPECT_THAT(errors, SizeIs(6 * (turn + 1)));
  }
  for (const absl::Status& error : errors) {
    EXPECT_THAT(error, StatusIs(absl::StatusCode::kFailedPrecondition,
                                AllOf(HasSubstr("3"), HasSubstr("4"))));
  }
  EXPECT_FALSE(bench.Get("a")->is_cancelled);
}

// The order in which threads claim and poll must not matter.
TEST(DurablePromisesTest, CancelledWaitsAreNotPolledByTheThreadsOfAnEngine) {
  constexpr int kWaits = 10'000;
  const auto store =
      std::make_shared<LiveWaitStore>(std::make_shared<LiveWaitStore::Book>());
  const auto client = *DurableClient::Make(store, {.partitions = 2});
  const std::vector<DurableRequest> requests = Requests(kWaits);
  std::latch enqueued(1);
  std::latch cancelled(kWaits);
  client->EnqueueMany("job", requests,
                      [&](const absl::StatusOr<int64_t>& count) {
                        EXPECT_EQ(*count, kWaits);
                        enqueued.count_down();
                      });
  enqueued.wait();
  for (const DurableRequest& request : requests) {
    client->Cancel("job", request.key,
                   [&](const absl::StatusOr<DurableStatus>& status) {
                     EXPECT_EQ(status->phase, Phase::kPending);
                     cancelled.count_down();
                   });
  }
  cancelled.wait();
  std::atomic<int> polls = 0;
  std::atomic<int> delivered = 0;
  std::latch left(kWaits);
  const auto waits =
      *DurableWaits::Make(store, {.threads = 2, .partitions = 2});
  ASSERT_TRUE(waits
                  ->Register(
                      "job", {.timeout = absl::Hours(1)},
                      [&](const DurablePoll&) -> Poll<std::string> {
                        ++polls;
                        return NotReady();
                      },
                      [&](const DurableResult& result) {
                        EXPECT_EQ(result.reason, StopReason::kCancelled);
                        EXPECT_EQ(result.attempts, 0);
                        if (++delivered <= kWaits) left.count_down();
                        return absl::OkStatus();
                      })
                  .ok());
  waits->Start();
  left.wait();
  EXPECT_EQ(polls, 0);
}

TEST(DurablePromisesTest, RefusalOfTheStoreIsToldUntilItOpensTheName) {
  Bench bench;
  ASSERT_TRUE(bench.Enqueue({.key = "a"}).ok());
  bench.store->open = [](absl::StatusOr<int64_t>& reply) {
    reply = absl::FailedPreconditionError("may delete waits");
  };
  DurableWaits& worker = bench.AddWorker();
  auto client = *DurableClient::Make(bench.store, {.partitions = 2});
  absl::Status error;
  client->Get("job", "a", [&](const auto& got) { error = got.status(); });
  // Other calls of the worker succeed while the store refuses the name.
  for (int i = 0; i < 30; ++i) {
    bench.Run(absl::Seconds(1));
    EXPECT_THAT(worker.State().last_error,
                StatusIs(absl::StatusCode::kFailedPrecondition,
                         HasSubstr("may delete waits")));
  }
  EXPECT_THAT(error, StatusIs(absl::StatusCode::kFailedPrecondition));
  EXPECT_THAT(bench.polls, IsEmpty());
  bench.store->open = nullptr;
  bench.Run(absl::Seconds(10));
  EXPECT_TRUE(worker.State().last_error.ok());
  EXPECT_THAT(bench.polls, SizeIs(Ge(1)));
}

TEST(DurablePromisesTest, NameThatSomebodyDividedAnewIsTold) {
  Bench bench;
  DurableWaits& worker = bench.AddWorker();
  bench.Run(absl::Seconds(5));
  EXPECT_TRUE(worker.State().last_error.ok());
  // The store is empty, as after a FLUSHALL.
  *bench.book = WaitBook();
  EXPECT_EQ(bench.book->Open("default", "job", 8), 8);
  bench.Run(absl::Seconds(40));
  EXPECT_THAT(worker.State().last_error,
              StatusIs(absl::StatusCode::kFailedPrecondition,
                       HasSubstr("job has 8 partitions in the store")));
}

// If a worker gives its waits back, others need not wait for its leases to end.
TEST(DurablePromisesTest, WorkerThatIsDestroyedGivesBackWhatItHolds) {
  Bench bench;
  bench.policy.backoff = Every(absl::Seconds(1));
  for (int i = 0; i < 10; ++i) {
    ASSERT_TRUE(bench.Enqueue({.key = absl::StrCat("k", i)}).ok());
  }
  DurableWaits& first = bench.AddWorker();
  bench.Run(absl::Seconds(5));
  EXPECT_EQ(first.State().held, 10);
  bench.workers[0] = nullptr;
  bench.polls.clear();
  bench.options.max_held = 100;
  DurableWaits& second = bench.AddWorker();
  bench.Run(absl::Seconds(4));
  EXPECT_EQ(second.State().held, 10);
  EXPECT_EQ(second.State().lost, 0);
  EXPECT_THAT(bench.polls, SizeIs(Ge(10)));
}

// Workers with stores whose replies a test may change.
class BentWorld : public DurableWorld {
 public:
  BentWorld() {
    wrap = [this](int /*worker*/, std::shared_ptr<WaitStore> store) {
      stores.push_back(std::make_shared<BentWaitStore>(std::move(store)));
      return stores.back();
    };
  }
  std::vector<std::shared_ptr<BentWaitStore>> stores = {};
};

TEST(DurablePromisesTest, WorkerLooksOftenOnceTheOthersAreGone) {
  BentWorld world;
  world.AddWorker();
  world.stores[0]->beat = [](auto& workers) {
    // At least two of these workers rank before this one.
    for (int i = 0; i < 10'000; ++i) workers->push_back(absl::StrCat(i));
  };
  world.Run(absl::Seconds(6));
  world.stores[0]->beat = nullptr;
  (void)world.Enqueue({.key = "a"});
  world.Run(absl::Seconds(5));  // Shorter than a heartbeat.
  EXPECT_THAT(world.polls, SizeIs(1));
}

// Two renewals are due before the first one has a reply. The next one that is
// sent must have the newest record.
TEST(DurablePromisesTest, RenewalHasTheNewestRecord) {
  BentWorld world;
  world.options.lease = absl::Seconds(6);
  world.policy.backoff = Every(absl::Seconds(1.5));
  DurableWorld::Worker& worker = world.AddWorker();
  world.Run(absl::Seconds(1.6));
  (void)world.Enqueue({.key = "a"});  // Polled until 5 s.
  BentWaitStore& store = *world.stores[0];
  store.keeps_replies = true;
  world.Run(absl::Seconds(6.1) - world.clock.Elapsed());
  ASSERT_THAT(store.kept, SizeIs(1));
  ASSERT_THAT(world.polls, SizeIs(3));
  EXPECT_EQ(world.Get("a").attempts, 1);
  store.kept[0]();
  world.Run(absl::Milliseconds(20));
  worker.Kill();
  EXPECT_EQ(world.Get("a").attempts, 3);
}

// A renewal is still unsent when the worker loses its lease. It must not be
// sent after the worker claims the wait again, to deliver a result that another
// worker recorded.
TEST(DurablePromisesTest, RenewalOfALostLeaseIsNotSentForTheNextOne) {
  BentWorld world;
  world.options.lease = absl::Seconds(6);
  world.policy.backoff = Every(absl::Seconds(1));
  world.function = [&](const DurablePoll&) -> Poll<std::string> {
    if (world.polls.back().worker == 0) return NotReady();
    return Success("done");
  };
  world.handler = [&](const DurableResult&) -> absl::Status {
    if (world.deliveries.back().worker == 1) return absl::InternalError("no");
    // The worker sends its writes within 5 ms, and is killed after that.
    world.clock.CallAt(world.clock.Elapsed() + absl::Milliseconds(6),
                       [&] { world.worker(0).Kill(); });
    return absl::OkStatus();
  };
  DurableWorld::Worker& worker = world.AddWorker();
  (void)world.Enqueue({.key = "a"});
  world.Run(absl::Seconds(1));
  world.stores[0]->keeps_replies = true;
  world.Run(absl::Seconds(6));
  ASSERT_EQ(worker.waits().State().held, 0);
  ASSERT_THAT(world.stores[0]->kept, SizeIs(1));
  // The renewed lease ends at 8 s, but the worker has no reply to the renewal.
  worker.StopUntil(absl::Seconds(9));
  world.AddWorker();
  world.Run(absl::Seconds(1.6));
  world.worker(1).Kill();
  ASSERT_THAT(world.deliveries, SizeIs(1));
  const size_t polls = world.polls.size();
  world.Run(absl::Seconds(2));
  ASSERT_THAT(world.deliveries, SizeIs(2));
  EXPECT_EQ(world.deliveries[1].worker, 0);
  EXPECT_EQ(world.Get("a").phase, Phase::kDelivered);
  world.AddWorker();
  world.Run(absl::Seconds(30));
  EXPECT_THAT(world.polls, SizeIs(polls));
}

// The worker loses a suspect while it waits for the reply to the mark, and
// claims the suspect again.
TEST(DurablePromisesTest, SuspectThatWasLostLetsTheNextOneBePolled) {
  BentWorld world;
  world.policy.backoff = Every(absl::Seconds(1));
  world.function = [&](const DurablePoll&) -> Poll<std::string> {
    const int worker = world.polls.back().worker;
    if (worker < 2) world.worker(static_cast<size_t>(worker)).Kill();
    return NotReady();
  };
  (void)world.Enqueue({.key = "a"});
  (void)world.Enqueue({.key = "b"});
  for (int i = 0; i < 2; ++i) {
    world.AddWorker();
    world.Run(absl::Seconds(18));
  }
  const size_t polls = world.polls.size();
  DurableWorld::Worker& worker = world.AddWorker();
  BentWaitStore& store = *world.stores[2];
  store.keeps_replies = true;
  world.Run(absl::Seconds(1));
  ASSERT_EQ(worker.waits().State().held, 2);
  worker.StopUntil(world.clock.Elapsed() + absl::Seconds(20));
  world.Run(absl::Seconds(21));
  ASSERT_EQ(worker.waits().State().claimed, 4);
  ASSERT_THAT(world.polls, SizeIs(polls));
  store.keeps_replies = false;
  const auto kept = std::exchange(store.kept, {});
  for (const auto& give : kept) give();
  world.Run(absl::Seconds(10));
  std::set<std::string> polled;
  for (const auto& poll : world.polls) {
    if (poll.worker == 2) polled.insert(poll.key);
  }
  EXPECT_THAT(polled, ElementsAre("a", "b"));
}

TEST(DurablePromisesTest, PollsKnowHowManyHoldersVanished) {
  Bench bench;
  std::vector<int64_t> crashes;
  bench.function = [&](const DurablePoll& poll) -> Poll<std::string> {
    crashes.push_back(poll.crashes);
    return NotReady();
  };
  bench.policy.backoff = Every(absl::Seconds(1));
  ASSERT_TRUE(bench.Enqueue({.key = "a"}).ok());
  bench.AddWorker();
  bench.Run(absl::Seconds(3));
  EXPECT_THAT(crashes, testing::Each(0));
  // The worker's last writes do not arrive.
  bench.store->down = absl::UnavailableError("down");
  bench.workers[0] = nullptr;
  bench.store->down = absl::OkStatus();
  crashes.clear();
  bench.AddWorker();
  bench.Run(absl::Seconds(17));
  ASSERT_THAT(crashes, SizeIs(Ge(1)));
  EXPECT_EQ(crashes.front(), 1);
  crashes.clear();
  // The new worker's first renewal clears the count of crashes.
  bench.Run(absl::Seconds(10));
  EXPECT_EQ(crashes.back(), 0);
}

// Waits that the worker cannot poll soon stay in the store, for others.
TEST(DurablePromisesTest, WorkerWithALimiterClaimsOneBatchAhead) {
  Bench bench;
  bench.policy.budgets.rate_limiter = std::make_shared<OnePerSecond>();
  bench.options.claim_batch = 20;
  const std::vector<DurableRequest> requests = Requests(500);
  ASSERT_EQ(*bench.EnqueueMany(requests), 500);
  DurableWaits& worker = bench.AddWorker();
  int64_t most = 0;
  for (int i = 0; i < 60; ++i) {
    bench.Run(absl::Seconds(1));
    most = std::max(most, worker.State().held);
  }
  // The worker gives polled waits back, because their delays are long.
  EXPECT_LE(most, 20);
  EXPECT_THAT(bench.polls, SizeIs(AllOf(Ge(55), testing::Le(61))));
  EXPECT_EQ(worker.State().lost, 0);
  // The worker claims many waits at a time.
  EXPECT_LE(bench.store->claims, 40 + 60 * 8);
}

TEST(DurablePromisesTest, WorkerThatPollsNothingLeavesTheWaitsToOthers) {
  Bench bench;
  bench.options.claim_batch = 20;
  const std::vector<DurableRequest> requests = Requests(500);
  ASSERT_EQ(*bench.EnqueueMany(requests), 500);
  const auto waits = *DurableWaits::Make(bench.store, bench.options);
  ASSERT_TRUE(waits
                  ->Register("job", bench.policy,
                             [&](const DurablePoll&) -> Poll<std::string> {
                               return NotReady();
                             })
                  .ok());
  waits->Start();
  // The worker polls nothing, because the test does not call `RunDue`.
  bench.Run(absl::Seconds(10));
  EXPECT_EQ(waits->State().held, 8);
  // Once it polls, it claims the others.
  for (int i = 0; i < 200; ++i) {
    bench.Run(absl::Milliseconds(20));
    (void)waits->RunDue();
  }
  EXPECT_EQ(waits->State().polls, 500);
}

TEST(DurablePromisesTest, ReleasesOfPollsThatAreCloseShareACall) {
  Bench bench;
  bench.options.partitions = 1;
  std::vector<DurableRequest> requests = Requests(40);
  absl::Duration delay = absl::Seconds(1);
  for (DurableRequest& request : requests) {
    request.first_delay = std::exchange(delay, delay + absl::Milliseconds(5));
  }
  ASSERT_EQ(*bench.EnqueueMany(requests), 40);
  bench.AddWorker();
  int releases = 0;
  bench.store->settle = [&](const auto&, auto&) { ++releases; };
  bench.Run(absl::Seconds(2), absl::Milliseconds(1));
  EXPECT_THAT(bench.polls, SizeIs(40));
  // The polls take 200 ms, and each call covers 50 ms.
  EXPECT_LE(releases, 5);
  bench.Run(absl::Seconds(10), absl::Milliseconds(1));
  EXPECT_THAT(bench.polls, SizeIs(80));
}

// The reply to an earlier claim does not include the release.
TEST(DurablePromisesTest, WaitThatIsGivenBackForAShortTimeIsPolledInTime) {
  Bench bench;
  bench.options.max_held = 16;
  bench.policy.backoff = Every(absl::Milliseconds(100));
  for (int i = 0; i < 14; ++i) {
    ASSERT_TRUE(bench.Enqueue({.key = absl::StrCat(i)}).ok());
  }
  bench.AddWorker();
  bench.Run(absl::Seconds(10), absl::Milliseconds(1));
  EXPECT_THAT(bench.polls, SizeIs(Ge(14 * 95)));
}

// The delays are too short to give the waits back, but other waits are due.
TEST(DurablePromisesTest, WorkerFullOfSleepersLeavesRoomForWholeBatches) {
  Bench bench;
  bench.options.max_held = 400;
  bench.options.claim_batch = 20;
  bench.policy.backoff = Every(absl::Seconds(2));
  const std::vector<DurableRequest> requests = Requests(1200);
  ASSERT_EQ(*bench.EnqueueMany(requests), 1200);
  DurableWaits& worker = bench.AddWorker();
  bench.Run(absl::Seconds(10), absl::Milliseconds(1));
  int64_t claims = 0;
  int64_t whole = 0;
  bench.store->claim = [&](const ClaimRequest& request, auto&) {
    ++claims;
    whole += request.most == bench.options.claim_batch ? 1 : 0;
  };
  const int64_t polls = worker.State().polls;
  bench.Run(absl::Seconds(10), absl::Milliseconds(1));
  EXPECT_GE(worker.State().polls - polls, 1200 * 4);
  // Claims for the rest of a batch are smaller.
  EXPECT_GE(4 * whole, 3 * claims);
  EXPECT_EQ(worker.State().lost, 0);
}

// The workers' polls together keep the rate, and each worker has its share of
// the waits.
TEST(DurablePromisesTest, WorkersShareARateAndTheWaitsThatWantIt) {
  constexpr int kWorkers = 3;
  constexpr int kRate = 30;
  Bench bench;
  const auto budgets = std::make_shared<sim::BudgetBook>();
  bench.options.claim_batch = 20;
  bench.policy.backoff = Every(absl::Seconds(1));
  const std::vector<DurableRequest> requests = Requests(600);
  ASSERT_EQ(*bench.EnqueueMany(requests), 600);
  std::vector<std::shared_ptr<SharedRateLimiter>> limiters;
  for (int i = 0; i < kWorkers; ++i) {
    limiters.push_back(*SharedRateLimiter::Make(
        std::make_shared<SimulatedBudgetStore>(bench.clock, budgets),
        {.name = "api", .rate = kRate}));
    bench.policy.budgets.rate_limiter = limiters.back();
    bench.AddWorker();
  }
  // After this time, all workers know each other.
  bench.Run(absl::Seconds(10));
  bench.polls.clear();
  std::vector<int64_t> before;
  for (const auto& worker : bench.workers) {
    before.push_back(worker->State().polls);
  }
  bench.Run(absl::Seconds(30));
  for (size_t first = 0; first < bench.polls.size(); ++first) {
    const size_t last = std::min(first + kRate, bench.polls.size() - 1);
    // Slots of half a second may come together.
    EXPECT_GE(bench.polls[last] - bench.polls[first] + absl::Seconds(0.6),
              absl::Seconds(1) * static_cast<double>(last - first) / kRate);
  }
  EXPECT_GE(bench.polls.size(), kRate * 30 * 0.9);
  for (size_t i = 0; i < kWorkers; ++i) {
    const int64_t polls = bench.workers[i]->State().polls - before[i];
    EXPECT_NEAR(static_cast<double>(polls), kRate * 10, kRate * 2) << i;
    EXPECT_EQ(bench.workers[i]->State().lost, 0);
  }
  bench.workers.clear();
}

TEST(DurablePromisesTest, JumpOfTheServersClockIsSeen) {
  Bench bench;
  ASSERT_TRUE(bench.Enqueue({.key = "a"}).ok());
  DurableWaits& worker = bench.AddWorker();
  absl::Duration jump;
  bench.store->claim = [&](const ClaimRequest&,
                           absl::StatusOr<ClaimReply>& reply) {
    if (reply.ok()) reply->now_us += absl::ToInt64Microseconds(jump);
  };
  bench.Run(absl::Minutes(1));
  EXPECT_EQ(worker.State().clock_step, absl::ZeroDuration());
  jump = absl::Milliseconds(900);
  bench.Run(absl::Seconds(5));
  EXPECT_EQ(worker.State().clock_step, absl::ZeroDuration());
  jump = absl::Hours(1);
  bench.Run(absl::Seconds(5));
  EXPECT_NEAR(absl::ToDoubleSeconds(worker.State().clock_step), 3600, 2);
  bench.store->claim = nullptr;
  bench.Run(absl::Seconds(5));
  EXPECT_NEAR(absl::ToDoubleSeconds(worker.State().clock_step), -3600, 2);
}

TEST(DurablePromisesTest, ResultCanBeWaitedForElsewhere) {
  Bench bench;
  bench.function = [&](const DurablePoll& poll) -> Poll<std::string> {
    if (bench.clock.Elapsed() < absl::Seconds(30)) return NotReady("building");
    if (poll.key == "bad") return Failed("broken");
    return Success("built");
  };
  ASSERT_TRUE(bench.Enqueue({.key = "good"}).ok());
  ASSERT_TRUE(bench.Enqueue({.key = "bad"}).ok());
  bench.AddWorker();
  WaitEngine engine({.threads = 0, .clock = &bench.clock});
  std::map<std::string, WaitResult<DurableResult>> results;
  std::vector<WaitHandle> handles;
  for (const std::string key : {"good", "bad", "none"}) {
    handles.push_back(
        engine.Start(AsyncWaiter(bench.client().Result("job", key),
                                 {.timeout = absl::Minutes(5),
                                  .backoff = Every(absl::Seconds(1)),
                                  .clock = &bench.clock}),
                     [&results, key](WaitResult<DurableResult> result) {
                       results.emplace(key, std::move(result));
                     }));
  }
  const auto run = [&](absl::Duration time) {
    for (absl::Duration t; t < time; t += absl::Milliseconds(20)) {
      bench.Run(absl::Milliseconds(20));
      (void)engine.RunDue();
    }
  };
  run(absl::Seconds(5));
  ASSERT_EQ(results.count("none"), 1);
  EXPECT_THAT(results.at("none").status(),
              StatusIs(absl::StatusCode::kNotFound, HasSubstr("job none")));
  EXPECT_THAT(results, SizeIs(1));
  // The store may be away for a while.
  bench.store->down = absl::UnavailableError("down");
  run(absl::Seconds(5));
  bench.store->down = absl::OkStatus();
  run(absl::Seconds(40));
  ASSERT_EQ(results.count("good"), 1);
  ASSERT_EQ(results.count("bad"), 1);
  ASSERT_TRUE(results.at("good").ok()) << results.at("good").status();
  EXPECT_EQ(*results.at("good")->value, "built");
  ASSERT_TRUE(results.at("bad").ok()) << results.at("bad").status();
  EXPECT_EQ(results.at("bad")->reason, StopReason::kFailed);
  EXPECT_THAT(results.at("bad")->value.status().message(), HasSubstr("broken"));
}

TEST(DurablePromisesTest, StatsOfAnUnusedNameAreZero) {
  Bench bench;
  const DurableStats stats = *bench.Stats("unused");
  EXPECT_EQ(stats.pending, 0);
  EXPECT_EQ(stats.overdue, 0);
  EXPECT_EQ(stats.oldest, absl::ZeroDuration());
  EXPECT_EQ(stats.kept, 0);
  EXPECT_THAT(stats.counters, IsEmpty());
  const DurableClient::Listed listed = *bench.List("", "unused");
  EXPECT_THAT(listed.waits, IsEmpty());
}

TEST(DurablePromisesTest, MostPartitionsWork) {
  Bench bench;
  bench.options.partitions = 4096;
  bench.function = Done;
  const std::vector<DurableRequest> requests = Requests(500);
  ASSERT_EQ(*bench.EnqueueMany(requests), 500);
  bench.AddWorker();
  bench.Run(absl::Seconds(5), absl::Milliseconds(100));
  EXPECT_EQ(bench.results.size(), 500);
  EXPECT_EQ(bench.Stats()->kept, 500);
}

}  // namespace
}  // namespace waiter
