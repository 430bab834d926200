// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// Measures the costs of durable waits for a Redis server and the workers,
// compared with BullMQ and with floors. Starts the server, and prints the table
// that README.md has between its markers. README.md describes the measurement.

#include <sched.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/flags/flag.h"
#include "absl/flags/parse.h"
#include "absl/flags/usage.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "bench/check.h"
#include "bench/distributed/member.h"
#include "bench/distributed/redis_under_test.h"

ABSL_FLAG(std::string, bullmq, "",
          "folder with node_modules of bullmq and ioredis; empty: no BullMQ");
ABSL_FLAG(std::string, bullmq_member, "", "the program bullmq_member.js");
ABSL_FLAG(
    std::vector<std::string>, only, {},
    "parts to measure, of polls, ends, memory, enqueue, million, lateness, "
    "failover; empty: all");
ABSL_FLAG(bool, quick, false,
          "one round, fewer waits, and no part that takes minutes");
ABSL_FLAG(int32_t, rounds, 3, "rounds whose medians are printed");
ABSL_FLAG(int32_t, waits, 100'000,
          "pending waits, except in million and lateness");
ABSL_FLAG(int32_t, workers, 1, "processes that poll");
ABSL_FLAG(int32_t, bullmq_workers, 1, "processes of BullMQ that poll");
ABSL_FLAG(int32_t, bullmq_concurrency, 200,
          "jobs that one of them runs at a time");
ABSL_FLAG(bool, commands, false, "also print commandstats");

namespace waiter::bench {
namespace {

void Sleep(double seconds) {
  std::this_thread::sleep_for(std::chrono::duration<double>(seconds));
}

std::string Folder() {
  return std::filesystem::read_symlink("/proc/self/exe").parent_path();
}

// One of the programs that are compared.
struct Subject {
  std::vector<std::string> command;
  bool is_bullmq = false;
};

std::vector<std::string> Flags(const Subject& subject,
                               const RedisUnderTest& redis, const char* role,
                               std::vector<std::string> flags = {}) {
  std::vector<std::string> words = subject.command;
  words.push_back(absl::StrCat("--port=", redis.port()));
  words.push_back(absl::StrCat("--role=", role));
  if (subject.is_bullmq) {
    words.push_back(absl::StrCat("--concurrency=",
                                 absl::GetFlag(FLAGS_bullmq_concurrency)));
  }
  words.insert(words.end(), flags.begin(), flags.end());
  return words;
}

// Figures of one kind, over all rounds.
class Samples {
 public:
  void Add(const std::string& name, double value) {
    values_[name].push_back(value);
    std::fprintf(stderr, "  %s %.6g\n", name.c_str(), value);
  }
  std::optional<double> Median(const std::string& name) const {
    const auto it = values_.find(name);
    if (it == values_.end()) return std::nullopt;
    std::vector<double> values = it->second;
    std::sort(values.begin(), values.end());
    return values[values.size() / 2];
  }
  // Returns the names that begin with `prefix`, without the prefix.
  std::vector<std::string> Names(const std::string& prefix) const {
    std::vector<std::string> names;
    for (const auto& [name, values] : values_) {
      if (absl::StartsWith(name, prefix)) {
        names.push_back(name.substr(prefix.size()));
      }
    }
    return names;
  }

