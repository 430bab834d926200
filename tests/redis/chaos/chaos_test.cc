// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// Real processes share budgets on a real Redis, while the test kills, stops and
// disconnects both and empties Redis. An API logs the polls:
//
//   ./bazelw run //tests/redis/chaos:chaos_test -- --seconds=600 --seed=1
//
// checker.h says what must hold. Faults come in bursts with quiet phases in
// between. The seed repeats the faults and their times, but not how the
// processes interleave.

#include "gtest/gtest.h"

#ifdef WAITER_HAS_HIREDIS

#include <signal.h>  // NOLINT(modernize-deprecated-headers): of POSIX
#include <sys/types.h>
#include <sys/wait.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/flags/flag.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "tests/redis/chaos/api_server.h"
#include "tests/redis/chaos/checker.h"
#include "tests/redis/chaos/history.h"
#include "tests/redis/chaos/proxy.h"
#include "tests/redis/chaos/stage.h"
#include "tests/support/redis_server.h"
#include "waiter/clock.h"

ABSL_FLAG(double, seconds, 40, "Length of the run. At least 30.");
ABSL_FLAG(uint64_t, seed, 0, "Seed of the faults; 0: a random one.");
ABSL_FLAG(std::string, log, "", "File for all polls and faults.");

namespace waiter::chaos {
namespace {

// Places that have a worker from the start.
constexpr int kFirstWorkers = 4;

constexpr double kWarmUp = 4;
// Time after the last burst. The part that exceeds `kRecovery` is a quiet
// phase.
constexpr double kLastPart = kRecovery + kLongestGap + 2;

// In a long run, Redis and a worker are each stopped for this time at least
// once.
constexpr double kLongStop = 55;

// A step that takes this long got too little processor time.
constexpr double kLongStep = 0.3;

constexpr double kInfinity = std::numeric_limits<double>::infinity();

class Chaos {
 public:
  Chaos(double seconds, uint64_t seed)
      : seconds_(seconds),
        dice_(seed),
        start_(GetRealClock().MonotonicNow()),
        timeline_(start_),
        watch_(start_, 0.3),
        redis_({"--appendonly", "yes", "--appendfsync", "everysec", "--dir",
                directory_.path(), "--auto-aof-rewrite-percentage", "0",
                "--maxmemory-policy", "noeviction"}),
        proxy_(kPlaces),
        api_(start_, seed) {
    proxy_.set_target(redis_.port());
  }

  ~Chaos() {
    for (Place& place : places_) {
      if (place.pid < 0) continue;
      kill(place.pid, SIGKILL);
      waitpid(place.pid, nullptr, 0);
    }
  }

  // Runs all faults, and returns the history.
  History Run() {
    for (int place = 0; place < kFirstWorkers; ++place) StartWorker(place);
    PlanFailures();
    PlanBursts();
    while (Now() < EndOfRun()) {
      timeline_.RunUntil(std::min(EndOfRun(), Now() + 0.05));
      Reap();
    }
    history_.end = Now();
    has_ended_ = true;
    for (int place = 0; place < kPlaces; ++place) EndWorker(place);
    while (std::any_of(places_.begin(), places_.end(),
                       [](const Place& place) { return place.pid >= 0; })) {
      timeline_.SleepUntil(Now() + 0.02);
      Reap();
    }
    ApiServer::Log log = api_.TakeLog();
    history_.polls = std::move(log.polls);
    history_.answers = std::move(log.answers);
    std::map<int, double> offsets = api_.ClockOffsets();
    for (WorkerLife& life : history_.workers) {
      life.clock_offset = offsets[life.worker];
    }
    // Polls while the workers end are not part of the run.
    std::erase_if(history_.polls,
                  [&](const auto& poll) { return poll.time > history_.end; });
    for (const auto& [from, to] : watch_.Stalls()) {
      if (from >= history_.end) continue;
      history_.faults.push_back({FaultKind::kMachineStalled, from, to});
    }
    return std::move(history_);
  }

