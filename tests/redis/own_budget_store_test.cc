// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// Shared budgets on a store of a user, which may answer late, wrongly or with
// any error.

#include "tests/support/own_budget_store.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/support/status_matchers.h"
#include "waiter/budgets.h"
#include "waiter/clock.h"
#include "waiter/engine/engine.h"
#include "waiter/engine/handle.h"
#include "waiter/options.h"
#include "waiter/poll.h"
#include "waiter/redis/shared_budgets.h"
#include "waiter/result.h"
#include "waiter/testing/simulated_clock.h"
#include "waiter/waiter.h"

namespace waiter::own_budget_store_test {
namespace {

using ::std::chrono::hours;
using ::std::chrono::milliseconds;
using ::std::chrono::nanoseconds;
using ::std::chrono::seconds;
using ::testing::Ge;
using ::testing::SizeIs;

// The codes that shared_budgets.h and client.h name, and others.
constexpr std::array kErrors = {
    absl::StatusCode::kUnavailable,      absl::StatusCode::kResourceExhausted,
    absl::StatusCode::kAborted,          absl::StatusCode::kUnauthenticated,
    absl::StatusCode::kPermissionDenied, absl::StatusCode::kFailedPrecondition,
    absl::StatusCode::kInternal,         absl::StatusCode::kCancelled,
    absl::StatusCode::kDeadlineExceeded, absl::StatusCode::kUnknown};

class OwnStoreTest : public testing::Test {
 protected:
  std::shared_ptr<SharedRateLimiter> MakeLimiter(
      SharedRateLimiterOptions options = {.name = "api", .rate = 100}) {
    return *SharedRateLimiter::Make(store_, std::move(options));
  }
  std::shared_ptr<SharedRetryQuota> MakeQuota(
      SharedRetryQuotaOptions options = {.name = "api"}) {
    return *SharedRetryQuota::Make(store_, std::move(options));
  }

  MonotonicTime now() { return clock_.MonotonicNow(); }

  // Polls for `time` as often as the limiter allows, and returns the number of
  // polls.
  int PollFor(RateLimiter& limiter, absl::Duration time) {
    const MonotonicTime end = now() + absl::ToChronoNanoseconds(time);
    int polls = 0;
    while (now() < end) {
      const MonotonicTime start = limiter.Acquire(now());
      EXPECT_GE(start, now());
      if (start == now()) {
        ++polls;
        limiter.Update(now(), PollStatus::kNotReady);
        clock_.AdvanceTime(absl::Milliseconds(1));
      } else {
        clock_.AdvanceTime(absl::FromChrono(std::min(start, end) - now()));
      }
    }
    return polls;
  }

  // Makes the store fail all requests, each after `after`.
  void Fail(absl::StatusCode code, absl::Duration after) {
    store_->on_grant = [code](const RateRequest&) {
      return absl::Status(code, "no");
    };
    store_->on_sync = [code](const QuotaRequest&) {
      return absl::Status(code, "no");
    };
    store_->answer_after = after;
  }

  // Makes budgets, and destroys each one in the callback of a request, in a
  // timer, or as the last one that refers to the store.
  template <typename Make>
  void ExpectMayGo(const Make& make, bool is_quota) {
    for (const std::string when : {"before", "after", "timer", "destroy"}) {
      for (const bool fails : {false, true}) {
        SCOPED_TRACE(absl::StrCat(when, fails ? ", fails" : ""));
        store_ = std::make_shared<OwnBudgetStore>(clock_);
        if (fails) Fail(absl::StatusCode::kUnavailable, absl::Milliseconds(1));
        decltype(make()) budget;
        const auto drop = [&] { budget = nullptr; };
        if (when == "before") store_->before_answer = drop;
        if (when == "after") store_->after_answer = drop;
        budget = make();
        if (when == "timer") store_->RunAt(now() + milliseconds(2), drop);
        const std::weak_ptr<OwnBudgetStore> store = store_;
        if (when == "destroy") {
          // The budget has the last reference to the store.
          store_->after_answer = nullptr;
          store_ = nullptr;
          clock_.CallAt(clock_.Elapsed() + absl::Microseconds(500), drop);
        }

        clock_.AdvanceTime(absl::Minutes(1));

        EXPECT_EQ(budget, nullptr);
        if (is_quota && store_ != nullptr) {
          ASSERT_FALSE(store_->quotas.empty());
          EXPECT_TRUE(store_->quotas.back().member.leaves);
        }
        store_ = nullptr;
        clock_.AdvanceTime(absl::Minutes(2));
        EXPECT_TRUE(store.expired());
      }
    }
  }

