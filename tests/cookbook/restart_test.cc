// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// Continues a wait after a restart.

#include <functional>
#include <map>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "gtest/gtest.h"
#include "waiter/backoff.h"
#include "waiter/options.h"
#include "waiter/result.h"
#include "waiter/stop_token.h"
#include "waiter/testing/simulated_clock.h"
#include "waiter/token.h"
#include "waiter/waiter.h"

namespace restart_test {
namespace {

class Store {
 public:
  std::string Get(const std::string& key) { return texts[key]; }
  void Put(const std::string& key, std::string text) {
    texts[key] = std::move(text);
    if (on_put) on_put();
  }
  void Remove(const std::string& key) { texts.erase(key); }

  std::map<std::string, std::string> texts;
  std::function<void()> on_put;
};

std::function<bool()> is_running;

bool IsRunning(const std::string& /*id*/) { return is_running(); }

// Waits until `IsRunning(id)`. `store` keeps a text for each id, and outlives
// this process, which ends when a stop is requested.
absl::Status WaitAcrossRestarts(const std::string& id, Store& store,
                                waiter::WaitOptions options,
                                const waiter::stop_token& stop = {}) {
  absl::StatusOr<waiter::WaitToken> saved =
      waiter::WaitToken::Parse(store.Get(id));
  if (!saved.ok()) return saved.status();
  options.name = id;
  options.hooks.on_checkpoint = [&](const waiter::WaitToken& token) {
    store.Put(id, token.bytes());
  };
  waiter::Waiter wait([&] { return IsRunning(id); }, std::move(options));
  waiter::WaitResult<> result = wait.Wait({.stop = stop, .resume = *saved});
  switch (result.reason()) {
    case waiter::StopReason::kCancelled:
    case waiter::StopReason::kShutDown:
    case waiter::StopReason::kInvalidOptions:
      break;  // The next process resumes the wait.
    default:
      store.Remove(id);
  }
  return result.status();
}

class RestartTest : public testing::Test {
 protected:
  waiter::WaitOptions Options() {
    return {.timeout = absl::Minutes(40),
            .backoff = {.initial_delay = absl::Minutes(1),
                        .max_delay = absl::Minutes(1),
                        .jitter = waiter::Jitter::None()},
            .clock = &clock_};
  }

  waiter::SimulatedClock clock_;
  Store store_;
  int polls_ = 0;
};

TEST_F(RestartTest, WaitWithoutARestartLeavesNothingBehind) {
  is_running = [this] { return ++polls_ == 5; };
  EXPECT_TRUE(WaitAcrossRestarts("i-0abc", store_, Options()).ok());
  EXPECT_TRUE(store_.texts.empty());
}

TEST_F(RestartTest, StopKeepsTheWaitForTheNextProcess) {
  waiter::stop_source stop;
  is_running = [&] { return clock_.Elapsed() >= absl::Minutes(35); };
  clock_.CallAt(absl::Seconds(1830), [&] { stop.request_stop(); });
  EXPECT_TRUE(absl::IsCancelled(
      WaitAcrossRestarts("i-0abc", store_, Options(), stop.get_token())));
  EXPECT_FALSE(store_.texts.empty());

  EXPECT_TRUE(WaitAcrossRestarts("i-0abc", store_, Options()).ok());
  EXPECT_EQ(clock_.Elapsed(), absl::Minutes(35));
  EXPECT_TRUE(store_.texts.empty());
}

TEST_F(RestartTest, InvalidOptionsKeepTheWait) {
  waiter::stop_source stop;
  is_running = [] { return false; };
  clock_.CallAt(absl::Minutes(2), [&] { stop.request_stop(); });
  EXPECT_TRUE(absl::IsCancelled(
      WaitAcrossRestarts("i-0abc", store_, Options(), stop.get_token())));

  waiter::WaitOptions invalid = Options();
  invalid.max_attempts = -1;
  EXPECT_EQ(WaitAcrossRestarts("i-0abc", store_, invalid).code(),
            absl::StatusCode::kInvalidArgument);
  EXPECT_FALSE(store_.texts.empty());
}

TEST_F(RestartTest, DeadlineIsThatOfTheFirstProcess) {
  // The first process ends during its sleep after 30 minutes: its store keeps
  // the state saved by then.
  std::string left;
  store_.on_put = [&] {
    if (clock_.Elapsed() == absl::Minutes(30)) left = store_.texts["i-0abc"];
  };
  is_running = [] { return false; };
  EXPECT_FALSE(WaitAcrossRestarts("i-0abc", store_, Options()).ok());
  ASSERT_FALSE(left.empty());

  // Another process begins 5 minutes later.
  waiter::SimulatedClock later;
  later.AdvanceTime(absl::Minutes(35));
  waiter::WaitOptions options = Options();
  options.clock = &later;
  store_.Put("i-0abc", left);
  EXPECT_TRUE(
      absl::IsDeadlineExceeded(WaitAcrossRestarts("i-0abc", store_, options)));
  EXPECT_EQ(later.Elapsed(), absl::Minutes(40));
}

TEST_F(RestartTest, TokenThatCannotBeReadIsAnError) {
  store_.Put("i-0abc", "garbage");
  EXPECT_EQ(WaitAcrossRestarts("i-0abc", store_, Options()).code(),
            absl::StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace restart_test
