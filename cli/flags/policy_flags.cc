// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

#include "cli/flags/policy_flags.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/random/bit_gen_ref.h"
#include "absl/random/distributions.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "absl/time/time.h"
#include "cli/flags/flags.h"
#include "cli/text/duration_text.h"
#include "waiter/backoff.h"
#include "waiter/delay_source.h"
#include "waiter/options.h"
#include "waiter/poll.h"

namespace waiter::cli {
namespace {

// Shorter delays count as this long: without any delay, a poll that takes
// microseconds would be repeated for the whole time of the wait.
constexpr absl::Duration kLeastDelay = absl::Milliseconds(10);

constexpr absl::Duration kMinPace = absl::Seconds(1);
constexpr absl::Duration kMaxPace = absl::Seconds(8);

absl::StatusOr<absl::Duration> ReadDelay(std::string_view text) {
  const absl::StatusOr<absl::Duration> delay = ParseDurationText(text);
  if (!delay.ok()) return delay.status();
  return std::max(*delay, kLeastDelay);
}

absl::Status ReadBackoff(std::string_view text, BackoffOptions& backoff) {
  const std::vector<std::string_view> parts = absl::StrSplit(text, ',');
  if (parts.size() != 3) {
    return absl::InvalidArgumentError(
        "it needs three parts, INITIAL,FACTOR,CAP, such as 1s,1.5,15s");
  }
  const absl::StatusOr<absl::Duration> initial = ReadDelay(parts[0]);
  if (!initial.ok()) return initial.status();
  double factor = 0;
  if (!absl::SimpleAtod(parts[1], &factor)) {
    return absl::InvalidArgumentError(
        absl::StrCat("the factor '", parts[1], "' is not a number"));
  }
  const absl::StatusOr<absl::Duration> cap =
      ParseDurationText(parts[2], /*may_be_infinite=*/true);
  if (!cap.ok()) return cap.status();
  backoff.initial_delay = *initial;
  backoff.multiplier = factor;
  backoff.max_delay = std::max(*cap, kLeastDelay);
  return Validate(backoff, "backoff");
}

absl::Status ReadJitter(std::string_view text, Jitter& jitter) {
  if (text == "none") {
    jitter = Jitter::None();
  } else if (text == "full") {
    jitter = Jitter::Full();
  } else if (text == "equal") {
    jitter = Jitter::Equal();
  } else if (text == "decorrelated") {
    jitter = Jitter::Decorrelated();
  } else {
    double percent = 0;
    // The comparison fails for a number that is NaN.
    if (!absl::SimpleAtod(absl::StripSuffix(text, "%"), &percent) ||
        !(percent >= 0 && percent <= 100)) {
      return absl::InvalidArgumentError(
          "it must be none, full, equal, decorrelated, or a percentage from "
          "0 to 100");
    }
    jitter = Jitter::Proportional(percent / 100);
  }
  return absl::OkStatus();
}

// Uses the same delays after errors, with full jitter, and delays twice as long
// after throttling.
void ApplyDelays(const BackoffOptions& delays, WaitOptions& options) {
  options.backoff = delays;
  options.errors.server_error_backoff = delays;
  options.errors.server_error_backoff.jitter = Jitter::Full();
  options.errors.throttled_backoff = options.errors.server_error_backoff;
  options.errors.throttled_backoff.initial_delay *= 2;
  options.errors.throttled_backoff.max_delay *= 2;
}

std::optional<absl::Duration> Pace(const DelayRequest& request,
                                   absl::BitGenRef gen) {
  const absl::Duration computed = request.computed();
  if (request.found.status() != PollStatus::kNotReady) return computed;
  const absl::Duration limit =
      std::clamp(request.elapsed / 20, kMinPace, kMaxPace);
  if (computed <= limit) return computed;
  // Otherwise many processes would poll at the same time.
  return std::max(request.retry_after, absl::Uniform(gen, 0.9, 1.0) * limit);
}

std::string JitterText(Jitter jitter) {
  if (jitter.kind() == Jitter::Kind::kDecorrelated) return "decorrelated";
  if (jitter.above() == 0) {
    if (jitter.below() == 0) return "none";
    if (jitter.below() == 1) return "full";
    if (jitter.below() == 0.5) return "equal";
  }
  return absl::StrCat(100 * jitter.above(), "%");
}

}  // namespace

void PolicyFlags::AddTo(Flags& flags) {
  AddTimeoutTo(flags);
  AddDelaysTo(flags);
}

void PolicyFlags::AddTimeoutTo(Flags& flags) {
  flags.Add("timeout", "5m",
            "when to give up; 0 polls once, inf never gives up",
            Flags::Into(
                [](std::string_view text) {
                  return ParseDurationText(text, /*may_be_infinite=*/true);
                },
                options_.timeout));
}

void PolicyFlags::AddDelaysTo(Flags& flags, std::string_view limit) {
  flags.Add("every", "1s", absl::StrCat("fixed delay; default grows", limit),
            [this](std::string_view text) {
              const absl::StatusOr<absl::Duration> delay = ReadDelay(text);
              if (!delay.ok()) return delay.status();
              delays_ = {.initial_delay = *delay,
                         .max_delay = *delay,
                         .multiplier = 1};
              return absl::OkStatus();
            });
  flags.Add(
      "backoff", "1s,1.5,15s", "growing delays: first, factor, cap",
      [this](std::string_view text) { return ReadBackoff(text, delays_); });
  flags.Add("intervals", "1s,2s,5s", "list of delays; the last one repeats",
            [this](std::string_view text) {
              for (const std::string_view part : absl::StrSplit(text, ',')) {
                const absl::StatusOr<absl::Duration> delay = ReadDelay(part);
                if (!delay.ok()) return delay.status();
                intervals_.emplace_back(*delay);
              }
              return absl::OkStatus();
            });
  flags.Add(
      "jitter", "20%", "percentage, or none, full, equal, decorrelated",
      [this](std::string_view text) { return ReadJitter(text, jitter_); });
  flags.Add("initial-delay", "10s", "delay before the first poll",
            options_.polls.first_delay);
  flags.AddAlternatives({"every", "backoff", "intervals"});
  flags.AddAlternatives({"intervals", "jitter"}, ", which are used unchanged");
  flags.Add("max-attempts", "20", "maximum number of polls",
            [this](std::string_view text) {
              int64_t attempts = 0;
              if (!absl::SimpleAtoi(text, &attempts) || attempts < 1) {
                return absl::InvalidArgumentError(
                    "it must be a whole number, one or more");
              }
              options_.max_attempts = attempts;
              return absl::OkStatus();
            });
}

DelayFunction PolicyFlags::DefaultPace() { return Pace; }

bool PolicyFlags::ChoosesDelays(const Flags& flags) {
  return flags.Given("every") || flags.Given("backoff") ||
         flags.Given("intervals") || flags.Given("jitter");
}

absl::StatusOr<WaitOptions> PolicyFlags::Options(const Flags& flags) const {
  bool every = flags.Given("every");
  bool jitter = flags.Given("jitter");
  if (every && jitter_.kind() == Jitter::Kind::kDecorrelated) {
    if (flags.FromVariable("every") == flags.FromVariable("jitter")) {
      return absl::InvalidArgumentError(absl::StrCat(
          flags.Label("jitter"), "=decorrelated: contradicts ",
          flags.Label("every"), ", because decorrelated delays grow"));
    }
    // The command line wins over the variable.
    (flags.FromVariable("every") ? every : jitter) = false;
  }
  WaitOptions options = options_;
  if (every || flags.Given("backoff")) {
    ApplyDelays(delays_, options);
    options.backoff.jitter = Jitter::Proportional(0.2);
  }
  if (jitter) options.backoff.jitter = jitter_;
  if (every) {
    // Jitter makes half of the delays longer than the given one.
    options.backoff.max_delay *= 1 + options.backoff.jitter.above();
  }
  if (!intervals_.empty()) options.delay_source = DelayList(intervals_);
  if (absl::Status status = Validate(options); !status.ok()) return status;
  return options;
}

std::string PolicyAsFlags(const WaitOptions& policy) {
  const BackoffOptions& delays = policy.backoff;
  std::string flags =
      delays.multiplier == 1
          ? absl::StrCat("--every=", absl::FormatDuration(delays.initial_delay))
          : absl::StrCat(
                "--backoff=", absl::FormatDuration(delays.initial_delay), ",",
                delays.multiplier, ",", absl::FormatDuration(delays.max_delay));
  absl::StrAppend(&flags, " --jitter=", JitterText(delays.jitter));
  if (policy.polls.first_delay > absl::ZeroDuration()) {
    absl::StrAppend(&flags, " --initial-delay=",
                    absl::FormatDuration(policy.polls.first_delay));
  }
  return flags;
}

}  // namespace waiter::cli