  SimulatedClock clock_{SimulatedClock::Mode::kManual};
  std::shared_ptr<OwnBudgetStore> store_ =
      std::make_shared<OwnBudgetStore>(clock_);
};

using OwnStoreLimiterTest = OwnStoreTest;

// A client with a long timeout answers late, but budgets must not block.
TEST_F(OwnStoreLimiterTest, PollsPassAfter3sHoweverLateTheStoreFails) {
  for (const absl::Duration after :
       {absl::ZeroDuration(), absl::Milliseconds(1), absl::Seconds(1),
        absl::Seconds(3), absl::Minutes(1)}) {
    SCOPED_TRACE(absl::FormatDuration(after));
    Fail(absl::StatusCode::kUnavailable, after);
    const auto limiter = MakeLimiter();
    const MonotonicTime made = now();

    MonotonicTime start = limiter->Acquire(now());
    while (start > now()) {
      ASSERT_LE(start, made + seconds(3));
      clock_.AdvanceTime(absl::FromChrono(start - now()));
      start = limiter->Acquire(now());
    }

    EXPECT_LE(now(), made + seconds(3));
    EXPECT_EQ(limiter->State().mode, SharedBudgetMode::kLocal);
    clock_.AdvanceTime(absl::Minutes(3));
  }
}

TEST_F(OwnStoreLimiterTest, StoreThatHangsIsAwayAsOneThatFails) {
  for (const absl::Duration after : {absl::Seconds(1), absl::Minutes(1)}) {
    SCOPED_TRACE(absl::FormatDuration(after));
    store_ = std::make_shared<OwnBudgetStore>(clock_);
    store_->on_grant = [](const RateRequest& request) {
      return RateGrant{.granted = std::min<int64_t>(request.want, 25),
                       .interval = milliseconds(10),
                       .rate = request.rate,
                       .members = 4,
                       .ask_again = milliseconds(250)};
    };
    const auto limiter = MakeLimiter();
    PollFor(*limiter, absl::Seconds(5));
    ASSERT_EQ(limiter->State().mode, SharedBudgetMode::kShared);
    Fail(absl::StatusCode::kUnavailable, after);

    PollFor(*limiter, absl::Seconds(4));

    EXPECT_EQ(limiter->State().mode, SharedBudgetMode::kLocal);
    EXPECT_EQ(limiter->State().rate, 25);
    EXPECT_NEAR(PollFor(*limiter, absl::Seconds(20)), 500, 2);
  }
}

TEST_F(OwnStoreLimiterTest, EveryErrorMeansLocalAndIsToldAndPasses) {
  for (const absl::StatusCode code : kErrors) {
    SCOPED_TRACE(absl::StatusCodeToString(code));
    Fail(code, absl::Milliseconds(1));
    const auto limiter = MakeLimiter();
    PollFor(*limiter, absl::Seconds(4));
    EXPECT_EQ(limiter->State().mode, SharedBudgetMode::kLocal);
    EXPECT_THAT(limiter->State().last_error, StatusIs(code, "no"));
    EXPECT_EQ(limiter->State().last_sync_age, std::nullopt);

    // An outage causes no more calls than normal work, for every error.
    const size_t before = store_->rates.size();
    PollFor(*limiter, absl::Minutes(1));
    EXPECT_LE(store_->rates.size() - before, 4U * 60);
    EXPECT_GE(store_->rates.size() - before, 10U);

    store_->on_grant = OwnBudgetStore(clock_).on_grant;
    PollFor(*limiter, absl::Seconds(10));
    EXPECT_EQ(limiter->State().mode, SharedBudgetMode::kShared);
    EXPECT_TRUE(limiter->State().last_error.ok());
    EXPECT_LE(*limiter->State().last_sync_age, absl::Seconds(1));
  }
}

TEST_F(OwnStoreLimiterTest, RequestSaysWhatTheOptionsSay) {
  const auto limiter = MakeLimiter({.name = "api.v1",
                                    .rate = 20,
                                    .burst = 7,
                                    .adaptive = {.beta = 0.5},
                                    .horizon = absl::Seconds(3)});
  const auto other = MakeLimiter({.name = "other", .rate = 0.1});
  const auto same = MakeLimiter({.name = "api.v1", .rate = 20});
  clock_.AdvanceTime(absl::Seconds(10));

  std::set<std::string> ids;
  for (const RateRequest& request : store_->rates) {
    ids.insert(request.member.id);
    EXPECT_FALSE(request.member.leaves);
    EXPECT_GE(request.want, 0);
    EXPECT_EQ(request.polls, 0);
    EXPECT_FALSE(request.throttled);
    if (request.burst == 7) {
      EXPECT_EQ(request.member.budget, "api.v1");
      EXPECT_EQ(request.rate, 20);
      EXPECT_EQ(request.horizon, seconds(3));
      EXPECT_EQ(request.adaptive.beta, 0.5);
    }
  }
  EXPECT_THAT(ids, SizeIs(3));
}

TEST_F(OwnStoreLimiterTest, EveryPollIsReportedOnceUnlessTheOutcomeIsUnknown) {
  // An error means that the request had no effect, except for kUnavailable.
  for (const absl::StatusCode code : kErrors) {
    if (code == absl::StatusCode::kUnavailable) continue;
    SCOPED_TRACE(absl::StatusCodeToString(code));
    store_ = std::make_shared<OwnBudgetStore>(clock_);
    int64_t reported = 0;
    bool throttled = false;
    int requests = 0;
    store_->on_grant =
        [&](const RateRequest& request) -> absl::StatusOr<RateGrant> {
      if (++requests % 3 == 0) return absl::Status(code, "no");
      reported += request.polls;
      throttled = throttled || request.throttled;
      return RateGrant{.granted = request.want,
                       .interval = milliseconds(1),
                       .ask_again = milliseconds(250)};
    };
    auto limiter = MakeLimiter();
    const int polls = PollFor(*limiter, absl::Seconds(20));
    EXPECT_FALSE(throttled);
    for (int i = 0; i < 50; ++i) {
      limiter->Update(now(), PollStatus::kThrottled);
    }
    PollFor(*limiter, absl::Seconds(3));
    EXPECT_TRUE(throttled);

    const int64_t before = reported;
    EXPECT_GE(before, polls + 50);
    limiter->Update(now(), PollStatus::kSuccess);
    requests = 0;
    limiter = nullptr;
    clock_.AdvanceTime(absl::Seconds(1));
    // The last request reports the rest.
    EXPECT_GT(reported, before);
  }
}

TEST_F(OwnStoreLimiterTest, LeavingIsTheLastRequest) {
  for (const absl::Duration after :
       {absl::ZeroDuration(), absl::Milliseconds(1), absl::Milliseconds(1500),
        absl::Seconds(30)}) {
    for (const bool fails : {false, true}) {
      store_ = std::make_shared<OwnBudgetStore>(clock_);
      if (fails) Fail(absl::StatusCode::kUnavailable, absl::Seconds(1));
      auto limiter = MakeLimiter();
      PollFor(*limiter, after);
      const size_t before = store_->rates.size();

      limiter = nullptr;

      EXPECT_EQ(store_->rates.size(), before + 1);
      clock_.AdvanceTime(absl::Minutes(2));
      ASSERT_EQ(store_->rates.size(), before + 1);
      for (size_t i = 0; i < before; ++i) {
        EXPECT_FALSE(store_->rates[i].member.leaves);
      }
      EXPECT_TRUE(store_->rates.back().member.leaves);
      EXPECT_EQ(store_->rates.back().want, 0);
      EXPECT_EQ(store_->rates.back().member.id, store_->rates[0].member.id);
    }
  }
}

TEST_F(OwnStoreLimiterTest, LimiterMayGoInsideOfACallbackOrATimer) {
  ExpectMayGo([this] { return MakeLimiter(); }, /*is_quota=*/false);
}

struct OddGrant {
  std::string_view name;
  RateGrant grant;
};

std::vector<OddGrant> OddGrants() {
  constexpr int64_t kMost = std::numeric_limits<int64_t>::max();
  constexpr nanoseconds kLast = nanoseconds::max();
  constexpr nanoseconds kFirst = nanoseconds::min();
  constexpr milliseconds kSoon(250);
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const double infinity = std::numeric_limits<double>::infinity();
  return {
      {"default", {}},
      {"no slot", {.ask_again = kSoon}},
      {"never again", {.granted = 1, .ask_again = kLast}},
      {"again before", {.granted = 1, .ask_again = -hours(1)}},
      {"lowest again", {.granted = 1, .ask_again = kFirst}},
      {"negative", {.granted = -5, .ask_again = kSoon}},
      {"most",
       {.granted = kMost, .interval = milliseconds(1), .ask_again = kSoon}},
      {"late", {.granted = 1, .first_in = kLast, .ask_again = kSoon}},
      {"early", {.granted = 1, .first_in = kFirst, .ask_again = kSoon}},
      {"far apart", {.granted = 100, .interval = kLast, .ask_again = kSoon}},
      {"backwards",
       {.granted = 100, .interval = -milliseconds(1), .ask_again = kSoon}},
      {"no rate", {.granted = 1, .rate = 0, .ask_again = kSoon}},
      {"odd rate", {.granted = 1, .rate = nan, .ask_again = kSoon}},
      {"any rate", {.granted = 1, .rate = infinity, .ask_again = kSoon}},
      {"below", {.granted = 1, .rate = -1, .ask_again = kSoon}},
      {"no members", {.granted = 1, .members = 0, .ask_again = kSoon}},
      {"fewer than no members",
       {.granted = 1, .members = -3, .ask_again = kSoon}},
  };
}

// The grants come from a store that breaks the rules.
TEST_F(OwnStoreLimiterTest, OddGrantsNeitherSpinNorStopForEver) {
  for (const std::optional<double> rate : {std::optional(100.0), {}}) {
    for (const OddGrant& example : OddGrants()) {
      SCOPED_TRACE(absl::StrCat(std::string(example.name),
                                rate.has_value() ? "" : ", adaptive"));
      store_ = std::make_shared<OwnBudgetStore>(clock_);
      int calls = 0;
      store_->on_grant = [&](const RateRequest&) -> absl::StatusOr<RateGrant> {
        if (++calls > 9999) return absl::InternalError("enough");
        return example.grant;
      };
      auto limiter = MakeLimiter({.name = "api", .rate = rate});
      PollFor(*limiter, absl::Seconds(8));
      EXPECT_LE(calls, 1640) << "in 8 s";
      static_cast<void>(limiter->State());
      static_cast<void>(limiter->Rate());
      Fail(absl::StatusCode::kInternal, absl::Milliseconds(1));
      PollFor(*limiter, absl::Seconds(8));

      store_->on_grant = OwnBudgetStore(clock_).on_grant;
      PollFor(*limiter, absl::Seconds(7));
      EXPECT_GE(PollFor(*limiter, absl::Seconds(1)), 10);
      EXPECT_EQ(limiter->State().mode, SharedBudgetMode::kShared);
    }
  }
}

// A wait that slept to the end of time would miss the return of the store.
TEST_F(OwnStoreLimiterTest, WaitGoesOnOnceTheStoreIsThere) {
  Fail(absl::StatusCode::kUnavailable, absl::Milliseconds(1));
  const auto limiter =
      MakeLimiter({.name = "api", .rate = 100, .local_share = 0});
  WaitEngine engine(
      {.threads = 0, .tick = absl::ZeroDuration(), .clock = &clock_});
  std::optional<absl::Duration> ended;
  WaitOptions options = {.timeout = absl::InfiniteDuration(), .clock = &clock_};
  options.budgets.rate_limiter = limiter;
  const WaitHandle wait =
      engine.Start(Waiter([] { return true; }, options),
                   [&](const WaitResult<>&) { ended = clock_.Elapsed(); });
  clock_.CallAt(absl::Minutes(10),
                [&] { store_->on_grant = OwnBudgetStore(clock_).on_grant; });
  for (int i = 0; i < 20'000 && !ended.has_value(); ++i) {
    const MonotonicTime next = engine.RunDue();
    if (ended.has_value()) break;
    ASSERT_LT(next, now() + hours(1));
    clock_.AdvanceTime(
        std::max(absl::FromChrono(next - now()), absl::ZeroDuration()));
  }
  ASSERT_TRUE(ended.has_value());
  EXPECT_LE(*ended, absl::Minutes(10) + absl::Seconds(6));
}

TEST_F(OwnStoreLimiterTest, OldReadingsAreNeverAnsweredWithAnEarlierTime) {
  const auto limiter = MakeLimiter();
  PollFor(*limiter, absl::Seconds(2));
  for (int i = 0; i < 2000; ++i) {
    const MonotonicTime reading = now() - milliseconds(i % 700);
    EXPECT_GE(limiter->Acquire(reading), reading);
    limiter->Update(reading, PollStatus::kNotReady);
    clock_.AdvanceTime(absl::Milliseconds(3));
  }
}

TEST_F(OwnStoreLimiterTest, StateCountsSlots) {
  const auto limiter = MakeLimiter();
  EXPECT_EQ(limiter->State().mode, SharedBudgetMode::kStarting);
  EXPECT_EQ(limiter->State().members, 1);
  EXPECT_TRUE(limiter->State().last_error.ok());
  store_->on_grant = [](const RateRequest& request) {
    return RateGrant{.granted = request.want,
                     .interval = milliseconds(10),
                     .rate = 100,
                     .members = 3,
                     .ask_again = milliseconds(250)};
  };
  const int polls = PollFor(*limiter, absl::Seconds(10));
  clock_.AdvanceTime(absl::Minutes(1));
  limiter->Acquire(now());

  const SharedRateLimiterState state = limiter->State();
  EXPECT_EQ(state.members, 3);
  EXPECT_EQ(state.rate, 100);
  EXPECT_EQ(limiter->Rate(), 100);
  EXPECT_GE(state.granted, polls);
  EXPECT_NEAR(static_cast<double>(state.granted - state.unused), polls, 1);
}

// Every limiter that `Validate` accepts must work.
TEST_F(OwnStoreLimiterTest, ExtremeOptionsWork) {
  for (const double rate : {0.001, 1'000'000.0}) {
    for (const double burst : {1.0, 1'000'000.0}) {
      for (const absl::Duration horizon :
           {absl::Milliseconds(50), absl::Seconds(10)}) {
        for (const bool fails : {false, true}) {
          store_ = std::make_shared<OwnBudgetStore>(clock_);
          if (fails) Fail(absl::StatusCode::kUnavailable, absl::Seconds(1));
          const auto limiter = MakeLimiter({.name = "api",
                                            .rate = rate,
                                            .burst = burst,
                                            .horizon = horizon});
          const int polls = PollFor(*limiter, absl::Seconds(20));
          EXPECT_GE(polls, 1);
          EXPECT_LE(store_->rates.size(), 20U * 30);
        }
      }
    }
  }
}

// Quotas.

using OwnStoreQuotaTest = OwnStoreTest;

TEST_F(OwnStoreQuotaTest, FirstTokensAreAChunk) {
  struct Case {
    SharedRetryQuotaOptions options;
    double tokens;
  };
  for (const Case& example : {
           Case{{.name = "a"}, 28},
           Case{{.name = "a", .quota = {.capacity = 20}}, 20},
           Case{{.name = "a", .quota = {.throttle_cost = 100}}, 200},
           Case{{.name = "a", .min_chunk = 3}, 3},
           Case{{.name = "a", .min_chunk = 0}, 0},
           Case{{.name = "a", .min_chunk = 500}, 500},
       }) {
    const auto shared = MakeQuota(example.options);
    EXPECT_EQ(shared->State().available, example.tokens);
    EXPECT_EQ(shared->quota()->Available(now()), example.tokens);
    EXPECT_EQ(shared->State().mode, SharedBudgetMode::kStarting);
    EXPECT_EQ(shared->State().last_sync_age, std::nullopt);
  }
}

TEST_F(OwnStoreQuotaTest, RequestSaysWhatTheOptionsSay) {
  const auto shared =
      MakeQuota({.name = "api.v1",
                 .quota = {.capacity = 900, .refill_per_second = 2},
                 .lease = absl::Seconds(7),
                 .min_chunk = 50});
  clock_.AdvanceTime(absl::Seconds(10));
  ASSERT_THAT(store_->quotas, SizeIs(Ge(2)));
  for (const QuotaRequest& request : store_->quotas) {
    EXPECT_EQ(request.member.budget, "api.v1");
    EXPECT_EQ(request.member.id, store_->quotas[0].member.id);
    EXPECT_EQ(request.capacity, 900);
    EXPECT_EQ(request.refill_per_second, 2);
    EXPECT_EQ(request.min_chunk, 50);
    EXPECT_EQ(request.lease, seconds(7));
  }
}

// A store that keeps the account of one member.
class Account {
 public:
  explicit Account(double capacity) : level(capacity) {}

