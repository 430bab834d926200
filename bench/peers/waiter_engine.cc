// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// Runs the workload on one `WaitEngine`, on the main thread.

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <semaphore>
#include <string>
#include <utility>
#include <vector>

#include "absl/flags/flag.h"
#include "absl/status/status.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "bench/peers/workload.h"
#include "waiter/backoff.h"
#include "waiter/engine/engine.h"
#include "waiter/engine/handle.h"
#include "waiter/observer.h"
#include "waiter/options.h"
#include "waiter/policy.h"
#include "waiter/result.h"
#include "waiter/telemetry/metrics.h"
#include "waiter/waiter.h"

ABSL_FLAG(bool, full, false, "whether waits keep a full report");
ABSL_FLAG(bool, metrics, false,
          "whether --mode=run and --mode=cancel have metrics of their waits");
ABSL_FLAG(std::string, tick, "1ms", "granularity of wake-ups; 0: exact");
ABSL_FLAG(double, relative_slack, 0, "the share by which a delay may grow");
ABSL_FLAG(size_t, batch, 1,
          "number of waits that --mode=submit starts together");

ABSL_FLAG(uint32_t, threads, 1, "number of workers of --mode=wall");
ABSL_FLAG(bool, apart, false,
          "whether these workers are of one engine each, and share nothing");

namespace waiter::bench {
namespace {

// Determines when polls should run from the delays that the waits announce. All
// waits share one observer.
class LatenessObserver final : public WaitObserver {
 public:
  explicit LatenessObserver(Workload& workload)
      : workload_(workload), scheduled_(workload.waits()) {}

  // Must be called when a poll starts.
  void OnPoll(size_t wait) {
    polled_at_ = Now();
    next_ = &scheduled_[wait];
    if (*next_ != 0) workload_.AddLateness(polled_at_ - *next_);
    *next_ = polled_at_;
  }

  void BeforeSleep(const SleepEvent& sleep) override {
    *next_ = polled_at_ + absl::ToInt64Nanoseconds(sleep.delay);
  }

 private:
  Workload& workload_;
  std::vector<int64_t> scheduled_;
  int64_t* next_ = nullptr;
  int64_t polled_at_ = 0;
};

std::shared_ptr<const WaitPolicy> MakePolicy(
    const Workload& workload, std::shared_ptr<WaitObserver> observer,
    absl::Duration first_poll_delay = absl::ZeroDuration()) {
  const auto& [initial, max, min] = workload.schedule();
  return WaitPolicy::Make(
      {.timeout = absl::InfiniteDuration(),
       .backoff = {.initial_delay = absl::Nanoseconds(initial),
                   .max_delay = absl::Nanoseconds(max),
                   .jitter = Jitter::Full(),
                   .min_delay = absl::Nanoseconds(min)},
       .polls = {.first_delay = first_poll_delay},
       .hooks = {.observer = std::move(observer)}});
}

std::shared_ptr<WaitObserver> MetricsByFlag() {
  if (!absl::GetFlag(FLAGS_metrics)) return nullptr;
  return std::make_shared<MetricsObserver>(std::make_shared<MetricsTable>());
}

WaitEngineOptions EngineOptions(int threads) {
  WaitEngineOptions options = {
      .threads = threads,
      .relative_slack = absl::GetFlag(FLAGS_relative_slack),
      .report =
          absl::GetFlag(FLAGS_full) ? ReportLevel::kFull : ReportLevel::kLean};
  if (!absl::ParseDuration(absl::GetFlag(FLAGS_tick), &options.tick)) {
    RefuseFlags("--tick must be a duration, such as 1ms");
  }
  const absl::Status valid = Validate(options);
  if (!valid.ok()) RefuseFlags(valid.ToString());
  return options;
}

void Count(Workload& workload, const WaitResult<>& result) {
  if (result.report().reason == StopReason::kCancelled) {
    workload.AddCancelled();
  } else {
    workload.AddDone();
  }
}

int RunToTheEnd(Workload& workload) {
  WaitEngine engine(EngineOptions(0));
  const auto policy = MakePolicy(workload, MetricsByFlag());
  workload.Begin();
  for (size_t i = 0; i < workload.waits(); ++i) {
    engine
        .Start(Waiter(workload.StatusOf(i), policy),
               [&workload](const WaitResult<>& result) {
                 Count(workload, result);
               })
        .Detach();
  }
  workload.Started();
  engine.Run();
  return workload.Finish();
}

int MeasureLateness(Workload& workload) {
  WaitEngine engine(EngineOptions(0));
  const auto observer = std::make_shared<LatenessObserver>(workload);
  const auto policy = MakePolicy(workload, observer);
  workload.Begin();
  for (size_t i = 0; i < workload.waits(); ++i) {
    engine
        .Start(Waiter(
                   [&observer = *observer, &workload, i] {
                     observer.OnPoll(i);
                     return workload.StatusOf(i)();
                   },
                   policy),
               [&workload](const WaitResult<>& result) {
                 Count(workload, result);
               })
        .Detach();
  }
  workload.Started();
  engine.Run();
  return workload.Finish();
}

int MeasureCancel(Workload& workload) {
  WaitEngine engine(EngineOptions(0));
  const auto policy = MakePolicy(workload, MetricsByFlag());
  std::vector<WaitHandle> handles(workload.waits());
  workload.Begin();
  for (size_t i = 0; i < handles.size(); ++i) {
    handles[i] = engine.Start(
        Waiter(workload.StatusOf(i), policy),
        [&workload](const WaitResult<>& result) { Count(workload, result); });
  }
  engine.RunDue();
  workload.Started();
  for (const uint32_t i : workload.cancel_order()) handles[i].Cancel();
  engine.Run();
  return workload.Finish();
}

int MeasureSubmit(Workload& workload) {
  std::vector<WaitHandle> handles(workload.waits());
  struct Shared {
    Workload& workload;
    size_t polled = 0;
    size_t ended = 0;
    std::binary_semaphore all_polled{0};
    std::binary_semaphore all_ended{0};
  } shared{workload};
  WaitEngine engine(EngineOptions(1));
  const auto policy = MakePolicy(workload, nullptr);
  const auto poll = [&shared](size_t i) {
    const bool done = shared.workload.StatusOf(i)();
    if (++shared.polled % shared.workload.waits() == 0) {
      shared.all_polled.release();
    }
    return done;
  };
  const auto end = [&shared](const WaitResult<>& result) {
    Count(shared.workload, result);
    if (++shared.ended % shared.workload.waits() == 0) {
      shared.all_ended.release();
    }
  };
  const auto waiter = [&](size_t i) {
    return Waiter([poll, i] { return poll(i); }, policy);
  };
  const size_t batch = std::max<size_t>(absl::GetFlag(FLAGS_batch), 1);
  const auto start_batch = [&](size_t first) {
    std::vector<decltype(waiter(0))> waiters;
    waiters.reserve(batch);
    const size_t last = std::min(first + batch, handles.size());
    for (size_t i = first; i < last; ++i) waiters.push_back(waiter(i));
    std::vector<WaitHandle> started = engine.StartAll(
        std::move(waiters),
        [end](size_t, const WaitResult<>& result) { end(result); });
    std::move(started.begin(), started.end(),
              handles.begin() + static_cast<std::ptrdiff_t>(first));
  };
  return workload.MeasureSubmit(
      [&] {
        for (size_t i = 0; i < handles.size(); i += batch) {
          if (batch > 1) {
            start_batch(i);
          } else {
            handles[i] = engine.Start(waiter(i), end);
          }
        }
      },
      [&] { shared.all_polled.acquire(); },
      [&] {
        for (const uint32_t i : workload.cancel_order()) handles[i].Cancel();
        shared.all_ended.acquire();
      });
}

// Some of the workers, and the waits that they have. Lives in its own cache
// lines.
struct alignas(64) Crew {
  Crew(int threads, std::shared_ptr<const WaitPolicy> policy_of_all,
       size_t waits)
      : policy(std::move(policy_of_all)),
        left(waits),
        engine(EngineOptions(threads)) {}