 private:
  struct Place {
    pid_t pid = -1;
    int workers = 0;  // So far.
    size_t life = 0;
    double must_end_by = kInfinity;
  };

  double Now() const { return timeline_.Now(); }
  // Later than planned if a step took long, such as the start of Redis.
  double EndOfRun() const {
    double end = seconds_;
    for (const Fault& fault : history_.faults) {
      end = std::max(end, fault.to + kLastPart);
    }
    return end;
  }
  double Uniform(double low, double high) { return dice_.Uniform(low, high); }
  bool Chance(double probability) { return dice_.Chance(probability); }
  int Index(int count) { return dice_.Index(count); }
  void At(double time, std::function<void()> step) {
    timeline_.At(time, std::move(step));
  }

  size_t Begin(FaultKind kind, int place = kAllPlaces) {
    history_.faults.push_back({kind, Now(), Now(), place});
    return history_.faults.size() - 1;
  }
  void End(size_t fault) { history_.faults[fault].to = Now(); }
  // On a busy machine, Redis may take seconds to end, and the test does not
  // know when it ended.
  void Break(const std::function<void()>& step) {
    const double before = Now();
    step();
    const double after = Now();
    if (after - before < kLongStep) return;
    history_.faults.push_back({FaultKind::kMachineStalled, before, after});
  }
  // Plans a fault from `time` until `end`, when the two functions are called.
  void Plan(FaultKind kind, int place, double time, double end,
            std::function<void()> begin, std::function<void()> undo) {
    const auto fault = std::make_shared<size_t>();
    At(time, [this, kind, place, fault, begin = std::move(begin)] {
      Break(begin);
      *fault = Begin(kind, place);
    });
    At(end, [this, fault, undo = std::move(undo)] {
      // A server may already grant while it starts.
      End(*fault);
      undo();
    });
  }

  // Plans errors of the API, which cost tokens, for the whole run.
  void PlanFailures() {
    for (double time = Uniform(1, 4); time < seconds_; time += Uniform(3, 10)) {
      At(time, [this] { api_.set_failing(true); });
      time += Uniform(1, 5);
      At(time, [this] { api_.set_failing(false); });
    }
  }

  // Returns whether Redis and a worker have long stops, with every seed.
  bool HasLongStops() const { return seconds_ >= 300; }

  void PlanBursts() {
    const bool is_long = seconds_ > 120;
    double time = kWarmUp;
    for (int burst = 0;; ++burst) {
      double length = seconds_ - kLastPart - time;
      if (length < 3) return;
      if (HasLongStops() && (burst == 1 || burst == 2)) {
        const double end = time + Uniform(kLongStop + 1, kLongStop + 5);
        if (burst == 1) {
          Plan(
              FaultKind::kStoreStopped, kAllPlaces, time, end,
              [this] { redis_.Pause(); }, [this] { redis_.Resume(); });
        } else {
          PlanStop(Index(kFirstWorkers), time, end);
        }
        time = end + kRecovery + Uniform(6, 12);
        continue;
      }
      if (is_long) {
        const double kind = Uniform(0, 1);
        length = std::min(length, kind < 0.6    ? Uniform(5, 20)
                                  : kind < 0.85 ? Uniform(20, 40)
                                                : Uniform(65, 75));
      }
      const double end = time + length;
      bool any = false;
      while (!any) {
        if (Chance(0.7)) any = PlanStore(time, end);
        if (Chance(0.6)) any = PlanProxy(time, end) || any;
        if (Chance(0.6)) any = PlanWorkers(time, end, 0) || any;
        if (Chance(0.4)) any = PlanWorkers(time, end, 1) || any;
      }
      time = end + kRecovery + Uniform(6, 12);
    }
  }