 private:
  std::map<std::string, std::vector<double>> values_;
};

using Members = std::vector<std::unique_ptr<Member>>;

Members Start(int count, const std::vector<std::string>& command) {
  Members members;
  for (int i = 0; i < count; ++i) {
    members.push_back(std::make_unique<Member>(command));
  }
  return members;
}

Figures Sum(const Members& members) {
  Figures sum;
  for (const auto& member : members) {
    for (const auto& [name, value] : member->Ask()) sum[name] += value;
  }
  return sum;
}

Figures Add(const Subject& subject, const RedisUnderTest& redis, int count,
            std::vector<std::string> flags = {}) {
  flags.push_back(absl::StrCat("--count=", count));
  return Member(Flags(subject, redis, "add", flags)).Read();
}

// Adds the shares of the time in scripts that each command takes, in percent.
// The server measures real time, so other programs on its processor contribute
// to all shares.
void AddScriptShares(const RedisUnderTest& redis, Samples& samples) {
  std::map<std::string, double> times;
  double scripts = 0;
  double inner = 0;
  for (const auto& [command, micros] : redis.CommandMicros()) {
    if (command == "evalsha" || command == "eval") {
      scripts += micros;
      continue;
    }
    times[command] = micros;
    inner += micros;
  }
  if (scripts <= 0) return;
  times["Lua itself"] = scripts - inner;
  for (const auto& [what, micros] : times) {
    const double share = 100 * micros / scripts;
    if (share >= 1) samples.Add("of scripts: " + what, share);
  }
}

int Workers(const Subject& subject) {
  return absl::GetFlag(subject.is_bullmq ? FLAGS_bullmq_workers
                                         : FLAGS_workers);
}

void PrintCommands(const RedisUnderTest& redis) {
  if (!absl::GetFlag(FLAGS_commands)) return;
  std::fprintf(stderr, "%s\n", redis.Run("INFO commandstats").c_str());
}

// Measures polls while more waits are due than can be polled. Each poll
// releases its wait.
void MeasurePolls(const Subject& subject, const RedisUnderTest& redis,
                  Samples& samples) {
  redis.Clear();
  Add(subject, redis, 2 * absl::GetFlag(FLAGS_waits), {"--spread=1s"});
  const Members workers = Start(
      Workers(subject), Flags(subject, redis, "work",
                              {"--lease=4s", "--least=1400ms", "--most=2s"}));
  Sleep(5);
  redis.Run("CONFIG RESETSTAT");
  const Figures before = Sum(workers);
  const double cpu_before = redis.CpuMicros();
  const absl::Time start = absl::Now();
  Sleep(8);
  const Figures after = Sum(workers);
  const double cpu = redis.CpuMicros() - cpu_before;
  const double seconds = absl::ToDoubleSeconds(absl::Now() - start);
  PrintCommands(redis);
  const double polls = after.at("polls") - before.at("polls");
  samples.Add("polls/s", polls / seconds);
  samples.Add("redis us/poll", cpu / polls);
  samples.Add("worker us/poll",
              (after.at("cpu_us") - before.at("cpu_us")) / polls);
  samples.Add("redis busy", cpu / 1e6 / seconds);
  if (subject.is_bullmq) return;
  AddScriptShares(redis, samples);
  samples.Add("lost", after.at("lost"));
}

// Measures polls while a million waits are pending, with delays of about 10 s.
void MeasureMillion(const Subject& subject, const RedisUnderTest& redis,
                    Samples& samples) {
  redis.Clear();
  Add(subject, redis, 1'000'000, {"--spread=8s"});
  const Members workers =
      Start(Workers(subject),
            Flags(subject, redis, "work", {"--least=4s", "--most=12s"}));
  Sleep(16);
  const Figures before = Sum(workers);
  const double cpu_before = redis.CpuMicros();
  const absl::Time start = absl::Now();
  Sleep(15);
  const Figures after = Sum(workers);
  const double cpu = redis.CpuMicros() - cpu_before;
  const double seconds = absl::ToDoubleSeconds(absl::Now() - start);
  const double polls = after.at("polls") - before.at("polls");
  samples.Add("million polls/s", polls / seconds);
  samples.Add("million redis us/poll", cpu / polls);
  samples.Add("million redis busy", cpu / 1e6 / seconds);
}

// Measures the polls of `MeasurePolls` on an engine without a store.
void MeasureEngine(Samples& samples) {
  Member engine({Folder() + "/waiter_member", "--role=engine",
                 absl::StrCat("--count=", 2 * absl::GetFlag(FLAGS_waits)),
                 "--least=1400ms", "--most=2s"});
  Sleep(4);
  const Figures before = engine.Ask();
  Sleep(4);
  const Figures after = engine.Ask();
  samples.Add("engine us/poll", (after.at("cpu_us") - before.at("cpu_us")) /
                                    (after.at("polls") - before.at("polls")));
}

// Measures scripts that do nothing.
void MeasureEmptyScripts(const RedisUnderTest& redis, Samples& samples) {
  redis.Clear();
  Member floor({Folder() + "/redis_floor",
                absl::StrCat("--port=", redis.port()),
                absl::StrCat("--count=", 2 * absl::GetFlag(FLAGS_waits)),
                "--nothing", "--time=5s"});
  floor.Read();
  const double before = redis.CpuMicros();
  const Figures figures = floor.Ask();
  samples.Add("empty redis us/poll",
              (redis.CpuMicros() - before) / figures.at("polls"));
}

void MeasureFloor(const RedisUnderTest& redis, bool reads, Samples& samples) {
  redis.Clear();
  Member floor({Folder() + "/redis_floor",
                absl::StrCat("--port=", redis.port()),
                absl::StrCat("--count=", 2 * absl::GetFlag(FLAGS_waits)),
                reads ? "--reads" : "--noreads", "--time=5s"});
  floor.Read();
  const double before = redis.CpuMicros();
  const Figures figures = floor.Ask();
  const double cpu = redis.CpuMicros() - before;
  const std::string name = reads ? "reads " : "";
  samples.Add(name + "polls/s",
              figures.at("polls") / figures.at("wall_us") * 1e6);
  samples.Add(name + "redis us/poll", cpu / figures.at("polls"));
}

// Measures waits that succeed at their first poll, from the enqueue to the end.
void MeasureEnds(const Subject& subject, const RedisUnderTest& redis,
                 Samples& samples) {
  redis.Clear();
  const int waits = absl::GetFlag(FLAGS_waits);
  const double before = redis.CpuMicros();
  const double adder = Add(subject, redis, waits).at("cpu_us");
  const Members workers = Start(
      Workers(subject), Flags(subject, redis, "work", {"--ends", "--most=1s"}));
  Figures sum;
  do {
    Sleep(0.2);
    sum = Sum(workers);
  } while (sum["ended"] < waits);
  PrintCommands(redis);
  samples.Add("redis us/wait", (redis.CpuMicros() - before) / waits);
  samples.Add("members us/wait", (sum["cpu_us"] + adder) / waits);
}

void MeasureMemory(const Subject& subject, const RedisUnderTest& redis,
                   Samples& samples) {
  redis.Clear();
  const int waits = absl::GetFlag(FLAGS_waits);
  const double before = redis.UsedMemory();
  Add(subject, redis, waits, {"--first_delay=100s"});
  Sleep(1);
  samples.Add("B/wait", (redis.UsedMemory() - before) / waits);
  redis.Clear();
  Add(subject, redis, waits);
  {
    const Members workers =
        Start(Workers(subject),
              Flags(subject, redis, "work", {"--least=1h", "--most=1h"}));
    do {
      Sleep(0.2);
    } while (Sum(workers)["polls"] < waits);
    Sleep(1);
  }
  Sleep(1);
  samples.Add("B/wait, polled", (redis.UsedMemory() - before) / waits);
}

void MeasureEnqueue(const Subject& subject, const RedisUnderTest& redis,
                    int batch, Samples& samples) {
  redis.Clear();
  const int waits = absl::GetFlag(FLAGS_waits);
  const double before = redis.CpuMicros();
  const Figures figures =
      Add(subject, redis, waits,
          {"--first_delay=100s", absl::StrCat("--batch=", batch)});
  PrintCommands(redis);
  const std::string of = absl::StrCat(" of ", batch);
  samples.Add("enqueues/s" + of, waits / figures.at("wall_us") * 1e6);
  samples.Add("redis us/enqueue" + of, (redis.CpuMicros() - before) / waits);
  samples.Add("client us/enqueue" + of, figures.at("cpu_us") / waits);
}

// Measures lateness with half as many polls as `MeasurePolls` found, and delays
// of 5 to 15 s.
void MeasureLateness(const Subject& subject, const RedisUnderTest& redis,
                     double most_polls, Samples& samples) {
  redis.Clear();
  const int waits = static_cast<int>(most_polls / 2 * 10);
  const Members workers =
      Start(1, Flags(subject, redis, "work",
                     {"--lateness", "--least=5s", "--most=15s"}));
  Add(subject, redis, waits, {"--spread=10s"});
  Sleep(16);
  const Figures before = Sum(workers);
  Sleep(15);
  const Figures after = Sum(workers);
  samples.Add("polls/s at half load",
              (after.at("polls") - before.at("polls")) / 15);
  samples.Add("late p50 ms", after.at("late_p50_us") / 1e3);
  samples.Add("late p99 ms", after.at("late_p99_us") / 1e3);
}

// Kills one of four workers, which hold waits between polls. A wait belongs to
// the worker that polled it last.
void MeasureFailover(const Subject& subject, const RedisUnderTest& redis,
                     double most_seconds, Samples& samples) {
  constexpr int kWaits = 2000;
  constexpr int kWorkers = 4;
  redis.Clear();
  std::string folder =
      std::filesystem::temp_directory_path() / "durable_costs.XXXXXX";
  Check(mkdtemp(folder.data()) != nullptr, "no folder");
  Members workers;
  for (int i = 0; i < kWorkers; ++i) {
    std::vector<std::string> flags = {"--least=700ms", "--most=1300ms",
                                      absl::StrCat("--log=", folder, "/", i)};
    // The others must have room for the killed worker's jobs.
    if (subject.is_bullmq) flags.emplace_back("--concurrency=1000");
    workers.push_back(
        std::make_unique<Member>(Flags(subject, redis, "work", flags)));
  }
  // After this time, all workers know each other, so each takes its share.
  Sleep(8);
  Add(subject, redis, kWaits);
  Sleep(8);
  workers[1]->Kill();
  const auto killed = static_cast<double>(absl::ToUnixMicros(absl::Now()));
  Sleep(most_seconds);
  workers.clear();

  struct Poll {
    double last_before = 0;
    int worker = -1;
    double first_after = 0;
  };
  std::map<std::string, Poll> polls;
  for (int i = 0; i < kWorkers; ++i) {
    std::ifstream log(absl::StrCat(folder, "/", i));
    std::string key;
    double time = 0;
    while (log >> key >> time) {
      Poll& poll = polls[key];
      if (time <= killed) {
        if (time >= poll.last_before) {
          poll.last_before = time;
          poll.worker = i;
        }
      } else if (poll.first_after == 0 || time < poll.first_after) {
        poll.first_after = time;
      }
    }
  }
  std::filesystem::remove_all(folder);
  double last = 0;
  int orphans = 0;
  int unpolled = 0;
  for (const auto& [key, poll] : polls) {
    if (poll.worker != 1) continue;
    ++orphans;
    if (poll.first_after == 0) {
      ++unpolled;
    } else {
      last = std::max(last, poll.first_after - killed);
    }
  }
  std::fprintf(stderr, "  %zu waits, of which %d were held, %d not polled\n",
               polls.size(), orphans, unpolled);
  if (orphans == 0) return;
  samples.Add("orphans", orphans);
  samples.Add("never polled", unpolled);
  samples.Add("failover s", last / 1e6);
}

struct Row {
  std::string name;
  std::string figure;
  const char* unit;
  // The peer and its figure, or the same figure if `peer_figure` is empty.
  const Samples* peer = nullptr;
  std::string peer_name = {};
  std::string peer_figure = {};
  // Bounds of the value and of the ratio: minimums if `is_least`, otherwise
  // maximums.
  std::optional<double> target = {};
  std::optional<double> ratio_target = {};
  bool is_least = false;
};

std::string Number(double value, const char* unit) {
  const std::string text = value >= 1000  ? absl::StrFormat("%.0f", value)
                           : value >= 100 ? absl::StrFormat("%.0f", value)
                           : value >= 10  ? absl::StrFormat("%.1f", value)
                                          : absl::StrFormat("%.2f", value);
  return *unit == '\0' ? text : absl::StrCat(text, " ", unit);
}

// Returns false if the figure misses its target.
bool Print(const Row& row, const Samples& waiter) {
  const std::optional<double> value = waiter.Median(row.figure);
  if (!value.has_value()) return true;
  std::optional<double> peer;
  if (row.peer != nullptr) {
    peer = row.peer->Median(row.peer_figure.empty() ? row.figure
                                                    : row.peer_figure);
    if (!peer.has_value() && !row.target.has_value()) return true;
  }
  const auto holds = [&](double found, double bound) {
    return row.is_least ? found >= bound : found <= bound;
  };
  std::string target;
  std::string verdict;
  if (row.target.has_value()) {
    target = absl::StrCat(row.is_least ? ">= " : "<= ",
                          Number(*row.target, row.unit));
    verdict = holds(*value, *row.target) ? "ok" : "short";
  } else if (row.ratio_target.has_value() && peer.has_value()) {
    target = absl::StrFormat("%s %.2fx",
                             row.is_least ? ">=" : "<=", *row.ratio_target);
    verdict = holds(*value / *peer, *row.ratio_target) ? "ok" : "short";
  }
  absl::PrintF("| %s | %s | %s | %s | %s | %s | %s |\n", row.name,
               Number(*value, row.unit), peer.has_value() ? row.peer_name : "",
               peer.has_value() ? Number(*peer, row.unit) : "",
               peer.has_value() ? absl::StrFormat("%.3fx", *value / *peer) : "",
               target, verdict);
  return verdict != "short";
}

void PrintTable(const Samples& waiter, const Samples& floor,
                const Samples& bullmq) {
  const std::array rows = {
      Row{.name = "polls per second",
          .figure = "polls/s",
          .unit = "",
          .target = 100e3,
          .is_least = true},
      Row{.name = "polls per second",
          .figure = "polls/s",
          .unit = "",
          .peer = &bullmq,
          .peer_name = "BullMQ",
          .ratio_target = 10,
          .is_least = true},
      Row{.name = "Redis CPU per poll",
          .figure = "redis us/poll",
          .unit = "us",
          .peer = &floor,
          .peer_name = "floor, writes",
          .target = 8},
      Row{.name = "Redis CPU per poll",
          .figure = "redis us/poll",
          .unit = "us",
          .peer = &floor,
          .peer_name = "floor, reads too",
          .peer_figure = "reads redis us/poll"},
      Row{.name = "Redis CPU per poll",
          .figure = "redis us/poll",
          .unit = "us",
          .peer = &floor,
          .peer_name = "scripts that do nothing",
          .peer_figure = "empty redis us/poll"},
      Row{.name = "Redis CPU per poll",
          .figure = "redis us/poll",
          .unit = "us",
          .peer = &bullmq,
          .peer_name = "BullMQ",
          .ratio_target = 0.1},
      Row{.name = "worker CPU per poll",
          .figure = "worker us/poll",
          .unit = "us",
          .peer = &bullmq,
          .peer_name = "BullMQ"},
      Row{.name = "worker CPU per poll",
          .figure = "worker us/poll",
          .unit = "us",
          .peer = &floor,
          .peer_name = "engine alone",
          .peer_figure = "engine us/poll",
          .target = 3},
      Row{.name = "polls per second, 1 M pending",
          .figure = "million polls/s",
          .unit = "",
          .target = 100e3,
          .is_least = true},
      Row{.name = "Redis CPU per poll, 1 M pending",
          .figure = "million redis us/poll",
          .unit = "us",
          .target = 8},
      Row{.name = "Redis CPU per wait of one poll",
          .figure = "redis us/wait",
          .unit = "us",
          .peer = &bullmq,
          .peer_name = "BullMQ"},
      Row{.name = "client and worker CPU of it",
          .figure = "members us/wait",
          .unit = "us",
          .peer = &bullmq,
          .peer_name = "BullMQ"},
      Row{.name = "memory per wait, new",
          .figure = "B/wait",
          .unit = "B",
          .peer = &bullmq,
          .peer_name = "BullMQ",
          .ratio_target = 0.6},
      Row{.name = "memory per wait, polled",
          .figure = "B/wait, polled",
          .unit = "B",
          .target = 400},
      Row{.name = "memory per wait, polled",
          .figure = "B/wait, polled",
          .unit = "B",
          .peer = &bullmq,
          .peer_name = "BullMQ",
          .ratio_target = 0.6},
      Row{.name = "enqueues per second, batches of 250",
          .figure = "enqueues/s of 250",
          .unit = "",
          .target = 200e3,
          .is_least = true},
      Row{.name = "enqueues per second, batches of 250",
          .figure = "enqueues/s of 250",
          .unit = "",
          .peer = &bullmq,
          .peer_name = "BullMQ",
          .ratio_target = 3,
          .is_least = true},
      Row{.name = "Redis CPU per enqueue",
          .figure = "redis us/enqueue of 250",
          .unit = "us",
          .peer = &bullmq,
          .peer_name = "BullMQ"},
      Row{.name = "client CPU per enqueue",
          .figure = "client us/enqueue of 250",
          .unit = "us",
          .peer = &bullmq,
          .peer_name = "BullMQ"},
      Row{.name = "enqueues per second, batches of 4000",
          .figure = "enqueues/s of 4000",
          .unit = "",
          .target = 200e3,
          .is_least = true},
      Row{.name = "Redis CPU per enqueue, batches of 4000",
          .figure = "redis us/enqueue of 4000",
          .unit = "us"},
      Row{.name = "client CPU per enqueue, batches of 4000",
          .figure = "client us/enqueue of 4000",
          .unit = "us"},
      Row{.name = "polls per second at half load",
          .figure = "polls/s at half load",
          .unit = "",
          .peer = &bullmq,
          .peer_name = "BullMQ"},
      Row{.name = "lateness p50 at half load",
          .figure = "late p50 ms",
          .unit = "ms",
          .peer = &bullmq,
          .peer_name = "BullMQ"},
      Row{.name = "lateness p99 at half load",
          .figure = "late p99 ms",
          .unit = "ms",
          .target = 300},
      Row{.name = "lateness p99 at half load",
          .figure = "late p99 ms",
          .unit = "ms",
          .peer = &bullmq,
          .peer_name = "BullMQ"},
      Row{.name = "failover of 1 in 4 workers",
          .figure = "failover s",
          .unit = "s",
          .target = 17},
      Row{.name = "failover of 1 in 4 workers",
          .figure = "failover s",
          .unit = "s",
          .peer = &bullmq,
          .peer_name = "BullMQ"},
  };
  absl::PrintF(
      "| | Waiter | peer | | ratio | target | |\n"
      "| --- | ---: | --- | ---: | ---: | --- | --- |\n");
  std::vector<std::string> short_of;
  for (const Row& row : rows) {
    if (!Print(row, waiter)) short_of.push_back(row.name);
  }
  short_of.erase(std::unique(short_of.begin(), short_of.end()), short_of.end());
  if (!short_of.empty()) {
    absl::PrintF("\nRows that miss their targets: %s.\n",
                 absl::StrJoin(short_of, "; "));
  }
}

void PrintScriptShares(const Samples& waiter) {
  std::vector<std::string> parts;
  for (const std::string& what : waiter.Names("of scripts: ")) {
    parts.push_back(absl::StrFormat("%s %.0f %%", what,
                                    *waiter.Median("of scripts: " + what)));
  }
  if (parts.empty()) return;
  absl::PrintF("\nTime in scripts while waits are polled: %s.\n",
               absl::StrJoin(parts, ", "));
}

void PrintConditions(double load, int rounds) {
  absl::PrintF(
      "\nMedians of %d round%s with %d waits on %d processors, %s. The load "
      "average was %.1f "
      "when it began: %s.\n",
      rounds, rounds == 1 ? "" : "s", absl::GetFlag(FLAGS_waits),
      std::thread::hardware_concurrency(),
      absl::FormatTime("%Y-%m-%d", absl::Now(), absl::UTCTimeZone()), load,
      load < 0.5 ? "the machine was at rest"
                 : "other programs had a part of the processors, so that rates "
                   "are lower, and times longer, than at rest");
}

// Keeps this process and its children off the processor of the server. Returns
// that processor, or -1 if the machine has only one.
int DivideProcessors() {
  cpu_set_t cpus;
  Check(sched_getaffinity(0, sizeof(cpus), &cpus) == 0, "no processors");
  if (CPU_COUNT(&cpus) < 2) return -1;
  size_t first = 0;
  while (!CPU_ISSET(first, &cpus)) ++first;
  CPU_CLR(first, &cpus);
  Check(sched_setaffinity(0, sizeof(cpus), &cpus) == 0, "no processors");
  return static_cast<int>(first);
}

constexpr std::array kParts = {"polls",   "ends",     "memory",  "enqueue",
                               "million", "lateness", "failover"};
// Parts that take minutes.
constexpr std::array kSlowParts = {"million", "lateness", "failover"};

bool Wants(const std::string& part) {
  const std::vector<std::string> only = absl::GetFlag(FLAGS_only);
  if (!only.empty()) return std::count(only.begin(), only.end(), part) > 0;
  return !absl::GetFlag(FLAGS_quick) ||
         std::count(kSlowParts.begin(), kSlowParts.end(), part) == 0;
}

void CheckFlags() {
  for (const std::string& part : absl::GetFlag(FLAGS_only)) {
    if (std::count(kParts.begin(), kParts.end(), part) == 0) {
      Fail(absl::StrCat("--only=", part, ": there is no such part"));
    }
  }
  if (Wants("lateness") && !Wants("polls")) {
    Fail(
        "--only=lateness: also give polls; lateness is measured at half of its "
        "polls per second");
  }
  if (!absl::GetFlag(FLAGS_bullmq).empty() &&
      absl::GetFlag(FLAGS_bullmq_member).empty()) {
    Fail(
        "--bullmq: also give "
        "--bullmq_member=bench/distributed/bullmq_member.js, as `bazelw run` "
        "does");
  }
}

const char* NameOf(const Subject& subject) {
  return subject.is_bullmq ? "BullMQ" : "Waiter";
}

// Returns Waiter, and BullMQ if --bullmq is set.
std::vector<std::pair<Subject, Samples>> FindSubjects() {
  std::vector<std::pair<Subject, Samples>> subjects;
  subjects.push_back({{.command = {Folder() + "/waiter_member"}}, {}});
  const std::string bullmq = absl::GetFlag(FLAGS_bullmq);
  if (bullmq.empty()) return subjects;
  // NOLINTNEXTLINE(concurrency-mt-unsafe): there is no other thread
  setenv("NODE_PATH", (bullmq + "/node_modules").c_str(), 1);
  const std::string program = absl::GetFlag(FLAGS_bullmq_member);
  subjects.push_back({{.command = {"node", std::filesystem::absolute(program)},
                       .is_bullmq = true},
                      {}});
  return subjects;
}

void MeasureCosts(const Subject& subject, const RedisUnderTest& redis,
                  Samples& samples) {
  if (Wants("polls")) MeasurePolls(subject, redis, samples);
  if (Wants("ends")) MeasureEnds(subject, redis, samples);
  if (Wants("memory")) MeasureMemory(subject, redis, samples);
  if (!Wants("enqueue")) return;
  MeasureEnqueue(subject, redis, 250, samples);
  if (!subject.is_bullmq) MeasureEnqueue(subject, redis, 4000, samples);
}

void MeasureTimes(const Subject& subject, const RedisUnderTest& redis,
                  Samples& samples) {
  const std::optional<double> polls = samples.Median("polls/s");
  if (Wants("lateness") && polls.has_value()) {
    MeasureLateness(subject, redis, *polls, samples);
  }
  // BullMQ would take minutes to add a million jobs.
  if (Wants("million") && !subject.is_bullmq) {
    MeasureMillion(subject, redis, samples);
  }
  if (Wants("failover")) {
    MeasureFailover(subject, redis, subject.is_bullmq ? 75 : 22, samples);
  }
}

void Run() {
  CheckFlags();
  double load = 0;
  Check(getloadavg(&load, 1) == 1, "no load average");
  if (absl::GetFlag(FLAGS_quick)) {
    absl::SetFlag(&FLAGS_rounds, 1);
    absl::SetFlag(&FLAGS_waits, 20'000);
  }
  auto subjects = FindSubjects();
  Samples floor;
  const int cpu = DivideProcessors();
  // The server's other threads may run on any processor.
  const RedisUnderTest redis(cpu);
  const int rounds = absl::GetFlag(FLAGS_rounds);
  for (int round = 1; round <= rounds; ++round) {
    for (auto& [subject, samples] : subjects) {
      std::fprintf(stderr, "%s, round %d\n", NameOf(subject), round);
      MeasureCosts(subject, redis, samples);
    }
    if (!Wants("polls")) continue;
    std::fprintf(stderr, "floor, round %d\n", round);
    MeasureFloor(redis, /*reads=*/false, floor);
    MeasureFloor(redis, /*reads=*/true, floor);
    MeasureEmptyScripts(redis, floor);
    MeasureEngine(floor);
  }
  for (auto& [subject, samples] : subjects) {
    std::fprintf(stderr, "%s, in real time\n", NameOf(subject));
    MeasureTimes(subject, redis, samples);
  }
  PrintTable(subjects.front().second, floor,
             subjects.size() > 1 ? subjects.back().second : Samples());
  PrintScriptShares(subjects.front().second);
  PrintConditions(load, rounds);
}

}  // namespace
}  // namespace waiter::bench

int main(int argc, char** argv) {
  absl::SetProgramUsageMessage(
      "Measures what durable waits on Redis cost, compared with BullMQ and a "
      "floor.");
  absl::ParseCommandLine(argc, argv);
  waiter::bench::Run();
}
