// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// Runs Waiter's engine and its peers in turn, each as its own program on one
// processor. Prints a line for each promise: Waiter, the peer, their ratio, the
// target, and `ok` or `short`. README.md describes the measurement.

#include <sched.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/flags/flag.h"
#include "absl/flags/parse.h"
#include "absl/flags/usage.h"
#include "absl/status/statusor.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "bench/peers/child.h"

ABSL_FLAG(bool, quick, false, "fewer figures and repetitions: 60 s");
ABSL_FLAG(bool, markdown, false, "print a table in Markdown");
ABSL_FLAG(bool, instructions, false,
          "count instructions instead, under valgrind");
ABSL_FLAG(int32_t, cpu, -1, "the processor to run on; -1: the last");

namespace waiter::bench {
namespace {

using Seconds = std::chrono::duration<double>;

// Time for the measurements of --quick. A run that has started may end shortly
// after it.
constexpr Seconds kQuickLimit(54);

struct Program {
  const char* name;
  const char* file;
  const char* flags;  // Separated by spaces, or null.
};
constexpr Program kWaiter = {"Waiter", "waiter_engine", nullptr};
constexpr Program kFull = {"Waiter, full report", "waiter_engine", "--full"};
constexpr Program kSlack = {"Waiter, slack 1/8", "waiter_engine",
                            "--relative_slack=0.125"};
constexpr Program kPrecise = {"Waiter, precise", "waiter_engine", "--tick=0"};
constexpr Program kWakeUps = {"floor: wake-ups", "floors", nullptr};
constexpr Program kRecords = {"floor: with records", "floors", "--records"};
constexpr Program kHandOver = {"floor: records", "floors", nullptr};
constexpr Program kBatches = {"Waiter, batches of 64", "waiter_engine",
                              "--batch=64"};
constexpr Program kOneWorker = {"one worker", "waiter_engine", "--threads=1"};
constexpr Program kTwoWorkers = {"two workers", "waiter_engine", "--threads=2"};
constexpr Program kTwoEngines = {"floor: two engines", "waiter_engine",
                                 "--threads=2 --apart"};
constexpr Program kAsio = {"Asio callbacks", "asio_callbacks", nullptr};
constexpr Program kCoroutines = {"Asio coroutines", "asio_coroutines", nullptr};
constexpr Program kLibuv = {"libuv", "libuv", nullptr};
constexpr Program kLibevent = {"libevent", "libevent", nullptr};

// A run of one program in one mode. Its output has several figures.
struct Run {
  const Program* program;
  const char* mode;
  int waits;

