// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

#include "waiter/testing/eventually_message.h"

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "absl/time/time.h"
#include "waiter/backoff.h"
#include "waiter/internal/string_views.h"
#include "waiter/options.h"
#include "waiter/result.h"
#include "waiter/testing/eventually.h"
#include "waiter/testing/eventually_plan.h"
#include "waiter/testing/internal/eventually_subject.h"
#include "waiter/text.h"

namespace waiter::internal::eventually {
namespace {

constexpr size_t kLongestText = 4000;
constexpr size_t kLongestHistoryText = 100;

std::string PollsText(int64_t count) {
  return absl::StrCat(count, count == 1 ? " poll" : " polls");
}

// Returns `text`, without the middle if it is long.
std::string Shortened(const std::string& text) {
  if (text.size() <= kLongestText) return text;
  const size_t first = CutText(text, kLongestText / 2).size();
  const size_t last = CutText(text, text.size() - kLongestText / 2).size();
  return absl::StrCat(text.substr(0, first), "... ", last - first,
                      " bytes omitted ...", text.substr(last));
}

std::string OneLine(std::string_view text) {
  // The rest of a long text is not worth splitting.
  const std::string_view start = text.substr(0, 10 * kLongestHistoryText);
  std::string line =
      absl::StrJoin(absl::StrSplit(internal::ToAbsl(start),
                                   absl::ByAnyChar(" \n"), absl::SkipEmpty()),
                    " ");
  if (line.size() > kLongestHistoryText || start.size() < text.size()) {
    line = absl::StrCat(ToAbsl(CutText(line, kLongestHistoryText - 3)), "...");
  }
  return line;
}

std::string TextOf(const Look& look) {
  return look.details.empty() ? look.seen
                              : absl::StrCat(look.seen, ": ", look.details);
}

std::string Position(const PollHistory::Entry& entry) {
  return absl::StrCat("poll ", entry.attempt, ", at ", TimeText(entry.at));
}

std::string Describe(const PollHistory::Entry& entry) {
  std::string text =
      absl::StrCat(Shortened(entry.look.seen), " (", Position(entry), ")");
  if (!entry.look.details.empty()) {
    absl::StrAppend(&text, ":\n      ",
                    absl::StrReplaceAll(Shortened(entry.look.details),
                                        {{"\n", "\n      "}}));
  }
  return text;
}

// Returns " for 2s", " in 3 polls in a row", both, or nothing.
std::string Holding(const WaitOptions& wait) {
  std::string text;
  if (wait.confirm.hold_for > absl::ZeroDuration()) {
    absl::StrAppend(&text, " for ", TimeText(wait.confirm.hold_for));
  }
  if (wait.confirm.successes > 1) {
    absl::StrAppend(&text, text.empty() ? "" : " and", " in ",
                    wait.confirm.successes, " polls in a row");
  }
  return text;
}

// Returns the message of the wait without its name, which the headline has.
absl::string_view WithoutName(const Plan& plan, const WaitReport& report) {
  return absl::StripPrefix(report.status.message(),
                           absl::StrCat(plan.wait.name, ": "));
}

std::string EventuallyHeadline(const Site& site, const Plan& plan,
                               const WaitReport& report,
                               const PollHistory& history) {
  switch (report.reason) {
    case StopReason::kDeadline:
      if (plan.wait.polls.strict_deadline) break;
      return absl::StrCat("did not ",
                          site.kind == Kind::kPasses ? "pass" : "match",
                          Holding(plan.wait), " within ", TimeText(plan.limit));
    case StopReason::kFailed:
      return absl::StrCat("gave up at ", TimeText(history.last().at), ": ",
                          history.last().look.hopeless.value_or(""));
    default:
      break;
  }
  return absl::StrCat("gave up: ", WithoutName(plan, report));
}

std::string ConsistentlyHeadline(const Site& site, const Plan& plan,
                                 const WaitReport& report,
                                 const PollHistory& history) {
  const bool never = site.kind == Kind::kNever;
  if (report.reason != StopReason::kFailed) {
    return absl::StrCat(never ? "did not match so far, but must not match"
                              : "matched so far, but must match",
                        Holding(plan.wait), ": ", WithoutName(plan, report));
  }
  const PollHistory::Entry& last = history.last();
  if (last.look.hopeless.has_value()) return *last.look.hopeless;
  const char* const rule = never ? ", but must not match" : ", but must hold";
  if (last.attempt == 1) {
    return absl::StrCat(never ? "matched" : "did not hold",
                        " at the first poll", rule, Holding(plan.wait));
  }
  return absl::StrCat(never ? "matched after " : "held for ", TimeText(last.at),
                      " (", PollsText(last.attempt - 1),
                      never ? " without a match)" : ")", rule,
                      Holding(plan.wait));
}

std::string DescribeDelays(const EventuallyOptions& options,
                           const WaitOptions& wait) {
  if (options.delay_source != nullptr) return "by options.delay_source";
  if (wait.delay_source != nullptr) return "by options.policy.delay_source";
  const BackoffOptions& backoff = wait.backoff;
  std::string text = absl::FormatDuration(backoff.initial_delay);
  if (backoff.multiplier > 1 && backoff.initial_delay < backoff.max_delay) {
    absl::StrAppend(&text, ", x", backoff.multiplier, ", up to ",
                    absl::FormatDuration(backoff.max_delay));
  }
  const Jitter& jitter = backoff.jitter;
  if (jitter.kind() == Jitter::Kind::kDecorrelated) {
    absl::StrAppend(&text, ", decorrelated jitter");
  } else if (jitter.below() > 0 || jitter.above() > 0) {
    absl::StrAppend(&text, ", jitter -", jitter.below() * 100, "% +",
                    jitter.above() * 100, "%");
  } else {
    absl::StrAppend(&text, ", no jitter");
  }
  if (wait.hooks.seed.has_value()) {
    absl::StrAppend(&text, ", seed ", *wait.hooks.seed);
  }
  return text;
}

std::string DescribePolls(const Plan& plan, const WaitReport& report) {
  std::string text =
      absl::StrCat(report.attempts, " in ", TimeText(report.elapsed));
  if (plan.limit < absl::InfiniteDuration()) {
    absl::StrAppend(&text, ", limit ", TimeText(plan.limit));
    if (!plan.limit_reason.empty()) {
      absl::StrAppend(&text, " (", TimeText(plan.requested_limit),
                      " requested; ", plan.limit_reason, ")");
    }
    if (report.longest_poll > plan.limit / 2 && report.attempts > 0 &&
        plan.limit > absl::ZeroDuration()) {
      absl::StrAppend(&text, ", one of which took ",
                      TimeText(report.longest_poll));
    }
  }
  absl::StrAppend(&text, ", ", plan.simulated ? "simulated" : "real", " clock");
  if (plan.stopped > absl::ZeroDuration()) {
    absl::StrAppend(&text, ", not counting ", TimeText(plan.stopped),
                    " in which the program was stopped");
  }
  return text;
}

}  // namespace

PollHistory::Run* PollHistory::Current() {
  if (!last_runs_.empty()) return &last_runs_.back();
  return first_runs_.empty() ? nullptr : &first_runs_.back();
}

void PollHistory::Add(Entry entry) {
  std::string text = TextOf(entry.look);
  Run* const current = Current();
  if (current != nullptr && current->text == text) {
    ++current->polls;
  } else if (Run run = {std::move(text), 1, entry.at};
             first_runs_.size() < static_cast<size_t>(first_lines_)) {
    first_runs_.push_back(std::move(run));
  } else {
    last_runs_.push_back(std::move(run));
  }
  if (last_runs_.size() > static_cast<size_t>(last_lines_)) {
    ++dropped_runs_;
    dropped_polls_ += last_runs_.front().polls;
    last_runs_.pop_front();
  }
  last_ = std::move(entry);
  if (last_.look.error.ok() && !last_.look.threw && !last_.look.answer) {
    last_good_ = last_;
  }
}

std::vector<std::string> PollHistory::Lines() const {
  std::vector<std::string> lines;
  if (first_lines_ <= 0) return lines;
  const auto add = [&](const Run& run) {
    lines.push_back(absl::StrCat(run.polls, "x from ", TimeText(run.since),
                                 ": ", OneLine(run.text)));
  };
  std::for_each(first_runs_.begin(), first_runs_.end(), add);
  if (dropped_runs_ > 0) {
    lines.push_back(absl::StrCat("... ", dropped_runs_, " lines omitted (",
                                 PollsText(dropped_polls_), ") ..."));
  }
  std::for_each(last_runs_.begin(), last_runs_.end(), add);
  return lines;
}

std::string ShortNameOf(const Site& site, const EventuallyOptions& options) {
  if (site.expression == nullptr) {
    return options.name.empty() ? "the value" : options.name;
  }
  return absl::StrCat(options.name, options.name.empty() ? "" : ": ",
                      site.expression);
}

std::string NameOf(const Site& site, const EventuallyOptions& options) {
  if (site.expression != nullptr) return ShortNameOf(site, options);
  return absl::StrCat(site.file, ":", site.line, ": ",
                      ShortNameOf(site, options));
}

std::string FailureText(const Site& site, const EventuallyOptions& options,
                        const Plan& plan, const Subject& subject,
                        const WaitReport& report, const PollHistory& history) {
  std::string text = absl::StrCat(
      NameOf(site, options), " ",
      (MustHold(site.kind) ? ConsistentlyHeadline : EventuallyHeadline)(
          site, plan, report, history));
  absl::StrAppend(
      &text, site.kind == Kind::kNever ? "\n     Never: " : "\n  Expected: ",
      Shortened(subject.Expected()),
      "\n    Actual: ", Describe(history.last()));
  if (history.last_good().has_value() &&
      history.last_good()->attempt != history.last().attempt) {
    absl::StrAppend(&text, "\n Last good: ", Describe(*history.last_good()));
  }
  absl::StrAppend(&text, "\n     Polls: ", DescribePolls(plan, report),
                  "\n    Delays: ", DescribeDelays(options, plan.wait));
  const std::vector<std::string> failures = subject.FailureCounts();
  if (report.attempts > 1 && !failures.empty()) {
    absl::StrAppend(
        &text, "\n    Failed: ", absl::StrJoin(failures, "\n            "));
  }
  const std::vector<std::string> lines = history.Lines();
  if (report.attempts > 1 && !lines.empty()) {
    absl::StrAppend(&text,
                    "\n   History: ", absl::StrJoin(lines, "\n            "));
  }
  return text;
}

std::string ProgressText(const Site& site, const EventuallyOptions& options,
                         const Plan& plan, absl::Duration elapsed,
                         const PollHistory& history) {
  const PollHistory::Entry& last = history.last();
  std::string text = "[ WAITING  ] ";
  if (site.expression != nullptr) {
    absl::StrAppend(&text, site.file, ":", site.line, ": ");
  }
  absl::StrAppend(&text, NameOf(site, options),
                  MustHold(site.kind)          ? " has held for "
                  : last.look.matched          ? " matches, but not long "
                                                 "enough, after "
                  : site.kind == Kind::kPasses ? " has not passed after "
                                               : " has not matched after ",
                  TimeText(absl::Trunc(elapsed, absl::Milliseconds(100))));
  const absl::Duration whole =
      MustHold(site.kind) ? plan.wait.confirm.hold_for : plan.limit;
  if (whole > absl::ZeroDuration() && whole < absl::InfiniteDuration()) {
    absl::StrAppend(&text, " of ", TimeText(whole));
  }
  absl::StrAppend(&text, " and ", PollsText(last.attempt), ": ",
                  OneLine(TextOf(last.look)), "\n");
  return text;
}

std::string MisuseText(const Site& site, const EventuallyOptions& options,
                       const absl::Status& status) {
  return absl::StrCat(NameOf(site, options),
                      " was not polled: ", status.message());
}

}  // namespace waiter::internal::eventually
