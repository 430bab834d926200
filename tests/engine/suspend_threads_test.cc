// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// `WaitHandle::Suspend` from several threads.

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include "absl/functional/any_invocable.h"
#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/support/engine_fixture.h"
#include "tests/support/joining_thread.h"
#include "waiter/engine/engine.h"
#include "waiter/engine/handle.h"
#include "waiter/result.h"
#include "waiter/token.h"
#include "waiter/waiter.h"

namespace waiter::suspend_threads_test {
namespace {

using ::testing::ElementsAre;

TEST(SuspendThreadsTest, EndOfTheEngineAwaitsAPollAndSavesItsWait) {
  std::vector<int64_t> attempts;
  std::vector<JoiningThread> threads;
  WaitEngineOptions options;
  options.executor = [&](absl::AnyInvocable<void()> poll) {
    threads.emplace_back(std::move(poll));
  };
  std::optional<WaitEngine> engine(options);
  std::atomic<bool> polling = false;
  std::atomic<bool> ends = false;
  WaitHandle wait = engine->Start(Waiter(
                                      [&] {
                                        polling = true;
                                        while (!ends) std::this_thread::yield();
                                        return false;
                                      },
                                      {.timeout = absl::Hours(1)}),
                                  [](const WaitResult<>&) { FAIL(); });
  while (!polling) std::this_thread::yield();
  wait.Suspend(
      [&](const WaitToken& token) { attempts.push_back(token.attempts()); });
  JoiningThread end([&] {
    std::this_thread::yield();
    ends = true;
  });
  engine.reset();

  EXPECT_THAT(attempts, ElementsAre(1));
}

// Ends of the waits in addition to `Suspend`.
enum class Other : uint8_t { kNothing, kCancel, kDestroy, kEndEngine };

// Counts the ends of a wait, by their kind.
struct Ends {
  std::atomic<int> suspended = 0;
  std::atomic<int> called_back = 0;
};

class SuspendRacesTest : public testing::TestWithParam<Other> {
 protected:
  void Start(size_t waits) {
    ends_ = std::vector<Ends>(waits);
    engine_.emplace(
        WaitEngineOptions{.threads = 2, .tick = absl::Microseconds(1)});
    for (Ends& ends : ends_) {
      waits_.push_back(
          engine_->Start(Waiter([] { return false; },
                                {.timeout = absl::InfiniteDuration(),
                                 .backoff = Every(absl::Microseconds(20))}),
                         [&ends](const WaitResult<>&) { ++ends.called_back; }));
    }
  }

  // Suspends every second wait, from `begin`.
  void Suspend(size_t begin) {
    while (!go_) std::this_thread::yield();
    for (size_t i = begin; i < waits_.size(); i += 2) {
      waits_[i].Suspend(
          [&ends = ends_[i]](const WaitToken&) { ++ends.suspended; });
      if (GetParam() == Other::kCancel) waits_[i].Cancel();
      if (GetParam() == Other::kDestroy) waits_[i] = WaitHandle();
    }
  }

  std::vector<Ends> ends_;
  std::optional<WaitEngine> engine_;
  std::vector<WaitHandle> waits_;
  std::atomic<bool> go_ = false;
};

TEST_P(SuspendRacesTest, EachWaitEndsInOneWay) {
  Start(/*waits=*/300);
  {
    JoiningThread first([this] { Suspend(0); });
    JoiningThread second([this] { Suspend(1); });
    go_ = true;
    if (GetParam() == Other::kEndEngine) engine_.reset();
  }
  engine_.reset();

  for (const Ends& ends : ends_) {
    EXPECT_LE(ends.suspended, 1);
    if (GetParam() == Other::kDestroy) {
      EXPECT_LE(ends.suspended + ends.called_back, 1);
    } else {
      EXPECT_EQ(ends.suspended + ends.called_back, 1);
    }
    if (GetParam() != Other::kEndEngine) {
      EXPECT_EQ(ends.called_back, 0);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(All, SuspendRacesTest,
                         testing::Values(Other::kNothing, Other::kCancel,
                                         Other::kDestroy, Other::kEndEngine));

}  // namespace
}  // namespace waiter::suspend_threads_test