  auto Key() const {
    return std::tuple(waits, std::string_view(mode), program);
  }
  bool operator<(const Run& other) const { return Key() < other.Key(); }
};

struct Figure {
  Run run;
  const char* metric;
};

// Limit of the costs of Waiter: a multiple of the peer's, or a value. A figure
// that is only shown has no limit.
struct Target {
  enum class Kind { kNone, kRatio, kValue };
  Kind kind = Kind::kNone;
  double limit = 0;
};
Target Ratio(double limit) { return {Target::Kind::kRatio, limit}; }
Target Value(double limit) { return {Target::Kind::kValue, limit}; }

struct Row {
  std::string name;
  const char* unit;
  Figure waiter;
  Figure peer;
  Target target;
  bool quick = false;
};

// Figures.

constexpr int kThousand = 1000;
constexpr int kMillion = kThousand * kThousand;

std::string Thousands(int waits) {
  return waits >= kMillion ? absl::StrCat(waits / kMillion, " M")
                           : absl::StrCat(waits / kThousand, " k");
}

Row CpuPerPoll(int waits, const Program& peer, Target target,
               bool quick = false, const Program& waiter = kWaiter) {
  constexpr const char* kMetric = "cpu_per_poll_ns";
  return {absl::StrCat("CPU per poll, ", Thousands(waits),
                       absl::StripPrefix(waiter.name, kWaiter.name)),
          "ns",
          {{&waiter, "run", waits}, kMetric},
          {{&peer, "run", waits}, kMetric},
          target,
          quick};
}

Row Lateness(const char* metric, const Program& waiter, const Program& peer,
             Target target) {
  constexpr int kWaits = 10 * kThousand;
  return {absl::StrCat("lateness ", absl::string_view(metric).substr(5, 3),
                       ", 10 k", absl::StripPrefix(waiter.name, kWaiter.name)),
          "us",
          {{&waiter, "lateness", kWaits}, metric},
          {{&peer, "lateness", kWaits}, metric},
          target,
          /*quick=*/true};
}

Row OfAllPending(std::string name, const char* unit, const char* metric,
                 const Program& waiter, Target target) {
  return {std::move(name),
          unit,
          {{&waiter, "cancel", kMillion}, metric},
          {{&kAsio, "cancel", kMillion}, metric},
          target,
          /*quick=*/true};
}

std::vector<Row> Rows() {
  std::vector<Row> rows = {
      CpuPerPoll(kMillion, kAsio, Ratio(0.15), true),
      {"CPU per poll, 1 M, full report",
       "ns",
       {{&kFull, "run", kMillion}, "cpu_per_poll_ns"},
       {{&kWaiter, "run", kMillion}, "cpu_per_poll_ns"},
       Ratio(1.25)},
      CpuPerPoll(100 * kThousand, kAsio, Ratio(0.12)),
      CpuPerPoll(100 * kThousand, kLibuv, Ratio(0.25)),
      CpuPerPoll(10 * kThousand, kAsio, Ratio(0.2), true),
      CpuPerPoll(10 * kThousand, kLibuv, Ratio(0.6), true),
      CpuPerPoll(kThousand, kAsio, Ratio(0.3), true),
      CpuPerPoll(kThousand, kLibuv, Ratio(0.6), true),
      CpuPerPoll(kThousand, kLibuv, Ratio(0.6), true, kSlack),
      {"CPU per poll, 10 M vs 1 M",
       "ns",
       {{&kWaiter, "run", 10 * kMillion}, "cpu_per_poll_ns"},
       {{&kWaiter, "run", kMillion}, "cpu_per_poll_ns"},
       Ratio(1.2)},
      {"CPU per poll, 1 M vs 100 k",
       "ns",
       {{&kWaiter, "run", kMillion}, "cpu_per_poll_ns"},
       {{&kWaiter, "run", 100 * kThousand}, "cpu_per_poll_ns"},
       Ratio(1)},
  };
  for (const int waits : {100 * kThousand, 10 * kThousand, kThousand}) {
    rows.push_back(CpuPerPoll(waits, kWakeUps, {}, /*quick=*/true));
  }
  for (const int waits :
       {kMillion, 100 * kThousand, 10 * kThousand, kThousand}) {
    rows.push_back(CpuPerPoll(waits, kRecords, {}, /*quick=*/true));
  }
  for (const int waits :
       {kMillion, 100 * kThousand, 10 * kThousand, kThousand}) {
    for (const Program* peer : {&kCoroutines, &kLibevent, &kLibuv}) {
      // libuv's other rows have targets.
      if (peer != &kLibuv || waits == kMillion) {
        rows.push_back(CpuPerPoll(waits, *peer, {}));
      }
    }
  }
  const std::vector<Row> others = {
      {"wall time per poll, 1 M, two workers",
       "ns",
       {{&kTwoWorkers, "wall", kMillion}, "wall_per_poll_ns"},
       {{&kOneWorker, "wall", kMillion}, "wall_per_poll_ns"},
       Ratio(0.55)},
      {"wall time per poll, 1 M, two workers",
       "ns",
       {{&kTwoWorkers, "wall", kMillion}, "wall_per_poll_ns"},
       {{&kTwoEngines, "wall", kMillion}, "wall_per_poll_ns"},
       {}},
      OfAllPending("memory per pending wait", "B", "bytes_per_wait", kWaiter,
                   Value(128)),
      OfAllPending("memory per pending wait, full report", "B",
                   "bytes_per_wait", kFull, Value(192)),
      {"allocations per wait, 1 M",
       "",
       {{&kWaiter, "run", kMillion}, "mallocs_per_wait"},
       {{&kAsio, "run", kMillion}, "mallocs_per_wait"},
       Value(0.02),
       true},
      {"allocations per wait, 10 k",
       "",
       {{&kWaiter, "run", 10 * kThousand}, "mallocs_per_wait"},
       {{&kAsio, "run", 10 * kThousand}, "mallocs_per_wait"},
       Value(0.02),
       true},
      {"allocations per later poll, 10 k",
       "",
       {{&kWaiter, "run", 10 * kThousand}, "mallocs_per_later_poll"},
       {{&kAsio, "run", 10 * kThousand}, "mallocs_per_later_poll"},
       Value(0.001),
       true},
      OfAllPending("start of a wait, 1 M", "ns", "start_ns", kWaiter,
                   Ratio(0.4)),
      {"start from another thread, its CPU",
       "ns",
       {{&kWaiter, "submit", kMillion}, "submit_ns"},
       {{&kAsio, "submit", kMillion}, "submit_ns"},
       Ratio(1.5)},
      {"start from another thread, all CPU",
       "ns",
       {{&kWaiter, "submit", kMillion}, "submit_total_ns"},
       {{&kAsio, "submit", kMillion}, "submit_total_ns"},
       Ratio(0.8)},
      {"start from another thread, its CPU",
       "ns",
       {{&kWaiter, "submit", kMillion}, "submit_ns"},
       {{&kHandOver, "submit", kMillion}, "submit_ns"},
       {}},
      {"start of 64 from another thread, its CPU",
       "ns",
       {{&kBatches, "submit", 64}, "submit_ns"},
       {{&kWaiter, "submit", 64}, "submit_ns"},
       Ratio(0.5),
       true},
      OfAllPending("cancel, 1 M in random order", "ns", "cancel_ns", kWaiter,
                   Ratio(0.13)),
      {"cancel, 1 M in random order",
       "ns",
       {{&kWaiter, "cancel", kMillion}, "cancel_ns"},
       {{&kHandOver, "cancel", kMillion}, "cancel_ns"},
       {},
       true},
      Lateness("late_p50_us", kWaiter, kLibuv, {}),
      Lateness("late_p99_us", kWaiter, kLibuv, Ratio(0.65)),
      Lateness("late_p50_us", kPrecise, kAsio, Value(80)),
      CpuPerPoll(10 * kThousand, kAsio, Ratio(0.6), true, kPrecise),
  };
  rows.insert(rows.end(), others.begin(), others.end());
  return rows;
}

// Measuring.

int LastCpu() {
  cpu_set_t cpus;
  CPU_ZERO(&cpus);
  sched_getaffinity(0, sizeof(cpus), &cpus);
  int last = 0;
  for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
    if (CPU_ISSET(static_cast<size_t>(cpu), &cpus)) last = cpu;
  }
  return last;
}

[[noreturn]] void Die(const std::string& why) {
  std::fprintf(stderr, "compare: %s\n", why.c_str());
  std::exit(1);  // NOLINT(concurrency-mt-unsafe): there is one thread.
}

using Figures = std::map<std::string, double, std::less<>>;

class Measurements {
 public:
  explicit Measurements(int cpu) : cpu_(cpu) {}

