// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// Real processes hold durable waits on a real Redis, or a cluster, while all of
// it is killed, stopped, cut off and robbed of its last writes. Clients and
// workers write down what they do, and an API what it is asked:
//
//   ./bazelw run //tests/durable/chaos:chaos_test -- --seconds=600 --seed=1
//   ./bazelw run //tests/durable/chaos:chaos_test -- --cluster --seconds=600
//
// tests/durable/durable_history.h says what must hold. Faults come in bursts
// with quiet phases in between. The seed repeats the faults and their times,
// not what the processes do in between.

#include "gtest/gtest.h"

#ifdef WAITER_HAS_HIREDIS

#include <signal.h>  // NOLINT(modernize-deprecated-headers): of POSIX
#include <sys/types.h>
#include <sys/wait.h>

#include <algorithm>
#include <array>
#include <atomic>
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
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/flags/flag.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "tests/durable/chaos/truth_server.h"
#include "tests/durable/chaos/worker_log.h"
#include "tests/durable/durable_history.h"
#include "tests/redis/chaos/history.h"
#include "tests/redis/chaos/proxy.h"
#include "tests/redis/chaos/stage.h"
#include "tests/support/joining_thread.h"
#include "tests/support/redis_cluster_servers.h"
#include "tests/support/redis_server.h"
#include "waiter/clock.h"
#include "waiter/durable/client.h"
#include "waiter/durable/redis_store.h"
#include "waiter/durable/store.h"
#include "waiter/redis/client.h"
#include "waiter/result.h"

ABSL_FLAG(double, seconds, 40, "Length of the run. At least 40.");
ABSL_FLAG(uint64_t, seed, 0, "Seed of the faults; 0: a random one.");
ABSL_FLAG(bool, cluster, false, "A cluster in place of one server.");

namespace waiter::chaos {
namespace {

using Kind = DurableHistory::Trouble::Kind;

// Places that have a worker from the start.
constexpr int kFirstWorkers = 4;
constexpr int kClientDoor = kPlaces;
constexpr int kPartitions = 8;
constexpr int64_t kMaxAttempts = 25;
constexpr double kLease = 3;

constexpr double kWarmUp = 4;
// Time after which a fault has no effect: leases have ended, workers that are
// gone are forgotten, and connections made again.
constexpr double kRecovery = 18;
// The last waits are enqueued so long before the end of the run, and end by
// then.
constexpr double kLastPart = 8;
// Time for calls that were under way when a fault ended.
constexpr double kAftermath = 3;

constexpr double kInfinity = std::numeric_limits<double>::infinity();

absl::Duration Time(double seconds) { return absl::Seconds(seconds); }

// One Redis, of which the file is as old as Redis lets it be, or a cluster.
class Store {
 public:
  explicit Store(bool is_cluster) {
    if (is_cluster) {
      cluster_.emplace();
    } else {
      server_.emplace(std::vector<std::string>{
          "--appendonly", "yes", "--appendfsync", "everysec", "--dir",
          directory_.path(), "--auto-aof-rewrite-percentage", "0",
          "--maxmemory-policy", "noeviction"});
    }
  }

  RedisServer& server() { return *server_; }
  RedisClusterServers& cluster() { return *cluster_; }
  const std::string& folder() const { return directory_.path(); }

  // Returns the URL for workers: the nodes of the cluster, or a door of the
  // proxy.
  std::string Url(int port) const {
    return cluster_.has_value() ? absl::StrJoin(cluster_->Urls(), ",")
                                : absl::StrCat("redis://127.0.0.1:", port);
  }
  // Returns a store with a connection of its own.
  std::shared_ptr<WaitStore> Connect(int port) const {
    if (cluster_.has_value()) {
      return std::make_shared<RedisWaitStore>(*RedisCluster::Make(
          cluster_->Urls(), {.call_timeout = absl::Seconds(2)}));
    }
    return std::make_shared<RedisWaitStore>(
        *RedisClient::Make(absl::StrCat("redis://127.0.0.1:", port),
                           {.call_timeout = absl::Seconds(2)}));
  }