  bool PlanStore(double time, double end) {
    for (time += Uniform(0, 2); time < end; time += Uniform(0.2, 4)) {
      const double until = time + FaultLength(dice_, time, end);
      switch (Index(9)) {
        case 8:
          PlanRewind(time, until);
          time = until + 0.3;
          break;
        case 0:
        case 1:
          Plan(
              FaultKind::kStoreKilled, kAllPlaces, time, until,
              [this] { redis_.Kill(); },
              [this] {
                redis_.Start();
                proxy_.set_target(redis_.port());
              });
          time = until + 0.3;
          break;
        case 2:
        case 3:
          Plan(
              FaultKind::kStoreStopped, kAllPlaces, time, until,
              [this] { redis_.Pause(); }, [this] { redis_.Resume(); });
          time = until;
          break;
        case 4:
          Plan(
              FaultKind::kStoreFull, kAllPlaces, time, until,
              [this] {
                redis_.Run({"CONFIG", "SET", "maxmemory", "1"});
              },
              [this] {
                redis_.Run({"CONFIG", "SET", "maxmemory", "0"});
              });
          time = until;
          break;
        case 5:
          PlanMoment(FaultKind::kStoreEmptied, time, {"FLUSHALL"});
          break;
        case 6:
          PlanMoment(FaultKind::kScriptsLost, time, {"SCRIPT", "FLUSH"});
          break;
        default:
          PlanMoment(FaultKind::kClientsKilled, time,
                     {"CLIENT", "KILL", "TYPE", "normal"});
          break;
      }
    }
    return true;
  }

  // Restarts the store with the data that it had at `time`.
  void PlanRewind(double time, double until) {
    const std::filesystem::path file = directory_.path() + "/appendonlydir";
    const std::filesystem::path copy = directory_.path() + "/copy";
    const auto fault = std::make_shared<size_t>();
    At(time, [this, fault, file, copy] {
      std::filesystem::copy(file, copy);
      *fault = Begin(FaultKind::kStoreRewound);
    });
    At(until, [this, fault, file, copy] {
      Break([this] { redis_.Kill(); });
      const size_t killed = Begin(FaultKind::kStoreKilled);
      std::filesystem::remove_all(file);
      std::filesystem::rename(copy, file);
      End(killed);
      redis_.Start();
      proxy_.set_target(redis_.port());
      End(*fault);
    });
  }

  void PlanMoment(FaultKind kind, double time,
                  const std::vector<std::string>& command) {
    At(time, [this, kind, command] {
      const size_t fault = Begin(kind);
      redis_.Run(command);
      End(fault);
    });
  }

  bool PlanProxy(double time, double end) {
    PlanProxyFaults(proxy_, kPlaces, 0.3, time, end, dice_,
                    [this](auto... fault) { Plan(std::move(fault)...); });
    return true;
  }

  // Plans faults of the workers in even places, or in odd places if `rest` is
  // 1, one at a time.
  bool PlanWorkers(double time, double end, int rest) {
    for (time += Uniform(0, 2); time < end; time += Uniform(0.2, 4)) {
      const int place = 2 * Index(kPlaces / 2) + rest;
      const double until = time + FaultLength(dice_, time, end);
      switch (Index(3)) {
        case 0:
          At(time, [this, place] { KillWorker(place); });
          break;
        case 1:
          PlanStop(place, time, until);
          break;
        default:
          At(time, [this, place] { EndWorker(place); });
          break;
      }
      time = until;
      // The place may get a new worker, and always does if it had a first one.
      if (place < kFirstWorkers || Chance(0.7)) {
        At(until, [this, place] { StartWorker(place); });
      }
    }
    return true;
  }

  void PlanStop(int place, double time, double until) {
    const auto fault = std::make_shared<std::optional<size_t>>();
    At(time, [this, place, fault] {
      const Place& stopped = places_[static_cast<size_t>(place)];
      if (stopped.pid < 0 || stopped.must_end_by < kInfinity) return;
      *fault = Begin(FaultKind::kWorkerStopped, place);
      kill(stopped.pid, SIGSTOP);
    });
    At(until, [this, place, fault] {
      if (!fault->has_value()) return;
      const pid_t pid = places_[static_cast<size_t>(place)].pid;
      if (pid > 0) kill(pid, SIGCONT);
      End(**fault);
    });
  }