  void Start(StatusFunction status) {
    engine
        .Start(Waiter(status, policy),
               [this](const WaitResult<>&) {
                 if (left.fetch_sub(1) == 1) all_ended.release();
               })
        .Detach();
  }

  std::shared_ptr<const WaitPolicy> policy;
  std::atomic<size_t> left;
  std::binary_semaphore all_ended{0};
  WaitEngine engine;
};

// The first polls come after all waits have been started.
int MeasureWall(Workload& workload) {
  constexpr absl::Duration kAllStarted = absl::Seconds(2);
  const size_t threads = absl::GetFlag(FLAGS_threads);
  if (threads == 0 || workload.waits() % threads != 0) {
    RefuseFlags("--waits must be a multiple of --threads");
  }
  const size_t share = workload.waits() / threads;
  const size_t crews = absl::GetFlag(FLAGS_apart) ? threads : 1;
  const auto threads_each = static_cast<int>(threads / crews);
  std::deque<Crew> all;
  for (size_t i = 0; i < crews; ++i) {
    all.emplace_back(threads_each, MakePolicy(workload, nullptr, kAllStarted),
                     workload.waits() / crews);
  }
  workload.Begin();
  const absl::Time begin = absl::Now();
  for (size_t i = 0; i < workload.waits(); ++i) {
    // Workers take turns, and each counts down bytes in separate cache lines.
    all[i % crews].Start(workload.StatusOf(i % threads * share + i / threads));
  }
  absl::SleepFor(begin + kAllStarted - absl::Now());
  workload.Started();
  for (Crew& crew : all) crew.all_ended.acquire();
  workload.AddDone(static_cast<int64_t>(workload.waits()));
  return workload.Finish();
}

int Run(Workload& workload) {
  switch (workload.mode()) {
    case Mode::kRun:
      return RunToTheEnd(workload);
    case Mode::kLateness:
      return MeasureLateness(workload);
    case Mode::kCancel:
      return MeasureCancel(workload);
    case Mode::kSubmit:
      return MeasureSubmit(workload);
    case Mode::kWall:
      return MeasureWall(workload);
  }
  return 2;
}

}  // namespace
}  // namespace waiter::bench

int main(int argc, char** argv) {
  waiter::bench::Workload workload(argc, argv);
  return waiter::bench::Run(workload);
}
