// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

#include "bench/peers/workload.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <initializer_list>
#include <iterator>
#include <numeric>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/flags/flag.h"
#include "absl/flags/parse.h"
#include "absl/flags/usage.h"
#include "bench/peers/mallocs.h"

ABSL_FLAG(int32_t, waits, 1000, "how many waits, from 1");
ABSL_FLAG(waiter::bench::Mode, mode, waiter::bench::Mode::kRun,
          "what to measure: run, lateness, cancel, submit or wall");

namespace waiter::bench {
namespace {

constexpr std::array<std::pair<Mode, std::string_view>, 5> kModes = {
    {{Mode::kRun, "run"},
     {Mode::kLateness, "lateness"},
     {Mode::kCancel, "cancel"},
     {Mode::kSubmit, "submit"},
     {Mode::kWall, "wall"}}};

constexpr int64_t kMillisecond = 1'000'000;
constexpr int64_t kSecond = 1000 * kMillisecond;

constexpr uint8_t kMaxPolls = 10;
// The polls of a wait that will be cancelled.
constexpr uint8_t kNever = 255;

bool SleepsUntilCancelled(Mode mode) {
  return mode == Mode::kCancel || mode == Mode::kSubmit;
}

int64_t ResidentBytes() {
  std::ifstream statm("/proc/self/statm");
  int64_t size = 0;
  int64_t resident = 0;
  statm >> size >> resident;
  return resident * sysconf(_SC_PAGESIZE);
}

void Print(const char* name, double value) {
  std::printf("%s %.9g\n", name, value);
}

template <typename T>
double Quantile(std::vector<T>& values, double share) {
  if (values.empty()) return 0;
  const auto rank = std::lround(share * static_cast<double>(values.size() - 1));
  std::nth_element(values.begin(), values.begin() + rank, values.end());
  return static_cast<double>(*(values.begin() + rank));
}

}  // namespace

bool AbslParseFlag(std::string_view text, Mode* mode, std::string* error) {
  for (const auto& [value, name] : kModes) {
    if (name == text) {
      *mode = value;
      return true;
    }
  }
  *error = "must be run, lateness, cancel, submit or wall";
  return false;
}

std::string AbslUnparseFlag(Mode mode) {
  return std::string(kModes.at(static_cast<size_t>(mode)).second);
}

void RefuseFlags(std::string_view why) {
  std::fprintf(stderr, "%.*s\n", static_cast<int>(why.size()), why.data());
  std::exit(2);  // NOLINT(concurrency-mt-unsafe): there is one thread.
}

Workload::Workload(int argc, char** argv) {
  absl::SetProgramUsageMessage(
      "Runs one workload and prints its cost. See bench/peers/README.md.");
  if (absl::ParseCommandLine(argc, argv).size() > 1) {
    RefuseFlags("use only flags; see --help");
  }
  if (absl::GetFlag(FLAGS_waits) < 1) {
    RefuseFlags("--waits must be at least 1");
  }
  mode_ = absl::GetFlag(FLAGS_mode);
  const auto waits = static_cast<size_t>(absl::GetFlag(FLAGS_waits));
  if (SleepsUntilCancelled(mode_)) {
    schedule_ = {.initial_delay = 1000 * kSecond,
                 .max_delay = 1000 * kSecond,
                 .min_delay = 100 * kSecond};
    polls_left_.assign(waits, kNever);
    cancel_order_.resize(waits);
    std::iota(cancel_order_.begin(), cancel_order_.end(), 0);
    if (mode_ == Mode::kCancel) {
      std::shuffle(cancel_order_.begin(), cancel_order_.end(), SplitMix64(2));
    }
  } else {
    schedule_ = {
        .initial_delay = 10 * kMillisecond,
        .max_delay = mode_ == Mode::kWall ? 10 * kMillisecond : kSecond,
        .min_delay = 0};
    polls_left_.resize(waits);
    SplitMix64 gen(3);
    for (uint8_t& polls : polls_left_) {
      polls = static_cast<uint8_t>(1 + gen() % kMaxPolls);
    }
    polls_ =
        std::accumulate(polls_left_.begin(), polls_left_.end(), int64_t{0});
  }
  if (mode_ == Mode::kLateness) {
    lateness_.reserve(static_cast<size_t>(polls_));
  }
}

void Workload::Require(std::initializer_list<Mode> supported) const {
  if (std::find(supported.begin(), supported.end(), mode_) != supported.end()) {
    return;
  }
  RefuseFlags("this program has no --mode=" + AbslUnparseFlag(mode_));
}

bool Workload::PollCountdown(void* polls_left) {
  return --*static_cast<uint8_t*>(polls_left) == 0;
}

Workload::Reading Workload::Read() {
  const int64_t resident = ResidentBytes();
  return {.time = Now(),
          .cpu = ProcessCpu(),
          .mallocs = Mallocs(),
          .resident_bytes = resident};
}

void Workload::Begin() { begin_ = Read(); }
void Workload::Started() { started_ = Read(); }

int Workload::Finish() {
  const Reading end = Read();
  const auto waits = static_cast<double>(polls_left_.size());
  const auto per_wait = [&](int64_t from, int64_t to) {
    return static_cast<double>(to - from) / waits;
  };
  Print("wall_s", static_cast<double>(end.time - begin_.time) / kSecond);
  if (mode_ == Mode::kCancel) {
    Print("start_ns", per_wait(begin_.cpu, started_.cpu));
    Print("cancel_ns", per_wait(started_.cpu, end.cpu));
    Print("bytes_per_wait",
          per_wait(begin_.resident_bytes, started_.resident_bytes));
  } else {
    const auto polls = static_cast<double>(polls_);
    Print("polls", polls);
    if (mode_ == Mode::kWall) {
      Print("wall_per_poll_ns",
            static_cast<double>(end.time - started_.time) / polls);
    }
    Print("cpu_per_poll_ns", static_cast<double>(end.cpu - begin_.cpu) / polls);
    Print("mallocs_per_wait", per_wait(begin_.mallocs, end.mallocs));
    Print("mallocs_per_later_poll",
          static_cast<double>(end.mallocs - started_.mallocs) /
              std::max(1.0, polls - waits));
  }
  if (mode_ == Mode::kLateness) {
    Print("late_p50_us", Quantile(lateness_, 0.5) / 1000);
    Print("late_p99_us", Quantile(lateness_, 0.99) / 1000);
    Print("late_max_us", Quantile(lateness_, 1) / 1000);
  }

  const bool polled_right =
      std::all_of(polls_left_.begin(), polls_left_.end(), [&](uint8_t left) {
        return left == (mode_ == Mode::kCancel ? kNever - 1 : 0);
      });
  const int64_t ended = mode_ == Mode::kCancel ? cancelled_ : done_;
  if (polled_right && ended == static_cast<int64_t>(waits)) return 0;
  std::fprintf(stderr, "%lld of %.0f waits ended%s\n",
               static_cast<long long>(ended), waits,
               polled_right ? "" : ", and some had another number of polls");
  return 1;
}

int Workload::FinishSubmit() {
  const auto waits = static_cast<double>(polls_left_.size());
  Print("submit_ns", Quantile(submit_cpu_, 0.5) / waits);
  Print("submit_total_ns", Quantile(submit_total_cpu_, 0.5) / waits);
  const bool polled_right =
      std::all_of(polls_left_.begin(), polls_left_.end(),
                  [&](uint8_t left) { return left == kNever - kSubmitRounds; });
  if (polled_right && cancelled_ == kSubmitRounds * std::ssize(polls_left_)) {
    return 0;
  }
  std::fprintf(stderr, "%lld waits were cancelled%s\n",
               static_cast<long long>(cancelled_),
               polled_right ? "" : ", and some had another number of polls");
  return 1;
}

}  // namespace waiter::bench
