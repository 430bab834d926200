// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// Wakes up as often as the workload must with a tick of a millisecond, and does
// nothing else. What that costs is in the figures of all programs that poll as
// finely, and the more of them the fewer waits there are.

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <vector>

#include "bench/peers/workload.h"

namespace waiter::bench {
namespace {

constexpr int64_t kTick = 1'000'000;

// Polls each wait to its end, without sleeping, and returns the ticks after the
// start at which any is due, in order.
std::vector<int64_t> TicksOf(Workload& workload) {
  std::vector<int64_t> ticks;
  for (size_t i = 0; i < workload.waits(); ++i) {
    PeerWait wait(workload.StatusOf(i));
    int64_t tick = 0;
    while (workload.Poll(wait, tick * kTick).has_value()) {
      tick = (wait.scheduled + kTick - 1) / kTick;
      ticks.push_back(tick);
    }
  }
  std::sort(ticks.begin(), ticks.end());
  ticks.erase(std::unique(ticks.begin(), ticks.end()), ticks.end());
  return ticks;
}

int Run(Workload& workload) {
  const std::vector<int64_t> ticks = TicksOf(workload);
  // As a loop sleeps that other threads can wake.
  std::mutex mutex;
  std::condition_variable never;
  workload.Begin();
  workload.Started();
  const auto start = std::chrono::steady_clock::now();
  std::unique_lock lock(mutex);
  for (const int64_t tick : ticks) {
    never.wait_until(lock, start + std::chrono::nanoseconds(tick * kTick),
                     [] { return false; });
  }
  return workload.Finish();
}

}  // namespace
}  // namespace waiter::bench

int main(int argc, char** argv) {
  waiter::bench::Workload workload(argc, argv);
  workload.Require({waiter::bench::Mode::kRun});
  return waiter::bench::Run(workload);
}
