// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// Measures durable waits in an SQLite file, in one process:
//
//   sqlite_costs --folder=/var/tmp --waits=100000
//
// README.md describes the measurement.

#include <sys/resource.h>

#include <algorithm>
#include <condition_variable>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <mutex>
#include <random>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/flags/flag.h"
#include "absl/flags/parse.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "bench/check.h"
#include "waiter/durable/client.h"
#include "waiter/durable/sqlite_store.h"
#include "waiter/durable/store.h"
#include "waiter/durable/worker.h"
#include "waiter/options.h"
#include "waiter/poll.h"

ABSL_FLAG(std::string, folder, "/var/tmp", "folder of the file");
ABSL_FLAG(int64_t, waits, 100'000, "pending waits");
ABSL_FLAG(int64_t, claim_batch, 250, "of the worker");
ABSL_FLAG(int32_t, rounds, 3, "rounds whose medians are printed");
ABSL_FLAG(absl::Duration, time, absl::Seconds(8), "time in which polls count");
ABSL_FLAG(std::vector<std::string>, only, {},
          "parts to measure, of polls, calls, enqueue; empty: all");

namespace waiter::bench {
namespace {

constexpr const char* kName = "thing";
constexpr size_t kInFlight = 8;
constexpr int kPartitions = 16;

double CpuMicros() {
  rusage usage = {};
  getrusage(RUSAGE_SELF, &usage);
  const auto micros = [](const timeval& time) {
    return 1e6 * static_cast<double>(time.tv_sec) +
           static_cast<double>(time.tv_usec);
  };
  return micros(usage.ru_utime) + micros(usage.ru_stime);
}

// A file that is deleted with this.
class File {
 public:
  File() : path_(absl::StrCat(absl::GetFlag(FLAGS_folder), "/costs.db")) {
    Remove();
  }
  ~File() { Remove(); }

  File(const File&) = delete;
  File& operator=(const File&) = delete;

  std::shared_ptr<WaitStore> Open(bool syncs) const {
    auto store = MakeSqliteWaitStore(path_, {.syncs = syncs});
    if (!store.ok()) Fail(store.status().ToString());
    return *std::move(store);
  }
  double Size() const {
    return static_cast<double>(std::filesystem::file_size(path_));
  }

 private:
  void Remove() const {
    for (const char* suffix : {"", "-wal", "-shm"}) {
      std::filesystem::remove(path_ + suffix);
    }
  }

  const std::string path_;
};

// Enqueues in batches, several of which are in flight.
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
                         [this](absl::StatusOr<int64_t> created) {
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

// More waits are due than can be polled; each poll gives its wait back.
Figures MeasurePolls(bool syncs) {
  const File file;
  const std::shared_ptr<WaitStore> store = file.Open(syncs);
  const int64_t count = absl::GetFlag(FLAGS_waits);
  Adder(store).Run(count, 4000, absl::ZeroDuration(), absl::Seconds(1));
  auto waits = DurableWaits::Make(
      store, {.lease = absl::Seconds(2),
              .claim_batch = absl::GetFlag(FLAGS_claim_batch)});
  if (!waits.ok()) Fail(waits.status().ToString());
  WaitOptions policy = {.timeout = absl::InfiniteDuration()};
  // At least a third of the lease, so that nobody holds the wait meanwhile.
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
  const double cpu = CpuMicros();
  const absl::Time start = absl::Now();
  absl::SleepFor(absl::GetFlag(FLAGS_time));
  const DurableWaitsState state = (*waits)->State();
  const auto made = static_cast<double>(state.polls - polls);
  if (!state.last_error.ok()) Fail(state.last_error.ToString());
  if (state.lost > 0) std::fprintf(stderr, "%d lost\n", int(state.lost));
  return {.per_second = made / absl::ToDoubleSeconds(absl::Now() - start),
          .cpu_us = (CpuMicros() - cpu) / made};
}

Figures MeasureEnqueue(bool syncs, int64_t batch) {
  const File file;
  Figures figures;
  {
    const std::shared_ptr<WaitStore> store = file.Open(syncs);
    Adder adder(store);
    adder.Run(16, 1, absl::Hours(10'000), absl::ZeroDuration());
    const auto count = static_cast<double>(absl::GetFlag(FLAGS_waits));
    const double cpu = CpuMicros();
    const absl::Time start = absl::Now();
    adder.Run(absl::GetFlag(FLAGS_waits), batch, absl::Seconds(100),
              absl::ZeroDuration());
    figures.per_second = count / absl::ToDoubleSeconds(absl::Now() - start);
    figures.cpu_us = (CpuMicros() - cpu) / count;
  }
  figures.bytes = file.Size() / static_cast<double>(absl::GetFlag(FLAGS_waits));
  return figures;
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

// The calls of polls without a worker: 16 claims of 250 waits, then 16 settles
// that give them back.
Figures MeasureCalls(bool syncs) {
  const File file;
  const std::shared_ptr<WaitStore> store = file.Open(syncs);
  Adder(store).Run(absl::GetFlag(FLAGS_waits), 4000, absl::ZeroDuration(),
                   absl::Milliseconds(1));
  const std::string record = "0" + std::string(70, 'r');
  std::mt19937_64 random(1);
  std::uniform_int_distribution<int64_t> delays(200'000, 1'000'000);
  double made = 0;
  double claiming = 0;
  double settling = 0;
  const double cpu = CpuMicros();
  const absl::Time start = absl::Now();
  while (absl::Now() - start < absl::GetFlag(FLAGS_time)) {
    double before = CpuMicros();
    const std::vector<ClaimReply> claimed = ForPartitions<ClaimReply>(
        [&](const WaitPartition& partition, size_t /*i*/, auto callback) {
          store->Claim(
              {.partition = partition, .most = 250, .lease_us = 15'000'000},
              std::move(callback));
        });
    claiming += CpuMicros() - before;
    before = CpuMicros();
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
    settling += CpuMicros() - before;
  }
  std::fprintf(stderr, "  CPU per claim %.1f us, per settle %.1f us\n",
               claiming / made, settling / made);
  return {.per_second = made / absl::ToDoubleSeconds(absl::Now() - start),
          .cpu_us = (CpuMicros() - cpu) / made};
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

bool Wanted(const std::string& part) {
  const std::vector<std::string> only = absl::GetFlag(FLAGS_only);
  return only.empty() ||
         std::find(only.begin(), only.end(), part) != only.end();
}

void Run() {
  std::printf("| | per second | CPU of the process |\n| --- | ---: | ---: |\n");
  for (const bool syncs : {false, true}) {
    const std::string mode =
        syncs ? ", synchronous=FULL" : ", synchronous=NORMAL";
    if (Wanted("polls")) {
      Report("polls" + mode, [&] { return MeasurePolls(syncs); });
    }
    if (Wanted("calls")) {
      Report("claims and settles without a worker" + mode,
             [&] { return MeasureCalls(syncs); });
    }
    if (!Wanted("enqueue")) continue;
    for (const int64_t batch : {1, 250, 4000}) {
      Report(absl::StrCat("enqueues, batches of ", batch, mode),
             [&] { return MeasureEnqueue(syncs, batch); });
    }
  }
}

}  // namespace
}  // namespace waiter::bench

int main(int argc, char** argv) {
  absl::ParseCommandLine(argc, argv);
  waiter::bench::Run();
}
