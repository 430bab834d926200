// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// A process of durable waits, which durable_costs.cc starts with flags.
// `--role=add` enqueues and ends. `--role=work` polls, answers each line on its
// standard input with a line of figures, and ends when that input ends.
// `--role=engine` does the same with as many waits of a `WaitEngine`, without a
// server.

#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <memory>
#include <mutex>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "absl/flags/flag.h"
#include "absl/flags/parse.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "bench/check.h"
#include "waiter/durable/client.h"
#include "waiter/durable/redis_store.h"
#include "waiter/durable/worker.h"
#include "waiter/engine/engine.h"
#include "waiter/engine/handle.h"
#include "waiter/options.h"
#include "waiter/policy.h"
#include "waiter/poll.h"
#include "waiter/redis/client.h"
#include "waiter/result.h"
#include "waiter/waiter.h"

ABSL_FLAG(int32_t, port, 0, "of the server on 127.0.0.1");
ABSL_FLAG(std::string, role, "", "add, work or engine");
ABSL_FLAG(int64_t, count, 0, "waits");
ABSL_FLAG(int64_t, batch, 250, "waits of one call");
ABSL_FLAG(absl::Duration, spread, absl::ZeroDuration(),
          "first delays are within [0, spread]");
ABSL_FLAG(absl::Duration, first_delay, absl::ZeroDuration(),
          "added to all first delays");
ABSL_FLAG(absl::Duration, lease, absl::Seconds(15), "of the worker");
ABSL_FLAG(absl::Duration, least, absl::ZeroDuration(), "shortest delay");
ABSL_FLAG(absl::Duration, most, absl::ZeroDuration(), "longest delay");
ABSL_FLAG(bool, lateness, false, "measure how late polls are");
ABSL_FLAG(bool, ends, false, "succeed at the first poll");
ABSL_FLAG(std::string, log, "", "file for a line per poll");

namespace waiter::bench {
namespace {

constexpr const char* kName = "thing";
constexpr size_t kInFlight = 8;

int64_t CpuMicros() {
  rusage usage = {};
  getrusage(RUSAGE_SELF, &usage);
  const auto micros = [](const timeval& time) {
    return int64_t{time.tv_sec} * 1'000'000 + time.tv_usec;
  };
  return micros(usage.ru_utime) + micros(usage.ru_stime);
}

std::shared_ptr<RedisWaitStore> MakeStore() {
  auto client = RedisClient::Make(
      absl::StrCat("redis://127.0.0.1:", absl::GetFlag(FLAGS_port)),
      {.call_timeout = absl::Seconds(10)});
  Check(client.ok(), "no client");
  return std::make_shared<RedisWaitStore>(*std::move(client));
}

// Enqueues in batches. Several batches are in flight.
class Adder {
 public:
  Adder() : client_(*DurableClient::Make(MakeStore(), {})) {}

  void Run() {
    const int64_t count = absl::GetFlag(FLAGS_count);
    std::mt19937_64 random(1);
    const double spread =
        absl::ToDoubleMicroseconds(absl::GetFlag(FLAGS_spread));
    std::uniform_real_distribution<double> micros(0, std::max(spread, 1.0));
    // The first call opens the name.
    Add({{.key = "first", .first_delay = absl::Hours(1000)}});
    Await(0);
    const absl::Time start = absl::Now();
    const int64_t cpu = CpuMicros();
    for (int64_t i = 0; i < count;) {
      std::vector<DurableRequest> requests;
      const int64_t end = std::min(count, i + absl::GetFlag(FLAGS_batch));
      for (; i < end; ++i) {
        requests.push_back({.key = absl::StrFormat("i-%017d", i),
                            .first_delay = absl::GetFlag(FLAGS_first_delay) +
                                           absl::Microseconds(micros(random))});
      }
      Await(kInFlight - 1);
      Add(std::move(requests));
    }
    Await(0);
    absl::PrintF("count=%d wall_us=%d cpu_us=%d\n", created_ - 1,
                 absl::ToInt64Microseconds(absl::Now() - start),
                 CpuMicros() - cpu);
    std::fflush(stdout);
  }

 private:
  void Add(std::vector<DurableRequest> requests) {
    {
      const std::lock_guard lock(mutex_);
      ++in_flight_;
    }
    client_->EnqueueMany(kName, std::move(requests),
                         [this](absl::StatusOr<int64_t> created) {
                           if (!created.ok()) {
                             Fail(std::string(created.status().message()));
                           }
                           const std::lock_guard lock(mutex_);
                           created_ += *created;
                           --in_flight_;
                           returned_.notify_one();
                         });
  }

  void Await(size_t most) {
    std::unique_lock lock(mutex_);
    returned_.wait(lock, [&] { return in_flight_ <= most; });
  }

