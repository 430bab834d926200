// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// Real processes hold durable waits in a real store, while the test kills,
// stops, disconnects and locks both, and makes the store lose its last writes.
// Clients and workers log their actions, and an API logs the polls:
//
//   ./bazelw run //tests/durable/chaos:chaos_test -- --store=redis
//   ./bazelw run //tests/durable/chaos:chaos_test -- --store=cluster
//   ./bazelw run //tests/durable/chaos:chaos_test -- --store=sqlite
//   ./bazelw run //tests/durable/chaos:chaos_test -- --store=postgres
//       --seconds=600 --seed=1
//
// tests/durable/durable_history.h says what must hold. Faults come in bursts
// with quiet phases in between. The seed repeats the faults and their times,
// but not how the processes interleave.

#include "gtest/gtest.h"

#if defined(WAITER_HAS_HIREDIS) && defined(WAITER_HAS_LIBPQ) && \
    defined(WAITER_HAS_SQLITE)

#include <signal.h>  // NOLINT(modernize-deprecated-headers): of POSIX
#include <sys/types.h>
#include <sys/wait.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <functional>
#include <future>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "absl/flags/flag.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "tests/durable/chaos/breakable_store.h"
#include "tests/durable/chaos/cluster_breaker.h"
#include "tests/durable/chaos/customer.h"
#include "tests/durable/chaos/open_store.h"
#include "tests/durable/chaos/truth_server.h"
#include "tests/durable/chaos/worker_log.h"
#include "tests/durable/durable_history.h"
#include "tests/redis/chaos/history.h"
#include "tests/redis/chaos/proxy.h"
#include "tests/redis/chaos/stage.h"
#include "waiter/clock.h"
#include "waiter/durable/client.h"
#include "waiter/durable/store.h"
#include "waiter/result.h"

ABSL_FLAG(double, seconds, 40, "Length of the run. At least 40.");
ABSL_FLAG(uint64_t, seed, 0, "Seed of the faults; 0: a random one.");
ABSL_FLAG(std::string, store, "redis",
          "What keeps the waits: redis, cluster, sqlite or postgres.");

namespace waiter::chaos {
namespace {

using Kind = DurableHistory::Trouble::Kind;

// Places that have a worker from the start.
constexpr int kFirstWorkers = 4;
constexpr int kClientDoor = kPlaces;
constexpr int kPartitions = 8;
constexpr int64_t kMaxAttempts = 25;
constexpr double kLease = 3;

constexpr double kStart = 0.5;
constexpr double kWarmUp = 4;
// Time after which a fault has no effect: leases have ended, the store has
// forgotten dead workers, and all connections are open again.
constexpr double kRecovery = 18;
// The last waits are enqueued this long before the end of the run, and end by
// then.
constexpr double kLastPart = 8;
// Time for calls that were in progress when a fault ended.
constexpr double kAftermath = 3;

// Waits that workers hold, because their delays are below a third of a lease.
constexpr int kHeldWaits = 200;
constexpr absl::Duration kHeldDelay = absl::Milliseconds(800);
constexpr int64_t kManyAttempts = 1'000'000;
constexpr absl::Duration kLongestFailover = absl::Seconds(2);

constexpr double kInfinity = std::numeric_limits<double>::infinity();

absl::Duration Time(double seconds) { return absl::Seconds(seconds); }

class Chaos {
 public:
  // Uses a cluster if `kind` is unset.
  Chaos(double seconds, uint64_t seed, std::optional<StoreKind> kind)
      : seconds_(seconds),
        cluster_seed_(seed + 1),
        dice_(seed),
        store_(MakeStore(kind)),
        start_(GetRealClock().MonotonicNow()),
        timeline_(start_),
        watch_(start_, 0.2),
        proxy_(kPlaces + 1),
        api_(start_) {
    history_.zero_us = absl::ToUnixMicros(absl::Now());
    history_.lease = Time(kLease);
    history_.slack = absl::Seconds(1.5);
    history_.round_trip = absl::Milliseconds(300);
    // On a busy machine, polls arrive later than they began.
    history_.blur = absl::Milliseconds(700);
    history_.stops_within_polls = true;
    history_.poll_time = absl::Seconds(1);
    history_.recovery = Time(kRecovery);
    // The limit in docs/durable.md for waits that no worker held.
    history_.most_late = absl::Seconds(2.5);
    history_.max_attempts = kMaxAttempts;
    if (store_ != nullptr) {
      proxy_.set_target(store_->port());
      if (store_->has_local_clock()) faketime_.reset();
    }
    customer_.emplace(*OpenStore(Url(proxy_.port(kClientDoor))), start_,
                      kPartitions);
  }

