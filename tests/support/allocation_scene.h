// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// A scene in which an allocation of a call to an engine fails:
//
//   WithEveryFailure([](Scene& scene) {
//     WaitHandle wait;
//     if (!scene.TryCleanly([&] { wait = scene.engine.Start(...); })) return;
//     ...
//   });
//
// Each test repeats a call: its first allocation fails, then its second one,
// until none does. Each failure is tried twice: later allocations succeed, or
// also fail. After each failure nothing is leaked, no wait is lost, and the
// engine continues to work.

#ifndef WAITER_TESTS_SUPPORT_ALLOCATION_SCENE_H_
#define WAITER_TESTS_SUPPORT_ALLOCATION_SCENE_H_

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <memory>
#include <new>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "absl/types/span.h"
#include "gtest/gtest.h"
#include "tests/support/engine_fixture.h"
#include "tests/support/failing_new.h"
#include "waiter/clock.h"
#include "waiter/engine/async_waiter.h"
#include "waiter/engine/engine.h"
#include "waiter/engine/handle.h"
#include "waiter/options.h"
#include "waiter/policy.h"
#include "waiter/poll.h"
#include "waiter/result.h"
#include "waiter/stop_token.h"
#include "waiter/waiter.h"

namespace waiter {

// A text that is too long for a string's inline buffer.
inline constexpr char kLongText[] =
    "a text that is too long to be stored without an allocation";

// Simulated time without allocations: a sleep sets the time.
class StepClock final : public Clock {
 public:
  absl::Time TimeNow() override {
    return absl::UnixEpoch() + absl::FromChrono(now_.time_since_epoch());
  }
  MonotonicTime MonotonicNow() override { return now_; }
  void SleepUntil(MonotonicTime wake_up, const waiter::stop_token& stop,
                  std::string_view) override {
    if (!stop.stop_requested() && wake_up != MonotonicTime::max()) {
      now_ = std::max(now_, wake_up);
    }
  }

 private:
  MonotonicTime now_{std::chrono::hours(1)};
};

// An engine for one try of a call, and the waits on it.
class Scene {
 public:
  Scene(int64_t nth, FailingNew::Mode mode, ReportLevel report,
        const std::shared_ptr<int>& token_of_test)
      : token(token_of_test),
        engine({.threads = 0,
                .tick = absl::ZeroDuration(),
                .report = report,
                .clock = &clock}),
        nth_(nth),
        mode_(mode) {
    bystander_ = engine.Start(
        Waiter([polls = 0]() mutable { return ++polls == 100; }, EverySecond()),
        [this](const WaitResult<>& result) {
          ++bystander_ended_;
          EXPECT_EQ(result.reason(), StopReason::kSuccess);
        });
  }

  // Runs all waits to their ends, and expects that the engine works.
  ~Scene() {
    engine.Run();
    EXPECT_EQ(bystander_ended_, 1);
    int more_ended = 0;
    for (int i = 0; i < 3; ++i) {
      engine
          .Start(Waiter(
                     [](const PollContext& context) {
                       return context.attempt == 3;
                     },
                     EverySecond()),
                 [&](const WaitResult<>& result) {
                   ++more_ended;
                   EXPECT_EQ(result.reason(), StopReason::kSuccess);
                 })
          .Detach();
    }
    engine.Run();
    EXPECT_EQ(more_ended, 3);
  }

  Scene(const Scene&) = delete;
  Scene& operator=(const Scene&) = delete;

  // Runs `call` while the nth allocation fails. Returns whether it succeeded,
  // which means that it did not throw.
  template <typename F>
  bool Try(F call) {
    FailingNew failing(nth_, mode_);
    try {
      call();
      has_failed_ = failing.has_failed();
      return true;
    } catch (const std::bad_alloc&) {
      has_failed_ = failing.has_failed();
      return false;
    }
  }
  // Like `Try`, and expects that a call that throws keeps nothing.
  template <typename F>
  bool TryCleanly(F call) {
    const int64_t held = token.use_count();
    const bool succeeded = Try(std::move(call));
    if (!succeeded) {
      EXPECT_EQ(token.use_count(), held) << "functions are still held";
    }
    return succeeded;
  }

  WaitOptions EverySecond(absl::Duration timeout = absl::Hours(1)) {
    return {.timeout = timeout,
            .backoff = Every(absl::Seconds(1)),
            .clock = &clock};
  }
  auto EverySecondPolicy() { return WaitPolicy::Make(EverySecond()); }

  // Returns a callback that counts ends.
  auto CountEnd() {
    return [this](const WaitResultBase& result) {
      ++ended;
      last_reason = result.reason();
    };
  }

  bool has_failed() const { return has_failed_; }

  StepClock clock;
  const std::shared_ptr<int> token;
  int ended = 0;
  std::optional<StopReason> last_reason;
  // Completions that asynchronous functions have kept.
  std::vector<PollCompletion<>> completions;
  WaitEngine engine;

 private:
  const int64_t nth_;
  const FailingNew::Mode mode_;
  bool has_failed_ = false;
  WaitHandle bystander_;
  int bystander_ended_ = 0;
};

inline constexpr std::array<FailingNew::Mode, 2> kModes = {
    FailingNew::Mode::kOnce, FailingNew::Mode::kFromThen};

// Calls `test` with a scene for each allocation that may fail. Returns the
// number of allocations that the call makes.
template <typename Test>
int64_t WithEveryFailure(Test test,
                         absl::Span<const FailingNew::Mode> modes = kModes) {
  constexpr int64_t kMost = 300;
  int64_t most = 0;
  for (const FailingNew::Mode mode : modes) {
    for (const ReportLevel report : {ReportLevel::kLean, ReportLevel::kFull}) {
      for (int64_t nth = 1; nth < kMost; ++nth) {
        SCOPED_TRACE(absl::StrCat(
            "allocation ", nth,
            mode == FailingNew::Mode::kOnce ? "" : " and all later ones",
            report == ReportLevel::kLean ? ", brief report" : ""));
        const auto token = std::make_shared<int>();
        bool has_failed = false;
        {
          Scene scene(nth, mode, report, token);
          test(scene);
          has_failed = scene.has_failed();
        }
        EXPECT_EQ(token.use_count(), 1) << "functions are leaked";
        most = std::max(most, nth - 1);
        if (!has_failed || testing::Test::HasFailure()) break;
      }
    }
  }
  return most;
}

}  // namespace waiter

#endif  // WAITER_TESTS_SUPPORT_ALLOCATION_SCENE_H_