 private:
  const Directory directory_;
  std::optional<RedisServer> server_;
  std::optional<RedisClusterServers> cluster_;
};

// Enqueues and cancels, and asks again until there is an answer.
class Customer {
 public:
  struct Asked {
    DurableHistory::Wait wait;
    double sent = 0;
    bool is_acknowledged = false;
    double acknowledged = 0;
    double cancel_sent = 0;
    double cancel_acknowledged = 0;  // Of a pending wait.
  };

  Customer(std::shared_ptr<WaitStore> store, MonotonicTime start)
      : timeline_(start),
        client_(*DurableClient::Make(std::move(store),
                                     {.partitions = kPartitions})) {}
  ~Customer() {
    // Callbacks come until then.
    client_ = nullptr;
  }
  Customer(const Customer&) = delete;
  Customer& operator=(const Customer&) = delete;

  void Enqueue(const std::string& key, const DurableHistory::Wait& wait) {
    {
      const std::lock_guard lock(mutex_);
      asked_[key].wait = wait;
      ++under_way_;
    }
    SendEnqueue(key, wait);
  }

  void Cancel(const std::string& key) {
    {
      const std::lock_guard lock(mutex_);
      ++under_way_;
    }
    SendCancel(key);
  }

  // Repeats the calls without an answer. Returns whether all calls have one.
  bool AskAgain() {
    std::vector<std::function<void()>> calls;
    {
      const std::lock_guard lock(mutex_);
      calls.swap(again_);
      if (calls.empty()) return under_way_ == 0;
    }
    for (const auto& call : calls) call();
    return false;
  }

  std::map<std::string, Asked> TakeAsked() {
    const std::lock_guard lock(mutex_);
    return std::move(asked_);
  }

 private:
  void SendEnqueue(const std::string& key, const DurableHistory::Wait& wait) {
    const double sent = timeline_.Now();
    client_->Enqueue(
        "job",
        {.key = key, .timeout = wait.timeout, .first_delay = wait.first_delay},
        [this, key, wait, sent](const absl::StatusOr<bool>& is_new) {
          const std::lock_guard lock(mutex_);
          if (!is_new.ok()) {
            again_.emplace_back([this, key, wait] { SendEnqueue(key, wait); });
            return;
          }
          --under_way_;
          asked_[key].is_acknowledged = true;
          asked_[key].sent = sent;
          asked_[key].acknowledged = timeline_.Now();
        });
  }

  void SendCancel(const std::string& key) {
    const double sent = timeline_.Now();
    client_->Cancel(
        "job", key,
        [this, key, sent](const absl::StatusOr<DurableStatus>& status) {
          const std::lock_guard lock(mutex_);
          if (!status.ok()) {
            // It may have had its effect.
            asked_[key].wait.cancelled = absl::InfiniteDuration();
            again_.emplace_back([this, key] { SendCancel(key); });
            return;
          }
          --under_way_;
          Asked& asked = asked_[key];
          if (status->phase != DurableStatus::Phase::kPending) return;
          asked.cancel_sent = sent;
          asked.cancel_acknowledged = timeline_.Now();
          asked.wait.cancelled = Time(asked.cancel_acknowledged);
        });
  }