  ~Chaos() {
    for (Place& place : places_) {
      if (place.pid < 0) continue;
      kill(place.pid, SIGKILL);
      waitpid(place.pid, nullptr, 0);
    }
  }

  // Runs all faults, and returns the history.
  const DurableHistory& Run() {
    StartFirstWorkers();
    PlanCustomers();
    PlanBursts();
    return RunToTheEnd();
  }

  // Kills one of four workers repeatedly, with no other faults.
  const DurableHistory& RunFailovers() {
    max_delay_ = kHeldDelay;
    history_.max_attempts = kManyAttempts;
    history_.failover = kLongestFailover;
    StartFirstWorkers();
    for (int i = 0; i < kHeldWaits; ++i) {
      const std::string key = absl::StrCat("k", ++keys_);
      api_.SetReady(key, seconds_);
      At(kStart, [this, key] {
        DurableHistory::Wait wait = {};
        wait.timeout = absl::Minutes(30);
        wait.ready = Time(seconds_);
        customer_->Enqueue(key, wait);
      });
    }
    constexpr double kRest = kLease + 4;
    for (double time = kWarmUp; time + kRest < seconds_;
         time += kRest + kRecovery + 2) {
      At(time, [this] {
        const int place = BusiestPlace();
        KillWorker(place);
        At(Now() + kRest, [this, place] { StartWorker(place); });
      });
    }
    return RunToTheEnd();
  }

  void Print() const {
    for (const auto& [kind, count] : counts_) {
      absl::PrintF("%5d x %s\n", count, kind);
    }
    const DurableLateness late = MeasureLateness(history_);
    const DurableFailover failover = MeasureFailover(history_);
    absl::PrintF(
        "%d workers, %d waits (%d of them lost with the store's last "
        "seconds), %d polls, %d deliveries\n"
        "quiet: %d polls, lateness p99 %s\n"
        "failover: %d waits of workers that were killed, the last one polled "
        "after %s\n",
        lives_.size(), history_.waits.size(), lost_waits_,
        history_.polls.size(), history_.deliveries.size(), late.polls,
        absl::FormatDuration(late.p99), failover.waits,
        absl::FormatDuration(failover.longest));
    std::map<std::string, int> reasons;
    for (const auto& [key, result] : history_.rest.results) {
      ++reasons[std::string(StopReasonName(result.reason))];
    }
    for (const auto& [reason, count] : reasons) {
      absl::PrintF("%5d ended as %s\n", count, reason);
    }
    std::fflush(stdout);
  }

  double MostClockOffset() {
    double most = 0;
    for (const auto& [worker, offset] : api_.ClockOffsets()) {
      most = std::max(most, std::abs(offset));
    }
    return most;
  }

  bool HasClocksApart() const { return faketime_.has_value(); }

 private:
  // Starts the servers, before the time of the run begins.
  std::unique_ptr<BreakableStore> MakeStore(std::optional<StoreKind> kind) {
    if (kind.has_value()) {
      return MakeBreakableStore(*kind, [this] { return Now(); });
    }
    cluster_.emplace(kPartitions);
    return nullptr;
  }

  struct Place {
    pid_t pid = -1;
    int workers = 0;  // Started so far.
    int worker = 0;
    double must_end_by = kInfinity;
    bool is_stopped = false;
  };
  struct Life {
    int worker;
    double from;
    double to = kInfinity;
  };

  void StartFirstWorkers() {
    Trouble(Kind::kCut, DurableHistory::kAllWorkers, 0, 1 - kRecovery);
    for (int place = 0; place < kFirstWorkers; ++place) StartWorker(place);
  }

