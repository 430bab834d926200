// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// Braces that set one field of a nested struct leave all other options at their
// documented defaults.

#include <chrono>
#include <concepts>
#include <limits>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "gtest/gtest.h"
#include "waiter/backoff.h"
#include "waiter/budgets.h"
#include "waiter/clock.h"
#include "waiter/observer.h"
#include "waiter/options.h"
#include "waiter/poll.h"
#include "waiter/token.h"

namespace waiter::option_groups_test {
namespace {

using std::chrono_literals::operator""s;

using Fields = std::map<std::string, std::string>;

void AddBackoff(const std::string& name, const BackoffOptions& backoff,
                Fields& fields) {
  fields[name + ".initial_delay"] = absl::FormatDuration(backoff.initial_delay);
  fields[name + ".max_delay"] = absl::FormatDuration(backoff.max_delay);
  fields[name + ".multiplier"] = absl::StrCat(backoff.multiplier);
  fields[name + ".jitter"] = absl::StrCat(
      backoff.jitter.kind() == Jitter::Kind::kDecorrelated ? "decorrelated "
                                                           : "",
      backoff.jitter.below(), " ", backoff.jitter.above());
  fields[name + ".min_delay"] = backoff.min_delay.has_value()
                                    ? absl::FormatDuration(*backoff.min_delay)
                                    : "unset";
}

std::string Text(bool is_set) { return is_set ? "set" : "unset"; }

// Returns the nested fields of `options`.
Fields FieldsOf(const WaitOptions& options) {
  const RetryAfterOptions& hints = options.errors.retry_after;
  Fields fields = {
      {"errors.max_consecutive_server_errors",
       Text(options.errors.max_consecutive_server_errors.has_value())},
      {"retry_after.rule", absl::StrCat(static_cast<int>(hints.rule))},
      {"retry_after.max_retry_after",
       absl::FormatDuration(hints.max_retry_after)},
      {"retry_after.fail_beyond_max", Text(hints.fail_beyond_max)},
      {"retry_after.overshoot", absl::FormatDuration(hints.overshoot)},
      {"retry_after.past_deadline",
       absl::StrCat(static_cast<int>(hints.past_deadline))},
      {"budgets.retry_quota", Text(options.budgets.retry_quota != nullptr)},
      {"budgets.delay_when_refused", Text(options.budgets.delay_when_refused)},
      {"budgets.rate_limiter", Text(options.budgets.rate_limiter != nullptr)},
      {"confirm.successes", absl::StrCat(options.confirm.successes)},
      {"confirm.hold_for", absl::FormatDuration(options.confirm.hold_for)},
      {"polls.first_delay", absl::FormatDuration(options.polls.first_delay)},
      {"polls.last_lead", absl::FormatDuration(options.polls.last_lead)},
      {"polls.last_timeout", absl::FormatDuration(options.polls.last_timeout)},
      {"polls.strict_deadline", Text(options.polls.strict_deadline)},
      {"hooks.observer", Text(options.hooks.observer != nullptr)},
      {"hooks.on_failure", Text(options.hooks.on_failure != nullptr)},
      {"hooks.failure_timeout",
       absl::FormatDuration(options.hooks.failure_timeout)},
      {"hooks.on_checkpoint", Text(options.hooks.on_checkpoint != nullptr)},
      {"hooks.history_limit", absl::StrCat(options.hooks.history_limit)},
      {"hooks.seed", Text(options.hooks.seed.has_value())},
  };
  AddBackoff("backoff", options.backoff, fields);
  AddBackoff("server_error_backoff", options.errors.server_error_backoff,
             fields);
  AddBackoff("throttled_backoff", options.errors.throttled_backoff, fields);
  return fields;
}

const Fields& Documented() {
  static const Fields& fields = *new Fields{
      {"backoff.initial_delay", "100ms"},
      {"backoff.max_delay", "8s"},
      {"backoff.multiplier", "2"},
      {"backoff.jitter", "0.5 0"},
      {"backoff.min_delay", "unset"},
      {"server_error_backoff.initial_delay", "100ms"},
      {"server_error_backoff.max_delay", "10s"},
      {"server_error_backoff.multiplier", "2"},
      {"server_error_backoff.jitter", "1 0"},
      {"server_error_backoff.min_delay", "unset"},
      {"throttled_backoff.initial_delay", "2s"},
      {"throttled_backoff.max_delay", "1m"},
      {"throttled_backoff.multiplier", "2"},
      {"throttled_backoff.jitter", "0.5 0"},
      {"throttled_backoff.min_delay", "1s"},
      {"errors.max_consecutive_server_errors", "unset"},
      {"retry_after.rule", "0"},
      {"retry_after.max_retry_after", "10m"},
      {"retry_after.fail_beyond_max", "unset"},
      {"retry_after.overshoot", "5s"},
      {"retry_after.past_deadline", "0"},
      {"budgets.retry_quota", "unset"},
      {"budgets.delay_when_refused", "unset"},
      {"budgets.rate_limiter", "unset"},
      {"confirm.successes", "1"},
      {"confirm.hold_for", "0"},
      {"polls.first_delay", "0"},
      {"polls.last_lead", "0"},
      {"polls.last_timeout", "0"},
      {"polls.strict_deadline", "unset"},
      {"hooks.observer", "unset"},
      {"hooks.on_failure", "unset"},
      {"hooks.failure_timeout", "10s"},
      {"hooks.on_checkpoint", "unset"},
      {"hooks.history_limit", "0"},
      {"hooks.seed", "unset"},
  };
  return fields;
}

struct Case {
  std::string field;
  WaitOptions options;
};

// Adds a case for each field of `Kind`, set alone. `make` puts it into options.
template <typename Kind, typename Make>
void AddCases(const std::string& name, Make make, std::vector<Case>& cases) {
  cases.push_back({name + ".initial_delay", make(Kind{.initial_delay = 5s})});
  cases.push_back({name + ".max_delay", make(Kind{.max_delay = 90s})});
  cases.push_back({name + ".multiplier", make(Kind{.multiplier = 3})});
  cases.push_back({name + ".jitter", make(Kind{.jitter = Jitter::None()})});
  cases.push_back({name + ".min_delay", make(Kind{.min_delay = 3s})});
}

std::vector<Case> BackoffCases() {
  std::vector<Case> cases;
  AddCases<decltype(WaitOptions::backoff)>(
      "backoff", [](auto kind) { return WaitOptions{.backoff = kind}; }, cases);
  AddCases<decltype(ErrorOptions::server_error_backoff)>(
      "server_error_backoff",
      [](auto kind) {
        return WaitOptions{.errors = {.server_error_backoff = kind}};
      },
      cases);
  AddCases<decltype(ErrorOptions::throttled_backoff)>(
      "throttled_backoff",
      [](auto kind) {
        return WaitOptions{.errors = {.throttled_backoff = kind}};
      },
      cases);
  return cases;
}

std::vector<Case> OtherCases() {
  using Hints = RetryAfterOptions;
  return {
      {"errors.max_consecutive_server_errors",
       {.errors = {.max_consecutive_server_errors = 3}}},
      {"retry_after.rule",
       {.errors = {.retry_after = {.rule = Hints::Rule::kSum}}}},
      {"retry_after.max_retry_after",
       {.errors = {.retry_after = {.max_retry_after = 2s}}}},
      {"retry_after.fail_beyond_max",
       {.errors = {.retry_after = {.fail_beyond_max = true}}}},
      {"retry_after.overshoot", {.errors = {.retry_after = {.overshoot = 2s}}}},
      {"retry_after.past_deadline",
       {.errors = {.retry_after = {.past_deadline =
                                       Hints::PastDeadline::kPollAtDeadline}}}},
      {"budgets.retry_quota",
       {.budgets = {.retry_quota = *RetryQuota::Make({})}}},
      {"budgets.delay_when_refused", {.budgets = {.delay_when_refused = true}}},
      {"budgets.rate_limiter",
       {.budgets = {.rate_limiter = *AdaptiveRateLimiter::Make({})}}},
      {"confirm.successes", {.confirm = {.successes = 2}}},
      {"confirm.hold_for", {.confirm = {.hold_for = 2s}}},
      {"polls.first_delay", {.polls = {.first_delay = 2s}}},
      {"polls.last_lead", {.polls = {.last_lead = 2s}}},
      {"polls.last_timeout", {.polls = {.last_timeout = 2s}}},
      {"polls.strict_deadline", {.polls = {.strict_deadline = true}}},
      {"hooks.observer",
       {.hooks = {.observer = std::make_shared<WaitObserver>()}}},
      {"hooks.on_failure",
       {.hooks = {.on_failure = [](const WaitFailure&) {}}}},
      {"hooks.failure_timeout", {.hooks = {.failure_timeout = 2s}}},
      {"hooks.on_checkpoint",
       {.hooks = {.on_checkpoint = [](const WaitToken&) {}}}},
      {"hooks.history_limit", {.hooks = {.history_limit = 2}}},
      {"hooks.seed", {.hooks = {.seed = 2}}},
  };
}

TEST(OptionGroupsTest, DefaultsAreTheDocumentedOnes) {
  EXPECT_EQ(FieldsOf({}), Documented());
}

TEST(OptionGroupsTest, AFieldSetAloneChangesNoOther) {
  std::vector<Case> cases = BackoffCases();
  for (Case& other : OtherCases()) cases.push_back(other);
  EXPECT_EQ(cases.size(), Documented().size());
  for (const Case& example : cases) {
    Fields expected = Documented();
    Fields fields = FieldsOf(example.options);
    EXPECT_NE(fields[example.field], expected[example.field]) << example.field;
    fields.erase(example.field);
    expected.erase(example.field);
    EXPECT_EQ(fields, expected) << "only " << example.field << " was set";
  }
}

TEST(OptionGroupsTest, KindsOfBackoffConvertToEachOther) {
  const BackoffOptions backoff = {.initial_delay = 1s,
                                  .max_delay = absl::Seconds(3),
                                  .multiplier = 1.5,
                                  .jitter = Jitter::None(),
                                  .min_delay = absl::ZeroDuration()};
  const ThrottledBackoff throttled = backoff;
  const ServerErrorBackoff server_error = throttled;

  EXPECT_EQ(BackoffOptions(server_error), backoff);
}

TEST(DurationTest, FieldsTakeBothKindsOfDurations) {
  const WaitOptions options = {.timeout = 90s,
                               .poll_timeout = 5s,
                               .backoff = {.max_delay = absl::Seconds(7)}};

  EXPECT_EQ(options.poll_timeout, absl::Seconds(5));
  const absl::Duration max_delay = options.backoff.max_delay;
  EXPECT_EQ(max_delay, absl::Seconds(7));
  EXPECT_EQ(NotReady("", 3s).retry_after(), absl::Seconds(3));
  EXPECT_EQ(NotReady("", absl::Seconds(3)).retry_after(), absl::Seconds(3));
}

// Every option rejects this duration.
TEST(DurationTest, WhatIsNotANumberIsOutOfRange) {
  const std::chrono::duration<double> nan(
      std::numeric_limits<double>::quiet_NaN());

  EXPECT_EQ(Duration(nan), -absl::InfiniteDuration());
  EXPECT_FALSE(Validate({.timeout = 1s, .poll_timeout = nan}).ok());
}

TEST(MonotonicTimeTest, AddsAndSubtractsBothKindsOfDurations) {
  const MonotonicTime time(std::chrono::nanoseconds(10s));

  EXPECT_EQ(time + absl::Seconds(2), time + 2s);
  EXPECT_EQ(absl::Seconds(2) + time, 2s + time);
  EXPECT_EQ(time - absl::Seconds(2), time - 2s);
  MonotonicTime later = time;
  later += absl::Seconds(2);
  EXPECT_EQ(later - time, 2s);
  later -= absl::Seconds(2);
  EXPECT_EQ(later, time);
  static_assert(std::same_as<decltype(time + 2s), MonotonicTime>);
}

}  // namespace
}  // namespace waiter::option_groups_test