  const Timeline timeline_;
  std::mutex mutex_;
  std::map<std::string, Asked> asked_;
  int under_way_ = 0;
  std::vector<std::function<void()>> again_;
  std::unique_ptr<DurableClient> client_;
};

class Chaos {
 public:
  Chaos(double seconds, uint64_t seed, bool is_cluster)
      : seconds_(seconds),
        is_cluster_(is_cluster),
        dice_(seed),
        cluster_dice_(seed + 1),
        store_(is_cluster),
        start_(GetRealClock().MonotonicNow()),
        timeline_(start_),
        watch_(start_, 0.2),
        proxy_(kPlaces + 1),
        api_(start_) {
    history_.zero_us = absl::ToUnixMicros(absl::Now());
    history_.lease = Time(kLease);
    history_.slack = absl::Seconds(1.5);
    history_.round_trip = absl::Milliseconds(300);
    // Polls come later than they began, on a machine with other work.
    history_.blur = absl::Milliseconds(700);
    history_.stops_within_polls = true;
    history_.poll_time = absl::Seconds(1);
    history_.recovery = Time(kRecovery);
    // What docs/durable.md says of waits that nobody held.
    history_.most_late = absl::Seconds(2.5);
    history_.max_attempts = kMaxAttempts;
    if (!is_cluster) proxy_.set_target(store_.server().port());
    customer_.emplace(store_.Connect(proxy_.port(kClientDoor)), start_);
  }

  ~Chaos() {
    ends_ = true;
    for (Place& place : places_) {
      if (place.pid < 0) continue;
      kill(place.pid, SIGKILL);
      waitpid(place.pid, nullptr, 0);
    }
  }