  std::mutex mutex_;
  std::condition_variable returned_;
  size_t in_flight_ = 0;
  int64_t created_ = 0;
  const std::unique_ptr<DurableClient> client_;
};

// Records when polls were due and how late they were.
class Lateness {
 public:
  void OnPoll(size_t index, int64_t now_us, int64_t delay_us) {
    const std::lock_guard lock(mutex_);
    if (index >= due_.size()) due_.resize(2 * index + 1);
    if (due_[index] != 0) late_.push_back(now_us - due_[index]);
    due_[index] = now_us + delay_us;
  }
  std::vector<int64_t> Take() {
    const std::lock_guard lock(mutex_);
    std::vector<int64_t> late = std::move(late_);
    late_.clear();
    std::sort(late.begin(), late.end());
    return late;
  }

 private:
  std::mutex mutex_;
  std::vector<int64_t> due_;
  std::vector<int64_t> late_;
};

// Returns a policy with delays within [least, most].
WaitOptions PolicyOf(absl::Duration least, absl::Duration most) {
  WaitOptions policy = {.timeout = absl::InfiniteDuration()};
  policy.backoff = {
      .initial_delay = (least + most) / 2,
      .max_delay = most,
      .multiplier = 1,
      .jitter = Jitter::Between(absl::FDivDuration(least, (least + most) / 2),
                                absl::FDivDuration(most, (least + most) / 2))};
  policy.errors.retry_after.rule = RetryAfterOptions::Rule::kReplace;
  return policy;
}

// Makes the polls of `Work` on an engine alone.
void RunEngine() {
  WaitEngine engine;
  std::atomic<int64_t> polls = 0;
  const auto policy = WaitPolicy::Make(
      PolicyOf(absl::GetFlag(FLAGS_least), absl::GetFlag(FLAGS_most)));
  std::vector<WaitHandle> handles;
  for (int64_t i = 0; i < absl::GetFlag(FLAGS_count); ++i) {
    handles.push_back(engine.Start(Waiter(
                                       [&polls]() -> Poll<> {
                                         polls.fetch_add(
                                             1, std::memory_order_relaxed);
                                         return NotReady();
                                       },
                                       policy),
                                   [](const WaitResult<>&) {}));
  }
  std::string line;
  while (std::getline(std::cin, line)) {
    absl::PrintF("polls=%d cpu_us=%d\n", polls.load(), CpuMicros());
    std::fflush(stdout);
  }
  std::_Exit(0);
}

void Work() {
  const absl::Duration least = absl::GetFlag(FLAGS_least);
  const absl::Duration most = absl::GetFlag(FLAGS_most);
  const bool measures = absl::GetFlag(FLAGS_lateness);
  const bool ends = absl::GetFlag(FLAGS_ends);
  const std::string file = absl::GetFlag(FLAGS_log);
  const int log =
      file.empty()
          ? -1
          : open(file.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
  Lateness lateness;
  // Used on the worker's only thread.
  std::mt19937_64 random(1);
  std::uniform_int_distribution<int64_t> delays(
      absl::ToInt64Microseconds(least), absl::ToInt64Microseconds(most));

  auto waits =
      DurableWaits::Make(MakeStore(), {.lease = absl::GetFlag(FLAGS_lease)});
  Check(waits.ok(), "no worker");
  const absl::Status status = (*waits)->Register(
      kName, PolicyOf(least, most),
      [&](const DurablePoll& poll) -> Poll<std::string> {
        if (ends) return Success("done");
        if (measures) {
          const int64_t delay_us = delays(random);
          lateness.OnPoll(std::strtoull(poll.key.data() + 2, nullptr, 10),
                          absl::GetCurrentTimeNanos() / 1000, delay_us);
          return NotReady("", absl::Microseconds(delay_us));
        }
        if (log >= 0) {
          const std::string line =
              absl::StrFormat("%s %d\n", std::string(poll.key),
                              absl::GetCurrentTimeNanos() / 1000);
          Check(write(log, line.data(), line.size()) > 0, "no log");
        }
        return NotReady();
      });
  if (!status.ok()) Fail(std::string(status.message()));
  (*waits)->Start();
  std::string line;
  while (std::getline(std::cin, line)) {
    const DurableWaitsState state = (*waits)->State();
    const std::vector<int64_t> late = lateness.Take();
    const auto quantile = [&](size_t percent) {
      return late.empty() ? 0 : late[(late.size() - 1) * percent / 100];
    };
    absl::PrintF(
        "polls=%d ended=%d lost=%d held=%d cpu_us=%d late=%d late_p50_us=%d "
        "late_p99_us=%d\n",
        state.polls, state.ended, state.lost, state.held, CpuMicros(),
        late.size(), quantile(50), quantile(99));
    std::fflush(stdout);
    if (!state.last_error.ok()) {
      std::fprintf(stderr, "%s\n", state.last_error.ToString().c_str());
    }
  }
  std::_Exit(0);  // Gives nothing back, like a crash.
}

}  // namespace
}  // namespace waiter::bench

int main(int argc, char** argv) {
  absl::ParseCommandLine(argc, argv);
  if (absl::GetFlag(FLAGS_role) == "add") {
    waiter::bench::Adder().Run();
  } else if (absl::GetFlag(FLAGS_role) == "engine") {
    waiter::bench::RunEngine();
  } else {
    waiter::bench::Work();
  }
}