  // Does nothing if the place has a worker.
  void StartWorker(int index) {
    Place& place = places_[static_cast<size_t>(index)];
    if (place.pid >= 0) return;
    const int worker = kMostPlaces * place.workers++ + index;
    if (Now() > 1) Begin(FaultKind::kWorkerJoined, index);
    const Budgets& budgets = history_.budgets;
    const std::vector<std::string> words = {
        ProgramBeside("worker"),
        absl::StrCat("--worker=", worker),
        absl::StrCat("--api=", api_.port()),
        absl::StrCat("--redis=", proxy_.port(index)),
        absl::StrCat("--batch=", index % 3 == 2 ? "true" : "false"),
        absl::StrCat("--rate=", budgets.rate),
        absl::StrCat("--burst=", budgets.burst),
        absl::StrCat("--local_share=", budgets.local_share),
        absl::StrCat("--capacity=", budgets.capacity),
        absl::StrCat("--refill=", budgets.refill)};
    place.life = history_.workers.size();
    place.must_end_by = kInfinity;
    history_.workers.push_back({.worker = worker, .from = Now()});
    place.pid =
        StartProgram(words, kClocks[static_cast<size_t>(index)], faketime_);
  }

  void KillWorker(int index) {
    Place& place = places_[static_cast<size_t>(index)];
    if (place.pid < 0) return;
    kill(place.pid, SIGKILL);
    waitpid(place.pid, nullptr, 0);
    place.pid = -1;
    Begin(FaultKind::kWorkerKilled, index);
    history_.workers[place.life].to = Now();
  }

  void EndWorker(int index) {
    Place& place = places_[static_cast<size_t>(index)];
    if (place.pid < 0 || place.must_end_by < kInfinity) return;
    kill(place.pid, SIGTERM);
    place.must_end_by = Now() + 15;
    history_.workers[place.life].to = Now();
    if (!has_ended_) Begin(FaultKind::kWorkerLeft, index);
  }

  void Reap() {
    for (Place& place : places_) {
      if (place.pid < 0) continue;
      WorkerLife& life = history_.workers[place.life];
      int status = 0;
      if (waitpid(place.pid, &status, WNOHANG) == place.pid) {
        place.pid = -1;
        EXPECT_LT(place.must_end_by, kInfinity)
            << "worker " << life.worker << " has ended at " << Now();
        EXPECT_EQ(status, 0) << "of worker " << life.worker;
      } else if (Now() > place.must_end_by) {
        ADD_FAILURE() << "worker " << life.worker << " does not end";
        kill(place.pid, SIGKILL);
        waitpid(place.pid, nullptr, 0);
        place.pid = -1;
      }
    }
  }

