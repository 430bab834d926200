// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

#include "cli/commands/report_command.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <limits>
#include <optional>
#include <ostream>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/time/time.h"
#include "cli/charts/chart.h"
#include "cli/commands/chart_output.h"
#include "cli/commands/learned_saving.h"
#include "cli/commands/read_input.h"
#include "cli/commands/subcommand.h"
#include "cli/flags/flags.h"
#include "cli/output/logged_waits.h"
#include "cli/output/run_log.h"
#include "cli/run/exit_code.h"
#include "cli/sim/quantile.h"
#include "cli/text/printable.h"
#include "cli/text/time_text.h"
#include "waiter/poll.h"

namespace waiter::cli {
namespace {

constexpr std::string_view kReportCommand = "waiter report";
constexpr size_t kColumns = 60;

// The polls of one target.
struct Lane {
  std::string target;
  std::vector<const LoggedPoll*> polls;
};

std::vector<Lane> LanesOf(const RunLog& log) {
  std::vector<Lane> lanes;
  for (const LoggedPoll& poll : log.polls) {
    auto lane = std::find_if(
        lanes.begin(), lanes.end(),
        [&](const Lane& known) { return known.target == poll.target; });
    if (lane == lanes.end()) {
      lanes.push_back({.target = poll.target, .polls = {}});
      lane = std::prev(lanes.end());
    }
    lane->polls.push_back(&poll);
  }
  return lanes;
}

char Letter(PollStatus status) {
  switch (status) {
    case PollStatus::kSuccess:
      return 'S';
    case PollStatus::kNotReady:
      return '.';
    case PollStatus::kThrottled:
      return 't';
    case PollStatus::kServerError:
      return 'e';
    case PollStatus::kFailed:
      break;
  }
  return 'F';
}

// Returns a timeline of polls. Each column has the letter of the worst class
// that was found in its time.
std::string LaneText(const Lane& lane, absl::Duration end) {
  std::string text(kColumns, ' ');
  std::vector<PollStatus> worst(kColumns, PollStatus::kSuccess);
  for (const LoggedPoll* const poll : lane.polls) {
    const double share =
        end > absl::ZeroDuration() ? absl::FDivDuration(poll->elapsed, end) : 0;
    const auto column =
        std::min(static_cast<size_t>(share * kColumns), kColumns - 1);
    worst[column] = std::max(worst[column], poll->status);
    text[column] = Letter(worst[column]);
  }
  return text;
}

std::string Counts(const Lane& lane) {
  std::array<int64_t, 5> counts = {};
  for (const LoggedPoll* const poll : lane.polls) {
    ++counts[static_cast<size_t>(poll->status)];
  }
  std::vector<std::string> parts;
  for (size_t i = 0; i < counts.size(); ++i) {
    if (counts[i] == 0) continue;
    parts.push_back(
        absl::StrCat(counts[i], " ", LogClass(static_cast<PollStatus>(i))));
  }
  return absl::StrJoin(parts, ", ");
}

std::string Latencies(const Lane& lane) {
  std::vector<absl::Duration> latencies;
  for (const LoggedPoll* const poll : lane.polls) {
    if (poll->latency.has_value()) latencies.push_back(*poll->latency);
  }
  if (latencies.empty()) return "";
  std::sort(latencies.begin(), latencies.end());
  return absl::StrCat("; polls took ", TimeText(sim::Quantile(latencies, 0.5)),
                      " at the median, and at most ",
                      TimeText(latencies.back()));
}

void Print(const RunLog& log, std::ostream& out) {
  if (log.exit_code.has_value()) {
    out << "exit code " << *log.exit_code
        << (log.reason.empty() ? "" : ", " + Printable(log.reason));
  } else {
    out << "no summary: the run was cut off";
  }
  out << ", after " << TimeText(log.elapsed) << "\n";
  for (const Lane& lane : LanesOf(log)) {
    const LoggedPoll& last = *lane.polls.back();
    out << "\n"
        << Printable(lane.target) << ": " << lane.polls.size()
        << (lane.polls.size() == 1 ? " poll (" : " polls (") << Counts(lane)
        << ")" << Latencies(lane) << "\n  |" << LaneText(lane, log.elapsed)
        << "|\n  last at " << TimeText(last.elapsed) << ": "
        << LogClass(last.status) << (last.detail.empty() ? "" : " ")
        << Printable(last.detail) << "\n";
  }
  out << "\n. not ready  t throttled  e server error  S success  F failed\n";
}

// The color of a poll lasts until the next poll.
charts::Chart ReportChart(const RunLog& log) {
  charts::Chart chart("report");
  for (const Lane& lane : LanesOf(log)) {
    for (size_t i = 0; i < lane.polls.size(); ++i) {
      const LoggedPoll& poll = *lane.polls[i];
      const bool is_last = i + 1 == lane.polls.size();
      const bool is_final = poll.status == PollStatus::kSuccess ||
                            poll.status == PollStatus::kFailed;
      const absl::Duration until = !is_last   ? lane.polls[i + 1]->elapsed
                                   : is_final ? poll.elapsed
                                              : log.elapsed;
      chart.Add("polls",
                {{"target", lane.target},
                 {"attempt", poll.attempt},
                 {"t", absl::ToDoubleSeconds(poll.elapsed)},
                 {"until", absl::ToDoubleSeconds(until)},
                 {"class", LogClass(poll.status)},
                 {"detail", poll.detail},
                 {"latency", poll.latency.has_value()
                                 ? absl::ToDoubleMilliseconds(*poll.latency)
                                 : std::numeric_limits<double>::quiet_NaN()}});
    }
  }
  return chart;
}

Flags MakeFlags(ChartOutput& charts) {
  Flags flags(std::string(kReportCommand), "FILE.jsonl [FLAG...]",
              "Shows what happened in a run logged by --log-json; - reads "
              "standard input.");
  charts.AddTo(flags, {"report"});
  return flags;
}

absl::Status RunReport(const Invocation& invocation) {
  ChartOutput charts;
  Flags flags = MakeFlags(charts);
  const absl::StatusOr<std::vector<std::string>> files =
      flags.Parse(invocation.args, invocation.environment);
  if (flags.ShowHelp(invocation.out)) return absl::OkStatus();
  if (!files.ok()) return files.status();
  if (files->size() != 1) {
    return absl::InvalidArgumentError(
        files->empty() ? "give one file, such as run.jsonl"
                       : absl::StrCat((*files)[1], ": give only one file"));
  }
  const std::string& name = files->front();
  const absl::StatusOr<std::string> text = ReadInput(name);
  if (!text.ok()) return text.status();
  const absl::StatusOr<RunLog> log = ParseRunLog(*text, name);
  if (!log.ok()) return log.status();
  if (log->polls.empty()) {
    return absl::InvalidArgumentError(
        absl::StrCat(name, ": the log has no polls"));
  }
  Print(*log, invocation.out);
  const std::optional<LearnedSaving> saving = SavingOf(WaitsOf(*log));
  if (saving.has_value()) invocation.out << "\n" << SavingText(*saving);
  return charts.wanted() ? charts.Write({ReportChart(*log)}, flags, "")
                         : absl::OkStatus();
}

}  // namespace

std::vector<std::string> ReportCommand::FlagNames() const {
  ChartOutput charts;
  return MakeFlags(charts).Names();
}

int ReportCommand::Run(const Invocation& invocation) const {
  return ExitCode(RunReport(invocation), kReportCommand, invocation.err);
}

}  // namespace waiter::cli