  // Runs `run` once more.
  void Repeat(const Run& run) {
    const auto start = std::chrono::steady_clock::now();
    for (const auto& [metric, value] : Measure(run, {})) {
      values_[run][metric].push_back(value);
    }
    took_[run] = std::chrono::steady_clock::now() - start;
  }

  // Returns the duration of the last run.
  Seconds Took(const Run& run) const {
    const auto found = took_.find(run);
    return found == took_.end() ? Seconds(0) : found->second;
  }

  // Returns the median, or nothing if there was no time for a run.
  std::optional<double> Median(const Figure& figure) {
    const auto found = values_.find(figure.run);
    if (found == values_.end()) return std::nullopt;
    std::vector<double>& values = found->second[figure.metric];
    if (values.empty()) {
      Die(absl::StrCat(figure.run.program->file, " --mode=", figure.run.mode,
                       " did not print ", figure.metric));
    }
    std::sort(values.begin(), values.end());
    const size_t middle = values.size() / 2;
    return values.size() % 2 != 0 ? values[middle]
                                  : (values[middle - 1] + values[middle]) / 2;
  }

  // Runs `run` under `wrapper`, a program and its arguments, to which it is
  // appended.
  Figures Measure(const Run& run, std::vector<std::string> wrapper) const {
    static const std::filesystem::path directory =
        std::filesystem::read_symlink("/proc/self/exe").parent_path();
    std::vector<std::string> command = std::move(wrapper);
    command.push_back(directory / run.program->file);
    command.push_back(absl::StrCat("--mode=", run.mode));
    command.push_back(absl::StrCat("--waits=", run.waits));
    if (run.program->flags != nullptr) {
      for (const absl::string_view flag :
           absl::StrSplit(run.program->flags, ' ')) {
        command.emplace_back(flag);
      }
    }
    const bool on_all_cpus = std::string_view(run.mode) == "wall";
    const absl::StatusOr<std::string> output =
        RunOnCpu(on_all_cpus ? std::nullopt : std::optional(cpu_), command);
    if (!output.ok()) Die(output.status().ToString());
    Figures figures;
    for (const absl::string_view line :
         absl::StrSplit(*output, '\n', absl::SkipEmpty())) {
      // Valgrind's lines begin with "==1234== " and separate with a colon.
      const std::vector<absl::string_view> words =
          absl::StrSplit(line, absl::ByAnyChar(" :"), absl::SkipEmpty());
      double value = 0;
      if (words.size() >= 2 && absl::SimpleAtod(words.back(), &value)) {
        figures[std::string(words[words.size() - 2])] = value;
      }
    }
    return figures;
  }