  // Returns the place of the worker with the longest log, because it holds many
  // waits.
  int BusiestPlace() const {
    std::pair<std::uintmax_t, int> busiest = {0, 0};
    for (int i = 0; i < kFirstWorkers; ++i) {
      const Place& place = places_[static_cast<size_t>(i)];
      if (place.pid < 0) continue;
      std::error_code error;
      busiest = std::max(
          busiest, {std::filesystem::file_size(LogOf(place.worker), error), i});
    }
    return busiest.second;
  }

  const DurableHistory& RunToTheEnd() {
    if (cluster_.has_value()) {
      cluster_->Break(start_, cluster_seed_, std::move(cluster_bursts_));
    }
    while (Now() < EndOfRun() ||
           (cluster_.has_value() && !cluster_->IsWhole())) {
      Step();
    }
    has_ended_ = true;
    // All faults are over. All requested waits must end now.
    const double limit = Now() + 90;
    while (Now() < limit && !(customer_->AskAgain() && IsAtRest())) Step();
    history_.end = Time(Now());
    for (int place = 0; place < kPlaces; ++place) EndWorker(place);
    while (std::any_of(places_.begin(), places_.end(),
                       [](const Place& place) { return place.pid >= 0; })) {
      Step();
    }
    Collect();
    return history_;
  }

  double Now() const { return timeline_.Now(); }
  double Uniform(double low, double high) { return dice_.Uniform(low, high); }
  void At(double time, std::function<void()> step) {
    timeline_.At(time, std::move(step));
  }

  void Step() {
    timeline_.RunUntil(Now() + 0.02);
    customer_->AskAgain();
    Reap();
  }

  // The end is later than planned if a step took long, such as starting Redis.
  double EndOfRun() const {
    return std::max(seconds_, last_fault_ + kLastPart);
  }

  void Trouble(Kind kind, int worker, double from, double to) {
    history_.troubles.push_back({kind, worker, Time(from), Time(to)});
  }
  // Notes a cut between `from` and `to`, for all workers that lived then in
  // `place`, or in any place.
  void Cut(int place, double from, double to) {
    last_fault_ = std::max(last_fault_, to);
    if (place == Proxy::kAll) {
      return Trouble(Kind::kCut, DurableHistory::kAllWorkers, from,
                     to + kAftermath);
    }
    for (const Life& life : lives_) {
      if (life.worker % kMostPlaces != place || life.from > to + kAftermath ||
          life.to < from) {
        continue;
      }
      Trouble(Kind::kCut, life.worker, from, to + kAftermath);
    }
  }
  void Count(const std::string& what) { ++counts_[what]; }

  // Plans a fault of one place or all places, from `time` until `end`.
  void Plan(const std::string& what, int place, double time, double end,
            std::function<void()> begin, std::function<void()> undo) {
    const auto begun = std::make_shared<double>();
    At(time, [this, what, begun, begin = std::move(begin)] {
      *begun = Now();
      Count(what);
      begin();
    });
    At(end, [this, place, begun, undo = std::move(undo)] {
      undo();
      Cut(place, *begun, Now());
    });
  }

  void PlanCustomers() {
    const double rate = cluster_.has_value() ? 12 : 15;
    for (double time = kStart; time < seconds_ - kLastPart;
         time += Uniform(0, 2 / rate)) {
      const std::string key = absl::StrCat("k", ++keys_);
      DurableHistory::Wait wait = {};
      const bool is_long =
          dice_.Chance(0.3) && time < seconds_ - kLastPart - 40;
      wait.timeout = absl::Milliseconds(
          std::llround(1000 * (is_long ? Uniform(5, 40) : Uniform(1, 8))));
      if (dice_.Chance(0.3)) {
        wait.first_delay = absl::Milliseconds(std::llround(Uniform(300, 3000)));
      }
      const double ready = time + Uniform(0, is_long ? 50 : 10);
      wait.ready = Time(ready);
      At(time, [this, key, wait, ready] {
        api_.SetReady(key, ready);
        customer_->Enqueue(key, wait);
      });
      if (!dice_.Chance(0.15)) continue;
      At(time + Uniform(0.5, 8), [this, key] { customer_->Cancel(key); });
    }
  }