  const double seconds_;
  Dice dice_;
  const MonotonicTime start_;
  Timeline timeline_;
  const std::optional<std::string> faketime_ = FindFaketime();
  const Directory directory_;
  MachineWatch watch_;
  RedisServer redis_;
  Proxy proxy_;
  ApiServer api_;
  std::array<Place, kPlaces> places_;
  bool has_ended_ = false;
  History history_;
};

void WriteLog(const History& history, const std::string& path) {
  FILE* const file = std::fopen(path.c_str(), "we");
  if (file == nullptr) return;
  for (const Fault& fault : history.faults) {
    absl::FPrintF(file, "fault %.4f %.4f %d %s\n", fault.from, fault.to,
                  fault.place, std::string(ToString(fault.kind)));
  }
  for (const WorkerLife& life : history.workers) {
    absl::FPrintF(file, "worker %d %.4f %.4f %.0f\n", life.worker, life.from,
                  life.to, life.clock_offset);
  }
  for (const PollRecord& poll : history.polls) {
    absl::FPrintF(file, "poll %.4f %d %c %d\n", poll.time, poll.worker,
                  static_cast<char>(poll.claim), poll.members);
  }
  for (const AnswerRecord& answer : history.answers) {
    absl::FPrintF(file, "answer %.4f %d %d %c\n", answer.time, answer.worker,
                  answer.wait, static_cast<char>(answer.answer));
  }
  std::fclose(file);
}

void Print(const History& history) {
  std::map<std::string, int> counts;
  for (const Fault& fault : history.faults) {
    ++counts[std::string(ToString(fault.kind))];
  }
  for (const auto& [kind, count] : counts) {
    absl::PrintF("%5d x %s\n", count, kind);
  }
  const Figures figures = Measure(history);
  absl::PrintF(
      "%d workers, %d polls, %d of them alone, %d retries\n"
      "quiet: %.1f s, use %.1f %% (least %.1f %%), at most %.1f polls above "
      "rate x t (allowed: %.1f)\n"
      "share again at most %.1f s after a fault\n",
      history.workers.size(), figures.polls, figures.local_polls,
      figures.retries, figures.quiet_seconds, 100 * figures.use,
      100 * figures.least_use, figures.most_above,
      history.budgets.rate * history.budgets.horizon + history.budgets.burst,
      figures.slowest_return);
  std::fflush(stdout);
}

void PrintFaults(const History& history) {
  for (const Fault& fault : history.faults) {
    absl::PrintF("%8.3f to %8.3f: %s, place %d\n", fault.from, fault.to,
                 std::string(ToString(fault.kind)), fault.place);
  }
}

TEST(ChaosTest, SharedBudgetsKeepWhatTheyPromise) {
  if (!RedisServer::IsInstalled()) {
    GTEST_SKIP() << "redis-server is not installed";
  }
  const uint64_t seed = SeedOrRandom(absl::GetFlag(FLAGS_seed));
  const double seconds = absl::GetFlag(FLAGS_seconds);
  absl::PrintF(
      "replay: ./bazelw run //tests/redis/chaos:chaos_test -- --seconds=%.0f "
      "--seed=%d\n",
      seconds, seed);
  std::fflush(stdout);

  const History history = Chaos(seconds, seed).Run();
  if (!absl::GetFlag(FLAGS_log).empty()) {
    WriteLog(history, absl::GetFlag(FLAGS_log));
  }
  Print(history);
  for (const std::string& violation : CheckAll(history)) {
    ADD_FAILURE() << violation;
  }
  const auto any = [&](auto is_wanted) {
    return std::any_of(history.faults.begin(), history.faults.end(), is_wanted);
  };
  // A busy machine uses less of the rate, or has no quiet phase.
  const Figures figures = Measure(history);
  if (figures.quiet_seconds > 0) {
    const bool was_stalled = any([](const Fault& fault) {
      return fault.kind == FaultKind::kMachineStalled;
    });
    EXPECT_GE(figures.use, was_stalled ? 0.5 : 0.97);
  }
  for (const FaultKind kind :
       {FaultKind::kStoreStopped, FaultKind::kWorkerStopped}) {
    EXPECT_TRUE(seconds < 300 || any([&](const Fault& fault) {
                  return fault.kind == kind &&
                         fault.to - fault.from >= kLongStop;
                }))
        << "no long time: " << ToString(kind);
  }
  if (FindFaketime().has_value()) {
    EXPECT_TRUE(std::any_of(
        history.workers.begin(), history.workers.end(),
        [](const auto& life) { return std::abs(life.clock_offset) > 3600; }))
        << "no clock is hours apart";
  }
  if (testing::Test::HasFailure()) PrintFaults(history);
}

TEST(ChaosTest, SomeClocksAreHoursApart) { SkipWithoutFaketime(); }

}  // namespace
}  // namespace waiter::chaos

#else

TEST(ChaosTest, LibraryIsThere) { GTEST_SKIP() << "hiredis is not installed"; }

#endif  // WAITER_HAS_HIREDIS
