// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// Measures the costs of stores of durable waits, in one process:
//
//   Report("polls", [&] { return MeasurePolls(store, CpuMicros); });
//
// README.md describes the measurements. A program that includes this has its
// flags.

#ifndef WAITER_BENCH_DISTRIBUTED_STORE_COSTS_H_
#define WAITER_BENCH_DISTRIBUTED_STORE_COSTS_H_

#include <sys/resource.h>

#include <algorithm>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <functional>
#include <memory>
#include <mutex>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "absl/flags/flag.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "bench/check.h"
#include "waiter/durable/client.h"
#include "waiter/durable/store.h"
#include "waiter/durable/worker.h"
#include "waiter/options.h"
#include "waiter/poll.h"

ABSL_FLAG(int64_t, waits, 100'000, "pending waits");
ABSL_FLAG(int64_t, claim_batch, 250, "of the worker");
ABSL_FLAG(int32_t, rounds, 3, "rounds whose medians are printed");
ABSL_FLAG(absl::Duration, time, absl::Seconds(8), "time in which polls count");
ABSL_FLAG(std::vector<std::string>, only, {},
          "parts to measure, of polls, calls, enqueue; empty: all");

namespace waiter::bench {

// Returns microseconds of processor time.
using CpuClock = std::function<double()>;

inline constexpr const char* kName = "thing";
inline constexpr size_t kInFlight = 8;
inline constexpr int kPartitions = 16;

// Returns the processor time of this process.
inline double CpuMicros() {
  rusage usage = {};
  getrusage(RUSAGE_SELF, &usage);
  const auto micros = [](const timeval& time) {
    return 1e6 * static_cast<double>(time.tv_sec) +
           static_cast<double>(time.tv_usec);
  };
  return micros(usage.ru_utime) + micros(usage.ru_stime);
}

// Enqueues in batches. Several batches are in flight.
class Adder {
 public:
  explicit Adder(const std::shared_ptr<WaitStore>& store)
      : client_(*DurableClient::Make(store, {})) {}

  void Run(int64_t count, int64_t batch, absl::Duration first_delay,
           absl::Duration spread) {
    std::mt19937_64 random(1);
    std::uniform_real_distribution<double> micros(
        0, std::max(absl::ToDoubleMicroseconds(spread), 1.0));
    for (int64_t i = 0; i < count;) {
      std::vector<DurableRequest> requests;
      for (const int64_t end = std::min(count, i + batch); i < end; ++i) {
        requests.push_back(
            {.key = absl::StrFormat("i-%017d", i),
             .first_delay = first_delay + absl::Microseconds(micros(random))});
      }
      Await(kInFlight - 1);
      Add(std::move(requests));
    }
    Await(0);
  }

 private:
  void Add(std::vector<DurableRequest> requests) {
    {
      const std::lock_guard lock(mutex_);
      ++in_flight_;
    }
    client_->EnqueueMany(kName, std::move(requests),
                         [this](const absl::StatusOr<int64_t>& created) {
                           if (!created.ok()) Fail(created.status().ToString());
                           const std::lock_guard lock(mutex_);
                           --in_flight_;
                           returned_.notify_one();
                         });
  }

  void Await(size_t most) {
    std::unique_lock lock(mutex_);
    returned_.wait(lock, [&] { return in_flight_ <= most; });
  }

  const std::unique_ptr<DurableClient> client_;
  std::mutex mutex_;
  std::condition_variable returned_;
  size_t in_flight_ = 0;
};

struct Figures {
  double per_second = 0;
  double cpu_us = 0;
  double bytes = 0;
};

// Measures polls while more waits are due than can be polled. Each poll gives
// its wait back. Calls `begin`, if it is set, between the enqueues and the
// polls.
inline Figures MeasurePolls(const std::shared_ptr<WaitStore>& store,
                            const CpuClock& cpu_micros,
                            const std::function<void()>& begin = nullptr) {
  const int64_t count = absl::GetFlag(FLAGS_waits);
  Adder(store).Run(count, 4000, absl::ZeroDuration(), absl::Seconds(1));
  if (begin != nullptr) begin();
  auto waits = DurableWaits::Make(
      store, {.lease = absl::Seconds(2),
              .claim_batch = absl::GetFlag(FLAGS_claim_batch)});
  if (!waits.ok()) Fail(waits.status().ToString());
  WaitOptions policy = {.timeout = absl::InfiniteDuration()};
  // The delays are at least a third of the lease, so no worker holds the wait
  // until it is due.
  policy.backoff = {.initial_delay = absl::Seconds(1),
                    .max_delay = absl::Milliseconds(1300),
                    .multiplier = 1,
                    .jitter = Jitter::Between(0.7, 1.3)};
  const absl::Status status = (*waits)->Register(
      kName, policy, [](const DurablePoll& /*poll*/) -> Poll<std::string> {
        return NotReady();
      });
  if (!status.ok()) Fail(status.ToString());
  (*waits)->Start();
  absl::SleepFor(absl::Seconds(4));
  const int64_t polls = (*waits)->State().polls;
  const double cpu = cpu_micros();
  const absl::Time start = absl::Now();
  absl::SleepFor(absl::GetFlag(FLAGS_time));
  const DurableWaitsState state = (*waits)->State();
  const auto made = static_cast<double>(state.polls - polls);
  if (!state.last_error.ok()) Fail(state.last_error.ToString());
  if (state.lost > 0) {
    std::fprintf(stderr, "%d lost\n", static_cast<int>(state.lost));
  }
  return {.per_second = made / absl::ToDoubleSeconds(absl::Now() - start),
          .cpu_us = (cpu_micros() - cpu) / made};
}

inline Figures MeasureEnqueue(const std::shared_ptr<WaitStore>& store,
                              int64_t batch, const CpuClock& cpu_micros) {
  Adder adder(store);
  adder.Run(16, 1, absl::Hours(10'000), absl::ZeroDuration());
  const auto count = static_cast<double>(absl::GetFlag(FLAGS_waits));
  const double cpu = cpu_micros();
  const absl::Time start = absl::Now();
  adder.Run(absl::GetFlag(FLAGS_waits), batch, absl::Seconds(100),
            absl::ZeroDuration());
  const double seconds = absl::ToDoubleSeconds(absl::Now() - start);
  return {.per_second = count / seconds,
          .cpu_us = (cpu_micros() - cpu) / count};
}

// Makes one call for each partition, and waits for the replies.
template <typename T, typename Call>
std::vector<T> ForPartitions(const Call& call) {
  std::vector<T> replies(kPartitions);
  std::mutex mutex;
  std::condition_variable returned;
  int left = kPartitions;
  for (int i = 0; i < kPartitions; ++i) {
    call({.space = "default", .name = kName, .index = i},
         static_cast<size_t>(i), [&, i](absl::StatusOr<T> reply) {
           if (!reply.ok()) Fail(reply.status().ToString());
           const std::lock_guard lock(mutex);
           replies[static_cast<size_t>(i)] = *std::move(reply);
           if (--left == 0) returned.notify_one();
         });
  }
  std::unique_lock lock(mutex);
  returned.wait(lock, [&] { return left == 0; });
  return replies;
}

// Measures the calls of polls without a worker: 16 claims of 250 waits, then 16
// settles that give them back.
inline Figures MeasureCalls(const std::shared_ptr<WaitStore>& store,
                            const CpuClock& cpu_micros) {
  Adder(store).Run(absl::GetFlag(FLAGS_waits), 4000, absl::ZeroDuration(),
                   absl::Milliseconds(1));
  const std::string record = "0" + std::string(70, 'r');
  std::mt19937_64 random(1);
  std::uniform_int_distribution<int64_t> delays(200'000, 1'000'000);
  double made = 0;
  double claiming = 0;
  double settling = 0;
  const double cpu = cpu_micros();
  const absl::Time start = absl::Now();
  while (absl::Now() - start < absl::GetFlag(FLAGS_time)) {
    double before = cpu_micros();
    const std::vector<ClaimReply> claimed = ForPartitions<ClaimReply>(
        [&](const WaitPartition& partition, size_t /*i*/, auto callback) {
          store->Claim(
              {.partition = partition, .most = 250, .lease_us = 15'000'000},
              std::move(callback));
        });
    claiming += cpu_micros() - before;
    before = cpu_micros();
    ForPartitions<SettleReply>([&](const WaitPartition& partition, size_t i,
                                   auto callback) {
      SettleRequest request = {.partition = partition, .lease_us = 15'000'000};
      for (const ClaimedWait& wait : claimed[i].waits) {
        request.items.push_back({.key = wait.key,
                                 .fence = claimed[i].fence,
                                 .delay_us = delays(random),
                                 .record = record});
      }
      made += static_cast<double>(request.items.size());
      store->Settle(std::move(request), std::move(callback));
    });
    settling += cpu_micros() - before;
  }
  std::fprintf(stderr, "  CPU per claim %.1f us, per settle %.1f us\n",
               claiming / made, settling / made);
  return {.per_second = made / absl::ToDoubleSeconds(absl::Now() - start),
          .cpu_us = (cpu_micros() - cpu) / made};
}

template <typename Measure>
void Report(const std::string& what, const Measure& measure) {
  std::vector<Figures> all;
  for (int i = 0; i < absl::GetFlag(FLAGS_rounds); ++i) {
    all.push_back(measure());
    std::fprintf(stderr, "  %s %.0f/s\n", what.c_str(), all.back().per_second);
  }
  std::sort(all.begin(), all.end(), [](const Figures& a, const Figures& b) {
    return a.per_second < b.per_second;
  });
  const Figures& median = all[all.size() / 2];
  std::printf("| %s | %.0f | %.1f us |\n", what.c_str(), median.per_second,
              median.cpu_us);
  if (median.bytes > 0) {
    std::fprintf(stderr, "  %.0f bytes of the file per wait\n", median.bytes);
  }
  std::fflush(stdout);
}

inline bool Wanted(const std::string& part) {
  const std::vector<std::string> only = absl::GetFlag(FLAGS_only);
  return only.empty() ||
         std::find(only.begin(), only.end(), part) != only.end();
}

}  // namespace waiter::bench

#endif  // WAITER_BENCH_DISTRIBUTED_STORE_COSTS_H_