  // Returns what happened.
  const DurableHistory& Run() {
    Trouble(Kind::kCut, DurableHistory::kAllWorkers, 0, 1 - kRecovery);
    for (int place = 0; place < kFirstWorkers; ++place) StartWorker(place);
    PlanCustomers();
    PlanBursts();
    if (is_cluster_) {
      cluster_thread_ = JoiningThread([this] { RunCluster(); });
    }
    while (Now() < EndOfRun() || (is_cluster_ && !is_cluster_whole_)) Step();
    has_ended_ = true;
    // All is well again; what was asked for comes to its end.
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

  void Print() const {
    for (const auto& [kind, count] : counts_) {
      absl::PrintF("%5d x %s\n", count, kind);
    }
    const DurableLateness late = MeasureLateness(history_);
    absl::PrintF(
        "%d workers, %d waits (%d of them lost with the store's last "
        "seconds), %d polls, %d deliveries\n"
        "quiet: %d polls, lateness p99 %s\n",
        lives_.size(), history_.waits.size(), lost_waits_,
        history_.polls.size(), history_.deliveries.size(), late.polls,
        absl::FormatDuration(late.p99));
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

 private:
  struct Place {
    pid_t pid = -1;
    int workers = 0;  // So far.
    int worker = 0;
    double must_end_by = kInfinity;
    bool is_stopped = false;
  };
  struct Life {
    int worker;
    double from;
    double to = kInfinity;
  };

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

  // Later than planned if a step took long, such as the start of Redis.
  double EndOfRun() const {
    return std::max(seconds_, last_fault_ + kLastPart);
  }

  void Trouble(Kind kind, int worker, double from, double to) {
    history_.troubles.push_back({kind, worker, Time(from), Time(to)});
  }
  // Notes a trouble of all workers that live in a place, or in all, at any time
  // between.
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
  void Count(const std::string& what) {
    const std::lock_guard lock(mutex_);
    ++counts_[what];
  }

  // Plans a fault of a place, or of all, from `time` until `end`.
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
    const double rate = is_cluster_ ? 12 : 15;
    for (double time = 0.5; time < seconds_ - kLastPart;
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
      if (is_cluster_) {
        PlanCluster(time, end);
      } else {
        if (is_short || dice_.Chance(0.8)) PlanStore(time, end);
        if (is_short || dice_.Chance(0.6)) PlanProxy(time, end);
      }
      if (is_short || dice_.Chance(0.7)) PlanWorkers(time, end, 0);
      if (dice_.Chance(0.5)) PlanWorkers(time, end, 1);
      time = end + kRecovery + Uniform(6, 14);
    }
  }

  void PlanStore(double time, double end) {
    for (time += Uniform(0, 1); time < end; time += Uniform(0.2, 4)) {
      const double until = time + FaultLength(dice_, time, end);
      switch (dice_.Index(8)) {
        case 0:
        case 1:
          Plan(
              "store killed", Proxy::kAll, time, until, [this] { KillStore(); },
              [this] { StartStore(); });
          time = until + 0.3;
          break;
        case 2:
          Plan(
              "store robbed of its last writes", Proxy::kAll, time,
              time + Uniform(0.3, 3), [this] { KeepFile(); },
              [this] { LoseTail(); });
          time += 3.5;
          break;
        case 3:
        case 4:
          Plan(
              "store stopped", Proxy::kAll, time, until,
              [this] { store_.server().Pause(); },
              [this] { store_.server().Resume(); });
          time = until;
          break;
        case 5:
          Plan(
              "store full", Proxy::kAll, time, until,
              [this] {
                store_.server().Run({"CONFIG", "SET", "maxmemory", "1"});
              },
              [this] {
                store_.server().Run({"CONFIG", "SET", "maxmemory", "0"});
              });
          time = until;
          break;
        case 6:
          PlanMoment("scripts lost", time, {"SCRIPT", "FLUSH"});
          break;
        default:
          PlanMoment("clients killed", time,
                     {"CLIENT", "KILL", "TYPE", "normal"});
          break;
      }
    }
  }

  void PlanMoment(const std::string& what, double time,
                  const std::vector<std::string>& command) {
    At(time, [this, what, command] {
      const double begun = Now();
      Count(what);
      store_.server().Run(command);
      Cut(Proxy::kAll, begun, Now());
    });
  }

  // The file has all that Redis acknowledged, unless Redis waited for the disk.
  void KillStore() {
    const double now = Now();
    const std::string info = store_.server().Run({"INFO", "persistence"});
    store_.server().Kill();
    if (absl::StrContains(info, "aof_delayed_fsync:0")) return;
    history_.losses.push_back({Time(now - 2.5), Time(Now())});
  }
  void StartStore() {
    store_.server().Start();
    proxy_.set_target(store_.server().port());
  }

  std::string File() const { return store_.folder() + "/appendonlydir"; }
  void KeepFile() {
    kept_ = Now();
    std::filesystem::remove_all(store_.folder() + "/kept");
    std::filesystem::copy(File(), store_.folder() + "/kept",
                          std::filesystem::copy_options::recursive);
  }
  void LoseTail() {
    store_.server().Kill();
    // The file may have been behind by then.
    history_.losses.push_back({Time(kept_ - 2.5), Time(Now())});
    std::filesystem::remove_all(File());
    std::filesystem::rename(store_.folder() + "/kept", File());
    StartStore();
  }

  void PlanProxy(double time, double end) {
    PlanProxyFaults(proxy_, kPlaces + 1, 0.2, time, end, dice_,
                    [this](FaultKind kind, auto... fault) {
                      Plan(std::string(ToString(kind)), std::move(fault)...);
                    });
  }

  // One fault of a node after the other, as each waits until the cluster is
  // whole again. A server ends with the thread that has started it, so one
  // thread breaks all bursts, and stays.
  void PlanCluster(double time, double end) {
    cluster_bursts_.emplace_back(time, end);
  }
  void RunCluster() {
    for (const auto& [time, end] : cluster_bursts_) {
      timeline_.SleepUntil(time);
      while (Now() < end) {
        BreakCluster();
        timeline_.SleepUntil(Now() + cluster_dice_.Uniform(0.2, 3));
      }
    }
    is_cluster_whole_ = true;
    while (!ends_) timeline_.SleepUntil(Now() + 0.05);
  }

  void BreakCluster() {
    constexpr auto kPrimaries = RedisClusterServers::kPrimaries;
    RedisClusterServers& cluster = store_.cluster();
    const int slot = cluster_dice_.Index(16384);
    const size_t primary = cluster.PrimaryOf(slot);
    // The replica of `primary`.
    const size_t other = (primary + kPrimaries) % (2 * kPrimaries);
    const double begun = Now();
    double lost_from = begun - 2;
    std::string what;
    switch (cluster_dice_.Index(7)) {
      case 0:
        what = "primary killed";
        cluster.node(primary).Kill();
        cluster.AwaitPrimary(other);
        timeline_.SleepUntil(Now() + cluster_dice_.Uniform(0, 2));
        cluster.node(primary).Start();
        break;
      case 1:
        what = "primary stopped";
        cluster.node(primary).Pause();
        cluster.AwaitPrimary(other);
        timeline_.SleepUntil(Now() + cluster_dice_.Uniform(0, 2));
        cluster.node(primary).Resume();
        break;
      case 2:
        what = "replica takes over";
        cluster.node(other).Run({"CLUSTER", "FAILOVER", "TAKEOVER"});
        cluster.AwaitPrimary(other);
        break;
      case 3:
        what = "primary stopped for a moment";
        cluster.node(primary).Pause();
        timeline_.SleepUntil(Now() + cluster_dice_.Uniform(0.1, 0.5));
        cluster.node(primary).Resume();
        lost_from = kInfinity;
        break;
      case 4:
        // Its primary hands over all that it has acknowledged.
        what = "replica takes over in order";
        cluster.node(other).Run({"CLUSTER", "FAILOVER"});
        cluster.AwaitPrimary(other);
        lost_from = kInfinity;
        break;
      default: {
        what = "slot moved";
        const int own = SlotOf(cluster_dice_.Index(kPartitions));
        const size_t from = cluster.PrimaryOf(own);
        const size_t to = AnotherPrimary(from);
        cluster.MoveSlot(own, from, to, [this] {
          timeline_.SleepUntil(Now() + cluster_dice_.Uniform(0, 1));
        });
        lost_from = kInfinity;
        break;
      }
    }
    if (cluster_dice_.Chance(0.2)) {
      cluster.node(other).Run({"SCRIPT", "FLUSH"});
      cluster.node(other).Run({"CLIENT", "KILL", "TYPE", "normal"});
    }
    cluster.AwaitReplicas();
    const double ended = Now();
    Count(what);
    const std::lock_guard lock(mutex_);
    cluster_faults_.push_back({begun, ended});
    if (lost_from < kInfinity) {
      // The old primary may acknowledge until it knows of the new one.
      cluster_losses_.push_back({Time(lost_from), Time(ended)});
    }
  }

  int SlotOf(int partition) {
    return std::stoi(store_.cluster().node(0).Run(
        {"CLUSTER", "KEYSLOT",
         absl::StrCat("waiter:{default/job/", partition, "}:due")}));
  }
  size_t AnotherPrimary(size_t node) {
    std::vector<size_t> primaries;
    for (int i = 0; i < 3; ++i) {
      const size_t primary = store_.cluster().PrimaryOf(i * 5461 + 100);
      if (primary != node) primaries.push_back(primary);
    }
    return primaries.at(static_cast<size_t>(
        cluster_dice_.Index(static_cast<int>(primaries.size()))));
  }

  // Plans faults of the workers in the even or the odd places, one at a time.
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
      // Each place is taken again; those of the first workers in any case.
      if (place < kFirstWorkers || dice_.Chance(0.7)) {
        At(until, [this, place] { StartWorker(place); });
      }
    }
  }