  QuotaGrant Sync(const QuotaRequest& request) {
    // The member has these tokens from the start, without a grant.
    if (held < 0) {
      held = request.has + request.spent;
      level -= held;
    }
    held -= request.spent;
    spent += request.spent;
    QuotaGrant grant;
    if (request.member.leaves) {
      level += held;
      held = 0;
      return grant;
    }
    grant.change = std::clamp(100 - held, -held, level);
    held += grant.change;
    level -= grant.change;
    grant.held = held;
    grant.level = level;
    return grant;
  }

  double level;
  double held = -1;
  double spent = 0;
};

TEST_F(OwnStoreQuotaTest, NoTokenIsLostOrMadeWhateverFailsWithoutEffect) {
  for (const absl::StatusCode code : kErrors) {
    if (code == absl::StatusCode::kUnavailable) continue;
    SCOPED_TRACE(absl::StatusCodeToString(code));
    store_ = std::make_shared<OwnBudgetStore>(clock_);
    Account account(500);
    int requests = 0;
    store_->on_sync =
        [&](const QuotaRequest& request) -> absl::StatusOr<QuotaGrant> {
      if (++requests % 3 == 2) return absl::Status(code, "no");
      return account.Sync(request);
    };
    auto shared = MakeQuota({.name = "api", .lease = absl::Minutes(10)});
    auto quota = shared->quota();
    double paid = 0;
    for (int i = 0; i < 20; ++i) {
      QuotaToken token;
      if (quota->Acquire(QuotaUse::kRetry, now(), token).has_value()) {
        paid += 14;
      }
      if (i % 4 == 0) {
        quota->Release(now(), token);
        paid -= 14;
      }
      clock_.AdvanceTime(absl::Milliseconds(700));
    }
    requests = 0;
    clock_.AdvanceTime(absl::Seconds(10));
    EXPECT_NEAR(account.spent, paid, 1e-6);
    EXPECT_NEAR(account.held, quota->Available(now()), 1e-6);
    EXPECT_NEAR(account.level + account.held, 500 - paid, 1e-6);

    // All tokens come back at the end.
    requests = -1;
    quota = nullptr;
    shared = nullptr;
    clock_.AdvanceTime(absl::Seconds(10));
    EXPECT_NEAR(account.level, 500 - paid, 1e-6);
    EXPECT_TRUE(store_->quotas.back().member.leaves);
  }
}

TEST_F(OwnStoreQuotaTest, EveryErrorMeansLocalAndIsToldAndPasses) {
  for (const absl::StatusCode code : kErrors) {
    for (const absl::Duration after :
         {absl::ZeroDuration(), absl::Milliseconds(1), absl::Minutes(1)}) {
      SCOPED_TRACE(absl::StrCat(absl::StatusCodeToString(code), " after ",
                                absl::FormatDuration(after)));
      store_ = std::make_shared<OwnBudgetStore>(clock_);
      Fail(code, after);
      const auto shared = MakeQuota();
      // The change takes three requests, and a lease at most.
      clock_.AdvanceTime(absl::Seconds(20));
      EXPECT_EQ(shared->State().mode, SharedBudgetMode::kLocal);
      EXPECT_NEAR(shared->State().available, 500, 1);
      clock_.AdvanceTime(absl::Minutes(2));
      EXPECT_THAT(shared->State().last_error, StatusIs(code, "no"));
      EXPECT_LE(store_->quotas.size(), 4U * 140);

      store_->answer_after = absl::Milliseconds(1);
      store_->on_sync = [](const QuotaRequest& request) {
        return QuotaGrant{.change = 7 - request.has, .held = 7, .members = 9};
      };
      // A request may be in progress.
      clock_.AdvanceTime(after + absl::Seconds(10));
      EXPECT_EQ(shared->State().mode, SharedBudgetMode::kShared);
      EXPECT_EQ(shared->State().members, 9);
      EXPECT_NEAR(shared->State().available, 7, 1e-6);
      EXPECT_TRUE(shared->State().last_error.ok());
    }
  }
}

TEST_F(OwnStoreQuotaTest, QuotaMayGoInsideOfACallbackOrATimer) {
  ExpectMayGo([this] { return MakeQuota()->quota(); }, /*is_quota=*/true);
}

TEST_F(OwnStoreQuotaTest, OddGrantsNeitherSpinNorStopForEver) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const double infinity = std::numeric_limits<double>::infinity();
  const std::vector<QuotaGrant> cases = {
      {},
      {.change = -1e18},
      {.change = -infinity},
      {.change = 1e18},
      {.change = infinity},
      {.change = nan},
      {.held = nan},
      {.held = -1e18},
      {.level = nan},
      {.level = -5},
      {.level = infinity},
      {.members = 0},
      {.members = -1},
      {.members = std::numeric_limits<int64_t>::max()},
  };
  for (size_t i = 0; i < cases.size(); ++i) {
    SCOPED_TRACE(i);
    store_ = std::make_shared<OwnBudgetStore>(clock_);
    store_->on_sync = [&](const QuotaRequest&) { return cases[i]; };
    const auto shared = MakeQuota();
    const auto quota = shared->quota();
    for (int j = 0; j < 200; ++j) {
      QuotaToken token;
      quota->Acquire(QuotaUse::kRetry, now(), token);
      clock_.AdvanceTime(absl::Milliseconds(100));
      ASSERT_TRUE(std::isfinite(quota->Available(now())));
      ASSERT_LE(quota->Available(now()), 500);
    }
    EXPECT_LE(store_->quotas.size(), 20U * 30);
    for (const QuotaRequest& request : store_->quotas) {
      ASSERT_TRUE(std::isfinite(request.has));
      ASSERT_TRUE(std::isfinite(request.spent));
    }

    store_->on_sync = [](const QuotaRequest& request) {
      return QuotaGrant{.change = 100 - request.has, .held = 100, .level = 400};
    };
    clock_.AdvanceTime(absl::Minutes(1));
    EXPECT_EQ(shared->State().mode, SharedBudgetMode::kShared);
    EXPECT_NEAR(quota->Available(now()), 100, 1e-6);
  }
}

}  // namespace
}  // namespace waiter::own_budget_store_test