  void PlanBursts() {
    const bool is_short = seconds_ < 120;
    double time = kWarmUp;
    while (true) {
      const double last =
          is_short ? seconds_ - kRecovery - kLastPart - 2 : seconds_ - 30;
      double length = last - time;
      if (length < 3) return;
      if (!is_short) length = std::min(length, Uniform(8, 35));
      const double end = time + length;
      if (cluster_.has_value()) {
        cluster_bursts_.emplace_back(time, end);
      } else {
        if (is_short || dice_.Chance(0.8)) PlanStore(time, end);
        if (store_->port() != 0 && (is_short || dice_.Chance(0.6))) {
          PlanProxy(time, end);
        }
      }
      if (is_short || dice_.Chance(0.7)) PlanWorkers(time, end, 0);
      if (dice_.Chance(0.5)) PlanWorkers(time, end, 1);
      time = end + kRecovery + Uniform(6, 14);
    }
  }

  void PlanStore(double time, double end) {
    const std::vector<StoreFault>& faults = store_->faults();
    for (time += Uniform(0, 1); time < end; time += Uniform(0.2, 4)) {
      const StoreFault& fault = faults[static_cast<size_t>(
          dice_.Index(static_cast<int>(faults.size())))];
      double until = time;
      if (fault.undo != nullptr) {
        until += std::min(FaultLength(dice_, time, end), fault.longest);
      }
      Plan(fault.what, Proxy::kAll, time, until, fault.begin,
           [this, undo = fault.undo] {
             if (undo != nullptr) undo();
             proxy_.set_target(store_->port());
           });
      time = until + 0.3;
    }
  }

  void PlanProxy(double time, double end) {
    PlanProxyFaults(proxy_, kPlaces + 1, 0.2, time, end, dice_,
                    [this](FaultKind kind, auto... fault) {
                      Plan(std::string(ToString(kind)), std::move(fault)...);
                    });
  }

  // Plans faults of the workers in even places, or in odd places if `rest` is
  // 1, one at a time.
  void PlanWorkers(double time, double end, int rest) {
    for (time += Uniform(0, 2); time < end; time += Uniform(0.2, 4)) {
      const int place = 2 * dice_.Index(kPlaces / 2) + rest;
      const double until = time + FaultLength(dice_, time, end);
      switch (dice_.Index(4)) {
        case 0:
        case 1:
          At(time, [this, place] { KillWorker(place); });
          break;
        case 2:
          At(time, [this, place] { StopWorker(place); });
          At(until, [this, place] { ContinueWorker(place); });
          break;
        default:
          At(time, [this, place] { EndWorker(place); });
          break;
      }
      time = until;
      // The place may get a new worker, and always does if it had a first one.
      if (place < kFirstWorkers || dice_.Chance(0.7)) {
        At(until, [this, place] { StartWorker(place); });
      }
    }
  }

  // Does nothing if the place has a worker.
  void StartWorker(int index) {
    Place& place = places_[static_cast<size_t>(index)];
    if (place.pid >= 0) {
      // The worker is about to end.
      if (place.must_end_by < kInfinity && !has_ended_) {
        At(Now() + 0.3, [this, index] { StartWorker(index); });
      }
      return;
    }
    place.worker = kMostPlaces * place.workers++ + index;
    place.must_end_by = kInfinity;
    lives_.push_back({.worker = place.worker, .from = Now()});
    if (Now() > 1) Trouble(Kind::kCut, place.worker, Now(), Now());
    place.pid = StartProgram(
        {ProgramBeside("worker"), absl::StrCat("--worker=", place.worker),
         absl::StrCat("--api=", api_.port()),
         absl::StrCat("--store=", Url(proxy_.port(index))),
         absl::StrCat("--log=", LogOf(place.worker)),
         absl::StrCat("--partitions=", kPartitions),
         absl::StrCat("--max_attempts=", history_.max_attempts),
         absl::StrCat("--max_delay=", absl::FormatDuration(max_delay_)),
         absl::StrCat("--lease=", kLease, "s")},
        kClocks[static_cast<size_t>(index)], faketime_);
  }

  // Returns the URL of the store behind a door of the proxy, if it is a server.
  std::string Url(int port) const {
    return cluster_.has_value() ? cluster_->Url() : store_->Url(port);
  }

