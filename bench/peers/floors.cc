// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// The floors of the engine: only what every program must do that polls to the
// millisecond.
//
//   --mode=run            sleeps until each millisecond in which a wait is due,
//                         as a loop does that other threads can wake
//   --mode=run --records  also reads the clock, calls the status function, and
//                         writes the wait's record, once per poll
//   --mode=cancel         marks the records of all waits, in a random order,
//                         and ends them in the same order
//   --mode=submit         writes a record under a lock, which another thread
//                         takes, polls and writes
//
// It has no timers, decides nothing, and knows in advance when each wait is due
// and how often it polls.

#include <sys/mman.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <mutex>
#include <new>
#include <semaphore>
#include <span>
#include <thread>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/flags/flag.h"
#include "bench/peers/workload.h"

ABSL_FLAG(bool, records, false, "with --mode=run: also polls, and writes");

namespace waiter::bench {
namespace {

constexpr int64_t kTick = 1'000'000;

// A poll that is due. Every poll except the first of a wait is one.
struct Due {
  uint32_t tick;
  uint32_t wait;
};

// Returns the polls of all waits in order of time.
std::vector<Due> AllDue(Workload& workload) {
  std::vector<Due> all;
  for (uint32_t i = 0; i < workload.waits(); ++i) {
    PeerWait wait(workload.StatusOf(i));
    auto& polls_left = *static_cast<uint8_t*>(wait.status.context);
    const uint8_t polls = polls_left;
    int64_t tick = 0;
    while (workload.Poll(wait, tick * kTick).has_value()) {
      tick = (wait.scheduled + kTick - 1) / kTick;
      all.push_back({.tick = static_cast<uint32_t>(tick), .wait = i});
    }
    if (absl::GetFlag(FLAGS_records)) polls_left = polls;
  }
  std::sort(all.begin(), all.end(), [](const Due& a, const Due& b) {
    return std::tie(a.tick, a.wait) < std::tie(b.tick, b.wait);
  });
  return all;
}

// The memory of a wait, of the same size as the engine's.
struct alignas(64) Record {
  explicit Record(StatusFunction function) : status(function) {}

  // Reads and writes both cache lines, as a poll does.
  void Touch(int64_t now) {
    ++attempts;
    due = now;
  }

  StatusFunction status;
  std::atomic<uint32_t> gate = 0;
  int64_t attempts = 0;
  alignas(64) int64_t due = 0;
};
static_assert(sizeof(Record) == 128);

// Records in huge pages, which the system provides when they are first touched.
class Records {
 public:
  explicit Records(Workload& workload) : workload_(workload) {
    constexpr size_t kHugePage = size_t{2} << 20;
    const size_t bytes = workload.waits() * sizeof(Record);
    const size_t whole = (bytes + kHugePage - 1) / kHugePage * kHugePage;
    memory_.reset(static_cast<Record*>(std::aligned_alloc(kHugePage, whole)));
    if (memory_ == nullptr) throw std::bad_alloc();
    madvise(memory_.get(), whole, MADV_HUGEPAGE);
  }

  // Makes the record of a wait.
  Record& Make(size_t wait) {
    return *new (&memory_.get()[wait]) Record(workload_.StatusOf(wait));
  }

  // Calls `body` with the record of each of `items`, which `index` returns.
  // Fetches their memory in groups, ahead of the calls.
  template <typename Item, typename Index, typename Body>
  void ForEach(std::span<const Item> items, Index index, Body body) {
    constexpr size_t kGroup = 16;
    for (size_t i = 0; i < items.size(); ++i) {
      if (i % kGroup == 0) {
        const size_t end = std::min(i + 2 * kGroup, items.size());
        for (size_t ahead = i == 0 ? 0 : i + kGroup; ahead < end; ++ahead) {
          const Record* const record = &memory_.get()[index(items[ahead])];
          __builtin_prefetch(record, 1);
          __builtin_prefetch(&record->due, 1);
        }
      }
      body(memory_.get()[index(items[i])]);
    }
  }

 private:
  struct Free {
    void operator()(Record* memory) const { std::free(memory); }
  };