  // Does nothing if there is one.
  void StartWorker(int index) {
    Place& place = places_[static_cast<size_t>(index)];
    if (place.pid >= 0) {
      // It is about to end.
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
         absl::StrCat("--redis=", store_.Url(proxy_.port(index))),
         absl::StrCat("--log=", LogOf(place.worker)),
         absl::StrCat("--partitions=", kPartitions),
         absl::StrCat("--max_attempts=", kMaxAttempts),
         absl::StrCat("--lease=", kLease, "s")},
        kClocks[static_cast<size_t>(index)], faketime_);
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
    Trouble(Kind::kStopped, place.worker, stopped_[place.worker], Now());
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

  void Gone(Place& place) {
    if (std::exchange(place.is_stopped, false)) {
      Trouble(Kind::kStopped, place.worker, stopped_[place.worker], Now());
    }
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
        // A drain takes longer while the store is away; that is no defect.
        const bool has_drained = WIFEXITED(status) && WEXITSTATUS(status) == 0;
        const bool had_no_store =
            WIFEXITED(status) && WEXITSTATUS(status) == 3 && !has_ended_;
        EXPECT_TRUE(has_drained || had_no_store)
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

  // Calls `ask` with a callback, and returns what that gets.
  template <typename T, typename Ask>
  static absl::StatusOr<T> Await(Ask ask) {
    const auto answer = std::make_shared<std::promise<absl::StatusOr<T>>>();
    ask([answer](absl::StatusOr<T> got) { answer->set_value(std::move(got)); });
    return answer->get_future().get();
  }

  bool IsAtRest() {
    if (reader_ == nullptr) {
      reader_store_ = store_.Connect(is_cluster_ ? 0 : store_.server().port());
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
    for (const auto& [from, to] : cluster_faults_) Cut(Proxy::kAll, from, to);
    history_.losses.insert(history_.losses.end(), cluster_losses_.begin(),
                           cluster_losses_.end());
    CollectRest();
    CollectWaits();
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
      // A cancel that may be forgotten, or have had its effect without an
      // answer.
      if (wait.cancelled.has_value() && asked.cancel_acknowledged > 0 &&
          IsLost(asked.cancel_sent, asked.cancel_acknowledged)) {
        wait.cancelled = absl::InfiniteDuration();
      }
      history_.waits[key] = wait;
    }
  }

  const double seconds_;
  const bool is_cluster_;
  Dice dice_;
  Dice cluster_dice_;
  const std::optional<std::string> faketime_ = FindFaketime();
  const Directory directory_;
  Store store_;
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
  int keys_ = 0;
  int lost_waits_ = 0;
  double kept_ = 0;
  double last_fault_ = 0;
  bool has_ended_ = false;
  std::map<std::string, absl::Duration> born_;
  DurableHistory history_;

  std::mutex mutex_;
  std::map<std::string, int> counts_;
  std::vector<std::pair<double, double>> cluster_faults_;
  std::vector<DurableHistory::Loss> cluster_losses_;
  std::vector<std::pair<double, double>> cluster_bursts_;
  std::atomic<bool> is_cluster_whole_ = false;
  std::atomic<bool> ends_ = false;
  JoiningThread cluster_thread_;
};

TEST(DurableChaosTest, HistoryIsFlawlessWhateverBreaks) {
  if (!RedisServer::IsInstalled()) {
    GTEST_SKIP() << "redis-server is not installed";
  }
  const uint64_t seed = SeedOrRandom(absl::GetFlag(FLAGS_seed));
  const double seconds = absl::GetFlag(FLAGS_seconds);
  const bool is_cluster = absl::GetFlag(FLAGS_cluster);
  absl::PrintF("chaos: --seconds=%.0f --seed=%d%s\n", seconds, seed,
               is_cluster ? " --cluster" : "");
  std::fflush(stdout);

  Chaos chaos(seconds, seed, is_cluster);
  const DurableHistory& history = chaos.Run();
  chaos.Print();
  EXPECT_GT(history.polls.size(), 100);
  int told = 0;
  for (const std::string& violation : Violations(history)) {
    ADD_FAILURE() << violation << "\n"
                  << (++told > 20 ? "" : StoryOf(history, KeyOf(violation)));
  }
  if (FindFaketime().has_value()) {
    EXPECT_GT(chaos.MostClockOffset(), 3600) << "no clock is hours apart";
  }
}

TEST(DurableChaosTest, SomeClocksAreHoursApart) { SkipWithoutFaketime(); }

}  // namespace
}  // namespace waiter::chaos

#else

TEST(DurableChaosTest, LibraryIsThere) {
  GTEST_SKIP() << "hiredis is not installed";
}

#endif  // WAITER_HAS_HIREDIS