  std::string LogOf(int worker) const {
    return absl::StrCat(directory_.path(), "/worker", worker);
  }

  void KillWorker(int index) {
    Place& place = places_[static_cast<size_t>(index)];
    if (place.pid < 0) return;
    const double now = Now();
    kill(place.pid, SIGKILL);
    waitpid(place.pid, nullptr, 0);
    Count("worker killed");
    Gone(place);
    Trouble(Kind::kDead, place.worker, now, Now());
    last_fault_ = std::max(last_fault_, now);
  }

  void StopWorker(int index) {
    Place& place = places_[static_cast<size_t>(index)];
    if (place.pid < 0 || place.must_end_by < kInfinity) return;
    Count("worker stopped");
    place.is_stopped = true;
    stopped_[place.worker] = Now();
    kill(place.pid, SIGSTOP);
  }

  void ContinueWorker(int index) {
    Place& place = places_[static_cast<size_t>(index)];
    if (!std::exchange(place.is_stopped, false)) return;
    kill(place.pid, SIGCONT);
    HasStopped(place);
    Trouble(Kind::kCut, place.worker, Now(), Now() + kAftermath);
    last_fault_ = std::max(last_fault_, Now());
  }

  void EndWorker(int index) {
    Place& place = places_[static_cast<size_t>(index)];
    if (place.pid < 0 || place.must_end_by < kInfinity) return;
    if (place.is_stopped) ContinueWorker(index);
    kill(place.pid, SIGTERM);
    place.must_end_by = Now() + 20;
    if (has_ended_) return;
    Count("worker left");
    Trouble(Kind::kCut, place.worker, Now(), Now());
  }

  void HasStopped(const Place& place) {
    const double from = stopped_[place.worker];
    Trouble(Kind::kStopped, place.worker, from, Now());
    // The worker may have held a lock while it was stopped.
    if (store_ != nullptr && store_->has_local_locks()) {
      Cut(Proxy::kAll, from, Now());
    }
  }

  void Gone(Place& place) {
    if (std::exchange(place.is_stopped, false)) HasStopped(place);
    place.pid = -1;
    for (Life& life : lives_) {
      if (life.worker == place.worker) life.to = Now();
    }
  }

  void Reap() {
    for (Place& place : places_) {
      if (place.pid < 0) continue;
      int status = 0;
      if (waitpid(place.pid, &status, WNOHANG) == place.pid) {
        EXPECT_LT(place.must_end_by, kInfinity)
            << "worker " << place.worker << " has ended at " << Now();
        // A drain may exceed its limit while the store is unavailable.
        const bool has_drained = WIFEXITED(status) && WEXITSTATUS(status) == 0;
        const bool had_no_store =
            WIFEXITED(status) && WEXITSTATUS(status) == 3 && !has_ended_;
        // SIGTERM came before the worker had begun.
        const bool had_not_begun =
            WIFSIGNALED(status) && WTERMSIG(status) == SIGTERM;
        EXPECT_TRUE(has_drained || had_no_store || had_not_begun)
            << "status " << status << " of worker " << place.worker;
        Trouble(Kind::kDead, place.worker, Now(), Now());
        Gone(place);
      } else if (Now() > place.must_end_by) {
        ADD_FAILURE() << "worker " << place.worker << " does not end";
        kill(place.pid, SIGKILL);
        waitpid(place.pid, nullptr, 0);
        Gone(place);
      }
    }
  }

  // Calls `ask` with a callback, and returns the answer that it gets.
  template <typename T, typename Ask>
  static absl::StatusOr<T> Await(Ask ask) {
    const auto answer = std::make_shared<std::promise<absl::StatusOr<T>>>();
    ask([answer](absl::StatusOr<T> got) { answer->set_value(std::move(got)); });
    return answer->get_future().get();
  }

  bool IsAtRest() {
    if (reader_ == nullptr) {
      reader_store_ = *OpenStore(Url(store_ == nullptr ? 0 : store_->port()));
      reader_ =
          *DurableClient::Make(reader_store_, {.partitions = kPartitions});
    }
    const auto stats =
        Await<DurableStats>([&](DurableClient::Callback<DurableStats> done) {
          reader_->Stats("job", std::move(done));
        });
    return stats.ok() && stats->pending == 0;
  }