  Workload& workload_;
  std::unique_ptr<Record, Free> memory_;
};

int MeasureRun(Workload& workload) {
  const std::vector<Due> all = AllDue(workload);
  const bool with_records = absl::GetFlag(FLAGS_records);
  Records records(workload);
  std::mutex mutex;
  std::condition_variable never;
  workload.Begin();
  for (size_t i = 0; with_records && i < workload.waits(); ++i) {
    Record& record = records.Make(i);
    record.status();
    record.Touch(Now());
  }
  workload.Started();
  const auto start = std::chrono::steady_clock::now();
  std::unique_lock lock(mutex);
  for (auto next = all.begin(); next != all.end();) {
    const auto end = std::find_if(next, all.end(), [&](const Due& due) {
      return due.tick != next->tick;
    });
    never.wait_until(lock, start + std::chrono::nanoseconds(next->tick * kTick),
                     [] { return false; });
    if (with_records) {
      records.ForEach(
          std::span(next, end), [](const Due& due) { return due.wait; },
          [](Record& record) {
            record.status();
            record.Touch(Now());
          });
    }
    next = end;
  }
  return workload.Finish();
}

int MeasureCancel(Workload& workload) {
  // This is as large as the handle of an engine's wait.
  struct Handle {
    Record* record = nullptr;
    std::array<uint64_t, 3> others = {};
  };
  std::vector<Handle> handles(workload.waits());
  Records records(workload);
  std::mutex mutex;
  std::vector<uint32_t> cancelled;
  workload.Begin();
  for (size_t i = 0; i < handles.size(); ++i) {
    handles[i].record = &records.Make(i);
    handles[i].record->status();
  }
  workload.Started();
  for (const uint32_t i : workload.cancel_order()) {
    handles[i].record->gate.fetch_or(1);
    const std::scoped_lock lock(mutex);
    cancelled.push_back(i);
  }
  records.ForEach(
      std::span<const uint32_t>(cancelled), [](uint32_t i) { return i; },
      [&](Record& record) {
        record.Touch(0);
        workload.AddCancelled();
      });
  return workload.Finish();
}

int MeasureSubmit(Workload& workload) {
  Records records(workload);
  std::mutex mutex;
  std::condition_variable more;
  std::vector<uint32_t> posted;
  bool ends = false;
  size_t polled = 0;
  std::binary_semaphore all_polled(0);
  std::thread thread([&] {
    std::vector<uint32_t> taken;
    for (;;) {
      {
        std::unique_lock lock(mutex);
        more.wait(lock, [&] { return ends || !posted.empty(); });
        if (posted.empty()) return;
        std::swap(posted, taken);
      }
      records.ForEach(
          std::span<const uint32_t>(taken), [](uint32_t i) { return i; },
          [&](Record& record) {
            record.status();
            record.Touch(Now());
            if (++polled % workload.waits() == 0) all_polled.release();
          });
      taken.clear();
    }
  });
  const int exit_code = workload.MeasureSubmit(
      [&] {
        for (uint32_t i = 0; i < workload.waits(); ++i) {
          records.Make(i);
          const std::scoped_lock lock(mutex);
          posted.push_back(i);
          if (posted.size() == 1) more.notify_one();
        }
      },
      [&] { all_polled.acquire(); },
      [&] {
        for (size_t i = 0; i < workload.waits(); ++i) workload.AddCancelled();
      });
  {
    const std::scoped_lock lock(mutex);
    ends = true;
    more.notify_one();
  }
  thread.join();
  return exit_code;
}

int Run(Workload& workload) {
  switch (workload.mode()) {
    case Mode::kRun:
      return MeasureRun(workload);
    case Mode::kCancel:
      return MeasureCancel(workload);
    default:
      return MeasureSubmit(workload);
  }
}

}  // namespace
}  // namespace waiter::bench

int main(int argc, char** argv) {
  waiter::bench::Workload workload(argc, argv);
  workload.Require({waiter::bench::Mode::kRun, waiter::bench::Mode::kCancel,
                    waiter::bench::Mode::kSubmit});
  return waiter::bench::Run(workload);
}
