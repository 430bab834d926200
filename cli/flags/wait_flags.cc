// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

#include "cli/flags/wait_flags.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "cli/flags/flags.h"
#include "cli/flags/policy_flags.h"
#include "cli/run/learned_name.h"
#include "cli/run/shared_rate.h"
#include "cli/run/wait_run.h"
#include "cli/sim/duration_distribution.h"
#include "cli/sim/trade_off.h"
#include "cli/text/duration_text.h"
#include "waiter/options.h"

namespace waiter::cli {
namespace {

constexpr int kMostCounted = std::numeric_limits<int>::max();

// A user who set a limit does not want to wait for `--probe-timeout` on top of
// it.
constexpr absl::Duration kFinalPollTimeout = absl::Seconds(1);

absl::StatusOr<double> ReadPollCost(std::string_view text) {
  const absl::StatusOr<absl::Duration> cost = ParseDurationText(text);
  if (!cost.ok()) return cost.status();
  if (*cost == absl::ZeroDuration()) {
    return absl::InvalidArgumentError("it must be above zero");
  }
  return absl::ToDoubleSeconds(*cost);
}

// Refuses a confirmation that does not fit into the limits.
absl::Status CheckCanSucceed(const Flags& flags, const WaitOptions& policy) {
  const bool holds = policy.confirm.hold_for > absl::ZeroDuration();
  const int64_t polls =
      std::max<int64_t>(policy.confirm.successes, holds ? 2 : 1);
  const std::string_view cause = holds && policy.confirm.successes < 2
                                     ? std::string_view("hold")
                                     : std::string_view("successes");
  if (policy.confirm.hold_for > *policy.timeout) {
    return absl::InvalidArgumentError(absl::StrCat(
        flags.Label("hold"), "=", absl::FormatDuration(policy.confirm.hold_for),
        ": longer than the whole wait may take, ",
        absl::FormatDuration(*policy.timeout),
        "; shorten it, or raise --timeout"));
  }
  if (polls > 1 && *policy.timeout <= absl::ZeroDuration()) {
    return absl::InvalidArgumentError(
        absl::StrCat(flags.Label(cause), ": it needs ", polls,
                     " polls; --timeout=0 polls once"));
  }
  if (polls > policy.max_attempts.value_or(polls)) {
    return absl::InvalidArgumentError(absl::StrCat(
        flags.Label(cause), ": it needs ", polls, " polls; ",
        flags.Label("max-attempts"), " allows ", *policy.max_attempts));
  }
  return absl::OkStatus();
}

}  // namespace

void WaitFlags::AddTo(Flags& flags) {
  policy_.AddTimeoutTo(flags);
  flags.AddSwitch("any", "one ready target is enough", any_);
  flags.Add("at-least", "2", "this many ready targets are enough", at_least_, 1,
            kMostCounted);
  flags.AddSwitch("gone", "wait until targets are gone; errors do not count",
                  gone_);
  flags.Add("hold", "5s", "how long a target must stay ready", hold_);
  flags.Add("successes", "3", "polls in a row that must find a target ready",
            successes_, 1, kMostCounted);
  flags.AddSwitch("run-anyway", "run PROGRAM even if the wait failed",
                  run_anyway_);
}

void WaitFlags::AddTimesTo(Flags& flags) {
  policy_.AddDelaysTo(flags, " to 1s or 5% of elapsed");
  flags.Add("expect", "60s", "usual time until ready; few polls before then",
            expected_);
  flags.Add("probe-timeout", "10s", "time limit of each poll", probe_timeout_);
  flags.AllowLabels("probe-timeout", [this](std::string_view label,
                                            std::string_view text) {
    const absl::StatusOr<absl::Duration> timeout = ParseDurationText(text);
    if (!timeout.ok()) return timeout.status();
    if (*timeout == absl::ZeroDuration()) {
      return absl::InvalidArgumentError("it must be above zero, such as 10s");
    }
    probe_timeouts_[std::string(label)] = *timeout;
    return absl::OkStatus();
  });
  flags.AddSwitch("all", "all targets must be ready; this is the default",
                  all_);
  flags.AddSwitch("at-once", "all targets must be ready at the same time",
                  at_once_);
  flags.Add("max-errors", "5",
            "errors to tolerate per target; default unlimited", max_errors_, 0,
            kMostCounted);
  flags.Add("absent-timeout", "30s",
            "time limit for targets that no poll has found", absent_timeout_);
  flags.Add("retry-after", "ignore",
            "honor or ignore the delay that a target asks for",
            [this](std::string_view text) {
              if (text != "honor" && text != "ignore") {
                return absl::InvalidArgumentError("it must be honor or ignore");
              }
              ignore_retry_after_ = text == "ignore";
              return absl::OkStatus();
            });
  flags.Add("shared-rate", "URL",
            "rate of many processes: redis://HOST/NAME?rate=20",
            Flags::Into(ParseSharedRate, shared_rate_));
  flags.HideValues("shared-rate");
  flags.Add("state", "FILE", "where to save the run, to resume if it is killed",
            state_file_);
  flags.Add("slice", "25s",
            "with --state: time limit of one call, exit code 75", slice_);
  flags.Add("learn", "FILE", "choose delays by past waits in FILE[:OPERATION]",
            Flags::Into(ParseLearnedName, learn_));
  flags.Add(
      "poll-cost", "2s", "with --learn: one poll costs as much as this delay",
      Flags::Into(ReadPollCost, learned_.seconds_of_delay_worth_one_poll));
  flags.Add("seed", "1", "seed of the jitter; default random", seed_);
  flags.Add("kill-after", "2s",
            "time from SIGTERM to SIGKILL for a hanging probe", kill_after_);
  flags.Add("timeout-code", "124", "exit code when the limit is reached",
            timeout_code_, 0, 255);
  flags.Add("failure-code", "1", "exit code when a target has failed",
            failure_code_, 0, 255);
  flags.AddAlternatives({"all", "any", "at-least"});
  flags.AddAlternatives({"intervals", "learn"}, ", which are used unchanged");
  flags.AddAlternatives({"state", "at-once"},
                        ", which does not poll ready targets again");
  for (const char* delays :
       {"every", "backoff", "intervals", "jitter", "initial-delay"}) {
    flags.AddAlternatives({"expect", delays}, ", which chooses the delays");
  }
}

absl::StatusOr<WaitRunOptions> WaitFlags::Options(const Flags& flags,
                                                  size_t targets) const {
  const absl::StatusOr<WaitOptions> policy = policy_.Options(flags);
  if (!policy.ok()) return policy.status();
  const absl::StatusOr<size_t> needed = Needed(flags, targets);
  if (!needed.ok()) return needed.status();
  if (probe_timeout_ == absl::ZeroDuration()) {
    return absl::InvalidArgumentError(
        absl::StrCat(flags.Label("probe-timeout"),
                     "=0: it must be above zero, such as 10s"));
  }
  // A variable is not an error, as it may be meant for other command lines.
  if (flags.Given("poll-cost") && !flags.FromVariable("poll-cost") &&
      !learn_.has_value()) {
    return absl::InvalidArgumentError("--poll-cost: it needs --learn");
  }

  WaitRunOptions options = {
      .policy = *policy,
      .needed = *needed,
      .rules = {.gone = gone_,
                .absent_timeout = absent_timeout_,
                .ignore_retry_after = ignore_retry_after_},
      .at_once = at_once_,
      .timeout_code = timeout_code_,
      .failure_code = failure_code_};
  if (flags.Given("max-errors")) options.max_errors = max_errors_;
  if (!PolicyFlags::ChoosesDelays(flags) && !flags.Given("expect")) {
    options.policy.delay_source = PolicyFlags::DefaultPace();
  }
  if (flags.Given("seed")) options.policy.hooks.seed = seed_;
  options.policy.confirm.hold_for = hold_;
  options.policy.confirm.successes = successes_;
  options.policy.poll_timeout = probe_timeout_;
  if (absl::Status status = ApplySlice(flags, options); !status.ok()) {
    return status;
  }
  // With a limit of zero, the only poll has the full time of a poll.
  if (*options.policy.timeout > absl::ZeroDuration()) {
    options.policy.polls.last_timeout = kFinalPollTimeout;
  }
  options.policy.errors.retry_after.past_deadline =
      RetryAfterOptions::PastDeadline::kPollAtDeadline;
  if (absl::Status status = ApplyExpectation(flags, options.policy);
      !status.ok()) {
    return status;
  }
  if (absl::Status status = Validate(options.policy); !status.ok()) {
    return status;
  }
  if (absl::Status status = CheckCanSucceed(flags, options.policy);
      !status.ok()) {
    return status;
  }
  return options;
}

absl::StatusOr<std::optional<absl::Duration>> WaitFlags::ProbeTimeoutOf(
    const std::string& label, absl::Duration hold) const {
  const auto found = probe_timeouts_.find(label);
  const bool has_own = found != probe_timeouts_.end();
  if (!has_own && hold == absl::ZeroDuration()) return std::nullopt;
  const absl::Duration timeout =
      (has_own ? found->second : probe_timeout_) + hold;
  if (slice_ > absl::ZeroDuration() && timeout >= slice_) {
    return absl::InvalidArgumentError(absl::StrCat(
        "a poll of ", label, " may take ", absl::FormatDuration(timeout),
        ", longer than --slice=", absl::FormatDuration(slice_),
        "; raise --slice"));
  }
  return timeout;
}

absl::Status WaitFlags::ApplySlice(const Flags& flags,
                                   WaitRunOptions& options) const {
  if (!flags.Given("slice")) return absl::OkStatus();
  const std::string label = flags.Label("slice");
  if (!flags.Given("state")) {
    return absl::InvalidArgumentError(
        absl::StrCat(label, ": it needs --state=FILE, to resume from there"));
  }
  if (slice_ < absl::Milliseconds(100)) {
    return absl::InvalidArgumentError(
        absl::StrCat(label, ": it must be at least 100ms"));
  }
  options.slice = slice_;
  absl::Duration& poll = options.policy.poll_timeout;
  if (!flags.Given("probe-timeout")) poll = std::min(poll, slice_ / 2);
  if (poll < slice_) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(
      label, "=", absl::FormatDuration(slice_), ": it must be longer than ",
      flags.Label("probe-timeout"), "=", absl::FormatDuration(poll),
      ", so that a poll can end"));
}

absl::StatusOr<size_t> WaitFlags::Needed(const Flags& flags,
                                         size_t targets) const {
  if (any_) return size_t{1};
  if (!flags.Given("at-least")) return targets;
  const auto needed = static_cast<size_t>(at_least_);
  if (needed > targets) {
    return absl::InvalidArgumentError(absl::StrCat(
        flags.Label("at-least"), "=", needed,
        targets == 1 ? ": there is only 1 target"
                     : absl::StrCat(": there are only ", targets, " targets")));
  }
  return needed;
}

absl::Status WaitFlags::ApplyExpectation(const Flags& flags,
                                         WaitOptions& policy) const {
  if (!flags.Given("expect")) return absl::OkStatus();
  if (expected_ < absl::Milliseconds(1)) {
    return absl::InvalidArgumentError(
        absl::StrCat(flags.Label("expect"), ": it must be at least 1ms"));
  }
  const sim::NamedPolicy proposal =
      sim::ProposePolicy(sim::DurationDistribution::About(expected_),
                         {.timeout = *policy.timeout});
  policy.polls.first_delay = proposal.policy.polls.first_delay;
  policy.backoff = proposal.policy.backoff;
  return absl::OkStatus();
}

}  // namespace waiter::cli