  void Collect() {
    history_.polls = api_.TakePolls();
    for (const Life& life : lives_) {
      ReadWorkerLog(LogOf(life.worker), life.worker, start_, history_);
    }
    for (const auto& [from, to] : watch_.Stalls()) {
      Trouble(Kind::kStopped, DurableHistory::kAllWorkers, from, to);
      Trouble(Kind::kCut, DurableHistory::kAllWorkers, from, to);
    }
    CollectLosses();
    CollectRest();
    CollectWaits();
  }

  void CollectLosses() {
    if (store_ != nullptr) {
      for (const auto& [from, to] : store_->losses()) {
        history_.losses.push_back({Time(from), Time(to)});
      }
      return;
    }
    for (const ClusterBreaker::Event& event : cluster_->TakeEvents()) {
      ++counts_[event.what];
      Cut(Proxy::kAll, event.from, event.to);
      // The old primary may acknowledge until it learns of the new one.
      if (!event.lost_from.has_value()) continue;
      history_.losses.push_back({Time(*event.lost_from), Time(event.to)});
    }
  }

  void CollectRest() {
    DurableHistory::AtRest& rest = history_.rest;
    std::string cursor;
    do {
      const auto step = Await<DurableClient::Listed>(
          [&](DurableClient::Callback<DurableClient::Listed> done) {
            reader_->List("job", cursor, std::move(done));
          });
      ASSERT_TRUE(step.ok()) << step.status();
      for (const DurableStatus& status : step->waits) {
        rest.records.insert(status.key);
        born_[status.key] = absl::Microseconds(
            absl::ToUnixMicros(status.enqueued) - history_.zero_us);
        if (status.phase != DurableStatus::Phase::kDelivered) {
          rest.due.insert(status.key);
          continue;
        }
        rest.kept.insert(status.key);
        rest.results[status.key] = *status.result;
      }
      cursor = step->cursor;
    } while (!cursor.empty());
    const auto stats =
        Await<DurableStats>([&](DurableClient::Callback<DurableStats> done) {
          reader_->Stats("job", std::move(done));
        });
    ASSERT_TRUE(stats.ok()) << stats.status();
    rest.pending = stats->pending;
    for (const auto& [counter, count] : stats->counters) {
      if (counter == "fence") continue;
      (counter == "enqueued" ? rest.enqueued : rest.ended) += count;
    }
    // The structures must agree on each key.
    const auto report = Await<DurableCheckReport>(
        [&](DurableClient::Callback<DurableCheckReport> done) {
          CheckDurableWaits(reader_store_, "job", {.partitions = kPartitions},
                            std::move(done));
        });
    ASSERT_TRUE(report.ok()) << report.status();
    for (const DurableFinding& finding : report->findings) {
      ADD_FAILURE() << "rest: " << finding.key << " " << ToString(finding)
                    << "\n"
                    << StoryOf(history_, finding.key);
    }
  }

  bool IsLost(double from, double to) const {
    return std::any_of(history_.losses.begin(), history_.losses.end(),
                       [&](const DurableHistory::Loss& loss) {
                         return loss.from <= Time(to) && loss.to >= Time(from);
                       });
  }

  void CollectWaits() {
    for (auto& [key, asked] : customer_->TakeAsked()) {
      EXPECT_TRUE(asked.is_acknowledged) << key << " has no answer";
      if (!asked.is_acknowledged) continue;
      DurableHistory::Wait& wait = asked.wait;
      const bool may_be_lost = IsLost(asked.sent, asked.acknowledged);
      const auto born = born_.find(key);
      if (born == born_.end() && may_be_lost) {
        ++lost_waits_;
        continue;
      }
      wait.enqueued = born == born_.end() ? Time(asked.sent) : born->second;
      // The store may have forgotten the cancel.
      if (wait.cancelled.has_value() && asked.cancel_acknowledged > 0 &&
          IsLost(asked.cancel_sent, asked.cancel_acknowledged)) {
        wait.cancelled = absl::InfiniteDuration();
      }
      history_.waits[key] = wait;
    }
  }