 private:
  int cpu_;
  std::map<Run, std::map<std::string, std::vector<double>, std::less<>>>
      values_;
  std::map<Run, Seconds> took_;
};

// Small runs need more repetitions: the cost of wake-ups, which varies most, is
// a larger part of them.
int Repetitions(const Run& run) {
  if (run.waits <= kThousand) return 15;
  if (run.waits > kMillion) return 3;
  return run.waits <= 10 * kThousand ? 9 : 5;
}

void MeasureAll(const std::vector<Row>& rows, std::optional<Seconds> limit,
                Measurements& measurements) {
  std::map<Run, int> left;
  for (const Row& row : rows) {
    for (const Figure& figure : {row.waiter, row.peer}) {
      left[figure.run] = Repetitions(figure.run);
    }
  }
  const auto start = std::chrono::steady_clock::now();
  for (bool all_done = false; !all_done;) {
    all_done = true;
    for (auto& [run, repetitions] : left) {
      if (repetitions == 0) continue;
      const Seconds end =
          std::chrono::steady_clock::now() - start + measurements.Took(run);
      if (limit.has_value() && end > *limit) {
        repetitions = 0;
        continue;
      }
      measurements.Repeat(run);
      --repetitions;
      all_done = false;
    }
    std::fputc('.', stderr);
  }
  std::fputc('\n', stderr);
}

// Printing.

// Amounts below this print as zero.
constexpr double kNothing = 0.00005;

std::string Amount(double value, absl::string_view unit) {
  if (value < kNothing) value = 0;
  const int digits = value >= 1000 ? 0 : value >= 1 || value == 0 ? 1 : 4;
  return absl::StrFormat("%.*f%s%s", digits, value, unit.empty() ? "" : " ",
                         unit);
}

void Print(const Row& row, Measurements& measurements, bool markdown) {
  const std::optional<double> measured = measurements.Median(row.waiter);
  const std::optional<double> compared = measurements.Median(row.peer);
  if (!measured.has_value() || !compared.has_value()) {
    std::printf(markdown ? "| %s | no time ||||||\n" : "%-38s    no time\n",
                row.name.c_str());
    return;
  }
  const double waiter = *measured;
  const double peer = *compared;
  const double ratio = waiter / peer;
  const std::string ratio_text =
      peer < kNothing ? "" : absl::StrFormat("%.3fx", ratio);
  std::string target;
  const char* verdict = "";
  switch (row.target.kind) {
    case Target::Kind::kNone:
      break;
    case Target::Kind::kRatio:
      target = absl::StrFormat("<= %.2fx", row.target.limit);
      verdict = ratio <= row.target.limit ? "ok" : "short";
      break;
    case Target::Kind::kValue:
      target = absl::StrFormat("<= %g%s%s", row.target.limit,
                               *row.unit != '\0' ? " " : "", row.unit);
      verdict = waiter <= row.target.limit ? "ok" : "short";
      break;
  }
  const char* format = markdown ? "| %s | %s | %s | %s | %s | %s | %s |\n"
                                : "%-38s %10s  %-15s %10s %9s  %-9s  %s\n";
  std::printf(format, row.name.c_str(), Amount(waiter, row.unit).c_str(),
              row.peer.run.program->name, Amount(peer, row.unit).c_str(),
              ratio_text.c_str(), target.c_str(), verdict);
}

// Prints figures that may explain a row.
void PrintMachine(int cpu) {
  std::string model;
  std::ifstream cpus("/proc/cpuinfo");
  for (std::string line; model.empty() && std::getline(cpus, line);) {
    const std::vector<std::string> field = absl::StrSplit(line, "\t: ");
    if (field.size() == 2 && field[0] == "model name") model = field[1];
  }
  double load = 0;
  getloadavg(&load, 1);
  std::printf("%s, on processor %d; load average %.1f\n\n", model.c_str(), cpu,
              load);
}

void PrintFigures(Measurements& measurements) {
  const bool quick = absl::GetFlag(FLAGS_quick);
  const bool markdown = absl::GetFlag(FLAGS_markdown);
  std::vector<Row> rows = Rows();
  if (quick) {
    rows.erase(std::remove_if(rows.begin(), rows.end(),
                              [](const Row& row) { return !row.quick; }),
               rows.end());
  }
  MeasureAll(rows, quick ? std::optional(kQuickLimit) : std::nullopt,
             measurements);
  if (markdown) {
    std::printf(
        "| | Waiter | peer | | ratio | target | |\n"
        "| --- | ---: | --- | ---: | ---: | --- | --- |\n");
  }
  for (const Row& row : rows) Print(row, measurements, markdown);
}

// The difference of two runs excludes the start of the program.
void PrintInstructions(const Measurements& measurements) {
  const std::vector<std::string> valgrind = {"valgrind", "--tool=callgrind",
                                             "--callgrind-out-file=/dev/null",
                                             "--log-fd=1"};
  for (const Program* program :
       {&kWaiter, &kFull, &kAsio, &kCoroutines, &kLibuv, &kLibevent}) {
    const Figures few =
        measurements.Measure({program, "run", 10 * kThousand}, valgrind);
    const Figures many =
        measurements.Measure({program, "run", 30 * kThousand}, valgrind);
    const auto difference = [&](std::string_view metric) {
      const auto less = few.find(metric);
      const auto more = many.find(metric);
      if (less == few.end() || more == many.end()) {
        Die(absl::StrCat("valgrind and ", program->file, " did not print ",
                         absl::string_view(metric)));
      }
      return more->second - less->second;
    };
    std::printf("%-38s %10.0f instructions per poll\n", program->name,
                difference("Collected") / difference("polls"));
    std::fflush(stdout);
  }
}

}  // namespace

int Compare() {
  const int flag = absl::GetFlag(FLAGS_cpu);
  if (flag < -1) Die("--cpu must be the number of a processor");
  const int cpu = flag == -1 ? LastCpu() : flag;
  Measurements measurements(cpu);
  PrintMachine(cpu);
  std::fflush(stdout);
  if (absl::GetFlag(FLAGS_instructions)) {
    PrintInstructions(measurements);
  } else {
    PrintFigures(measurements);
  }
  return 0;
}

}  // namespace waiter::bench

int main(int argc, char** argv) {
  absl::SetProgramUsageMessage(
      "Compares Waiter's engine with its peers. See bench/peers/README.md.");
  if (absl::ParseCommandLine(argc, argv).size() > 1) {
    std::fprintf(stderr, "compare takes flags only; see --help\n");
    return 2;
  }
  return waiter::bench::Compare();
}
