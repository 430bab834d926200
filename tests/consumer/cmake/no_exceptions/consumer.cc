// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// Waits in every way without exceptions and without run-time types: on this
// thread, on an engine with a thread and on one without, in a group, in a
// batch, and in a coroutine.

#include <atomic>
#include <coroutine>
#include <iostream>
#include <string>
#include <utility>
#include <vector>

#include "absl/time/time.h"
#include "absl/types/span.h"
#include "waiter/engine/batch_poller.h"
#include "waiter/engine/coroutine.h"
#include "waiter/engine/engine.h"
#include "waiter/engine/group.h"
#include "waiter/engine/handle.h"
#include "waiter/options.h"
#include "waiter/poll.h"
#include "waiter/result.h"
#include "waiter/waiter.h"

#ifdef __cpp_exceptions
#error "Compile this with -fno-exceptions."
#endif
#ifdef __cpp_rtti
#error "Compile this with -fno-rtti."
#endif

namespace {

waiter::WaitOptions Options() {
  return {.timeout = absl::Seconds(10),
          .backoff = {.initial_delay = absl::Milliseconds(1)}};
}

// Makes a wait that succeeds at the third poll, with the number of polls.
auto ThreePolls() {
  return waiter::Waiter(
      [polls = 0]() mutable -> waiter::Poll<int> {
        if (++polls < 3) return waiter::NotReady("starting");
        return waiter::Success(polls);
      },
      Options());
}

bool IsThree(const waiter::WaitResult<int>& result) {
  return result.ok() && *result == 3;
}

bool Blocks() {
  auto wait = ThreePolls();
  return IsThree(wait.Wait());
}

bool ReportsTheTimeout() {
  waiter::Waiter wait([] { return false; }, absl::ZeroDuration());
  return !wait.Wait().ok();
}

bool WaitsOnTheThreadOfAnEngine() {
  std::atomic<bool> succeeded = false;
  waiter::WaitEngine engine;
  const waiter::WaitHandle handle = engine.Start(
      ThreePolls(),
      [&](const waiter::WaitResult<int>& done) { succeeded = IsThree(done); });
  waiter::Waiter wait([&] { return succeeded.load(); }, Options());
  return wait.Wait().ok();
}

bool WaitsForAGroup() {
  std::vector<decltype(ThreePolls())> waits;
  waits.push_back(ThreePolls());
  waits.push_back(ThreePolls());
  bool succeeded = false;
  waiter::WaitEngine engine({.threads = 0});
  const waiter::WaitGroup<int> group(
      engine, std::move(waits), {},
      [&](const std::vector<waiter::WaitResult<int>>& results) {
        succeeded =
            results.size() == 2 && IsThree(results[0]) && IsThree(results[1]);
      });
  engine.Run();
  return succeeded;
}

bool PollsABatch() {
  bool succeeded = false;
  waiter::WaitEngine engine({.threads = 0});
  waiter::BatchPoller<std::string> poller(
      engine, [](absl::Span<const std::string> keys) {
        waiter::BatchAnswer<std::string> answer;
        for (const std::string& key : keys) {
          answer.emplace(key, waiter::PollStatus::kSuccess);
        }
        return answer;
      });
  const waiter::WaitHandle handle = poller.Start(
      "job", Options(),
      [&](const waiter::WaitResult<>& done) { succeeded = done.ok(); });
  engine.Run();
  return succeeded;
}

// A coroutine that destroys itself at its end.
struct Task {
  struct promise_type {
    Task get_return_object() { return {}; }
    std::suspend_never initial_suspend() noexcept { return {}; }
    std::suspend_never final_suspend() noexcept { return {}; }
    void return_void() {}
    void unhandled_exception() {}
  };
};

Task Await(waiter::WaitEngine& engine, bool& succeeded) {
  auto wait = ThreePolls();
  const waiter::WaitResult<int> result =
      co_await waiter::Await(engine, std::move(wait));
  succeeded = IsThree(result);
}

bool ResumesACoroutine() {
  bool succeeded = false;
  waiter::WaitEngine engine({.threads = 0});
  Await(engine, succeeded);
  engine.Run();
  return succeeded;
}

bool Check(const char* claim, bool holds) {
  std::cout << claim << ": " << (holds ? "ok" : "FAILED") << "\n";
  return holds;
}

}  // namespace

int main() {
  bool good = Check("a wait blocks", Blocks());
  good &= Check("a timeout is reported", ReportsTheTimeout());
  good &= Check("a thread of an engine", WaitsOnTheThreadOfAnEngine());
  good &= Check("a group", WaitsForAGroup());
  good &= Check("a batch", PollsABatch());
  good &= Check("a coroutine", ResumesACoroutine());
  return good ? 0 : 1;
}