  const double seconds_;
  const uint64_t cluster_seed_;
  absl::Duration max_delay_ = absl::Seconds(2);
  Dice dice_;
  std::optional<std::string> faketime_ = FindFaketime();
  const Directory directory_;
  std::optional<ClusterBreaker> cluster_;
  const std::unique_ptr<BreakableStore> store_;  // Null with a cluster.
  const MonotonicTime start_;
  Timeline timeline_;
  MachineWatch watch_;
  Proxy proxy_;
  TruthServer api_;
  std::optional<Customer> customer_;
  std::shared_ptr<WaitStore> reader_store_;
  std::unique_ptr<DurableClient> reader_;
  std::array<Place, kPlaces> places_;
  std::vector<Life> lives_;
  std::map<int, double> stopped_;
  std::map<std::string, int> counts_;
  std::vector<std::pair<double, double>> cluster_bursts_;
  int keys_ = 0;
  int lost_waits_ = 0;
  double last_fault_ = 0;
  bool has_ended_ = false;
  std::map<std::string, absl::Duration> born_;
  DurableHistory history_;
};

// Prints the command line that repeats the run.
void PrintRun(double seconds, uint64_t seed) {
  absl::PrintF(
      "replay: ./bazelw run //tests/durable/chaos:chaos_test -- "
      "--store=%s --seconds=%.0f --seed=%d\n",
      absl::GetFlag(FLAGS_store), seconds, seed);
  std::fflush(stdout);
}

void ExpectFlawless(const DurableHistory& history) {
  EXPECT_GT(history.polls.size(), 100);
  int told = 0;
  for (const std::string& violation : Violations(history)) {
    ADD_FAILURE() << violation << "\n"
                  << (++told > 20 ? "" : StoryOf(history, KeyOf(violation)));
  }
}

class DurableChaosTest : public testing::Test {
 protected:
  void SetUp() override {
    const std::string name = absl::GetFlag(FLAGS_store);
    kind_ = StoreKindOf(name);
    ASSERT_TRUE(kind_.has_value() || name == "cluster")
        << "--store=" << name << " is not redis, cluster, sqlite or postgres";
    if (!IsInstalled(kind_.value_or(StoreKind::kRedis))) {
      GTEST_SKIP() << "the server of " << name << " is not installed";
    }
  }

  // Unset for a cluster.
  std::optional<StoreKind> kind_;
  const uint64_t seed_ = SeedOrRandom(absl::GetFlag(FLAGS_seed));
};

TEST_F(DurableChaosTest, HistoryIsFlawlessWhateverBreaks) {
  const double seconds = absl::GetFlag(FLAGS_seconds);
  PrintRun(seconds, seed_);
  Chaos chaos(seconds, seed_, kind_);
  const DurableHistory& history = chaos.Run();
  chaos.Print();
  ExpectFlawless(history);
  if (chaos.HasClocksApart()) {
    EXPECT_GT(chaos.MostClockOffset(), 3600) << "no clock is hours apart";
  }
}

TEST_F(DurableChaosTest,
       WaitsOfAKilledWorkerArePolledWithinALeaseAndTwoSeconds) {
  // A tenth of the other test's time.
  const double seconds = std::max(12.0, absl::GetFlag(FLAGS_seconds) / 10);
  PrintRun(seconds, seed_);
  Chaos chaos(seconds, seed_, kind_);
  const DurableHistory& history = chaos.RunFailovers();
  chaos.Print();
  ExpectFlawless(history);
  // The busiest of four workers held at least a quarter of the waits, but not
  // the waits that were due when it died.
  EXPECT_GT(MeasureFailover(history).waits, kHeldWaits / 20);
}

TEST_F(DurableChaosTest, SomeClocksAreHoursApart) {
  if (kind_ == StoreKind::kSqlite) {
    GTEST_SKIP() << "a file has the clock of its machine";
  }
  SkipWithoutFaketime();
}

}  // namespace
}  // namespace waiter::chaos

#else

TEST(DurableChaosTest, LibrariesAreThere) {
  GTEST_SKIP() << "hiredis, libpq or SQLite is not installed";
}

#endif  // WAITER_HAS_HIREDIS && WAITER_HAS_LIBPQ && WAITER_HAS_SQLITE
