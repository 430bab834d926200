// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// Compares the cost of a wait by `AsyncWait`, in a coroutine of Boost.Asio,
// with `Await` in a coroutine of another kind. Both run on an engine that an
// `io_context` drives, in 100 coroutines that each make wait after wait:
//
//   asio_costs                      prints a table of the processor times
//   asio_costs SUBJECT COUNT        makes COUNT waits, for valgrind
//
// SUBJECT is `await1`, `await10`, `async_wait1`, `async_wait10` or `post`. The
// number is the polls of a wait, which have no delays. `post` makes no wait: it
// goes once through the queue of the `io_context`, as does every operation of
// Asio that a coroutine awaits.

#ifdef WAITER_HAS_BOOST

#include <algorithm>
#include <array>
#include <coroutine>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <exception>
#include <memory>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/time/time.h"
#include "bench/check.h"
#include "boost/asio/awaitable.hpp"
#include "boost/asio/co_spawn.hpp"
#include "boost/asio/detached.hpp"
#include "boost/asio/io_context.hpp"
#include "boost/asio/post.hpp"
#include "boost/asio/use_awaitable.hpp"
#include "waiter/engine/coroutine.h"
#include "waiter/engine/engine.h"
#include "waiter/interop/asio.h"
#include "waiter/options.h"
#include "waiter/policy.h"
#include "waiter/waiter.h"

namespace waiter::bench {
namespace {

constexpr int64_t kCoroutines = 100;

// A coroutine that starts immediately and owns itself.
struct Detached {
  struct promise_type {
    Detached get_return_object() { return {}; }
    std::suspend_never initial_suspend() noexcept { return {}; }
    std::suspend_never final_suspend() noexcept { return {}; }
    void return_void() {}
    void unhandled_exception() { std::terminate(); }
  };
};

struct Work {
  WaitEngine& engine;
  std::shared_ptr<const WaitPolicy> policy;
  int64_t polls;
  int64_t waits;  // Waits of each coroutine.
  int64_t ended = 0;
};

auto MakeWaiter(const Work& work) {
  return Waiter([left = work.polls]() mutable { return --left == 0; },
                work.policy);
}

Detached AwaitMany(Work& work) {
  for (int64_t i = 0; i < work.waits; ++i) {
    const WaitResult<> result = co_await Await(work.engine, MakeWaiter(work));
    work.ended += result.ok() ? 1 : 0;
  }
}

boost::asio::awaitable<void> AsyncWaitMany(Work& work) {
  for (int64_t i = 0; i < work.waits; ++i) {
    const WaitResult<> result = co_await AsyncWait(
        work.engine, MakeWaiter(work), boost::asio::use_awaitable);
    work.ended += result.ok() ? 1 : 0;
  }
}

boost::asio::awaitable<void> PostMany(Work& work) {
  for (int64_t i = 0; i < work.waits; ++i) {
    co_await boost::asio::post(boost::asio::use_awaitable);
    ++work.ended;
  }
}

enum class Form : uint8_t { kAwait, kAsyncWait, kPost };

void Run(Form form, int64_t polls, int64_t count) {
  boost::asio::io_context io(1);
  AsioEngineDriver driver(io);
  Work work = {
      .engine = driver.engine(),
      .policy =
          WaitPolicy::Make({.timeout = absl::Hours(1),
                            .backoff = {.initial_delay = absl::ZeroDuration(),
                                        .max_delay = absl::ZeroDuration(),
                                        .min_delay = absl::ZeroDuration()}}),
      .polls = polls,
      .waits = std::max<int64_t>(1, count / kCoroutines),
  };
  for (int64_t i = 0; i < kCoroutines; ++i) {
    switch (form) {
      case Form::kAwait:
        AwaitMany(work);
        break;
      case Form::kAsyncWait:
        boost::asio::co_spawn(io, AsyncWaitMany(work), boost::asio::detached);
        break;
      case Form::kPost:
        boost::asio::co_spawn(io, PostMany(work), boost::asio::detached);
        break;
    }
  }
  io.run();
  Check(work.ended == kCoroutines * work.waits, "waits did not succeed");
}

double CpuNanoseconds() {
  timespec now;
  Check(clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now) == 0,
        "the processor time cannot be read");
  return static_cast<double>(now.tv_sec) * 1e9 +
         static_cast<double>(now.tv_nsec);
}

double Measure(Form form, int64_t polls, int64_t count) {
  const double start = CpuNanoseconds();
  Run(form, polls, count);
  return (CpuNanoseconds() - start) / static_cast<double>(count);
}

double Median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

// Prints a row of the table: medians of runs that alternate, and the medians of
// the ratios of `AsyncWait` to `Await` alone and to `Await` with a `post`.
void Compare(int64_t polls) {
  constexpr int kRuns = 21;
  constexpr int64_t kCount = 200'000;
  std::vector<double> async_wait;
  std::vector<double> await;
  std::vector<double> post;
  std::vector<double> ratios;
  std::vector<double> ratios_with_post;
  for (int i = 0; i < kRuns; ++i) {
    await.push_back(Measure(Form::kAwait, polls, kCount));
    async_wait.push_back(Measure(Form::kAsyncWait, polls, kCount));
    post.push_back(Measure(Form::kPost, polls, kCount));
    ratios.push_back(async_wait.back() / await.back());
    ratios_with_post.push_back(async_wait.back() /
                               (await.back() + post.back()));
  }
  const double ratio = Median(ratios);
  std::printf(
      "| wait of %d poll%s | %.0f ns | %.0f ns | %.2fx | <= 1.20x | %s | %.0f "
      "ns | %.2fx |\n",
      static_cast<int>(polls), polls == 1 ? "" : "s", Median(async_wait),
      Median(await), ratio, ratio <= 1.2 ? "ok" : "short", Median(post),
      Median(ratios_with_post));
}

void PrintTable() {
  std::printf(
      "| | `AsyncWait` | `Await` | ratio | target | | `post` | ratio to "
      "`Await` and `post` |\n"
      "| --- | ---: | ---: | ---: | --- | --- | ---: | ---: |\n");
  Compare(1);
  Compare(10);
}

struct Subject {
  std::string_view name;
  Form form;
  int64_t polls;
};
constexpr std::array<Subject, 5> kSubjects = {{
    {"await1", Form::kAwait, 1},
    {"await10", Form::kAwait, 10},
    {"async_wait1", Form::kAsyncWait, 1},
    {"async_wait10", Form::kAsyncWait, 10},
    {"post", Form::kPost, 1},
}};

int Main(int argc, char** argv) {
  if (argc == 1) {
    PrintTable();
    return 0;
  }
  const std::string_view name = argc == 3 ? argv[1] : "";
  const int64_t count = argc == 3 ? std::atoll(argv[2]) : 0;
  for (const Subject& subject : kSubjects) {
    if (subject.name != name || count <= 0) continue;
    Run(subject.form, subject.polls, count);
    return 0;
  }
  std::fprintf(stderr, "usage: asio_costs [SUBJECT COUNT]\n");
  return 2;
}

}  // namespace
}  // namespace waiter::bench

int main(int argc, char** argv) { return waiter::bench::Main(argc, argv); }

#else

#include <cstdio>

int main() {
  std::fprintf(stderr, "run: apt-get install libboost1.81-dev\n");
  return 1;
}

#endif  // WAITER_HAS_BOOST
