// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

#include "waiter/final_status.h"

#include <cstdint>
#include <new>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/strings/cord.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "waiter/clock.h"
#include "waiter/internal/exceptions.h"
#include "waiter/internal/string_views.h"
#include "waiter/options.h"
#include "waiter/policy.h"
#include "waiter/poll.h"
#include "waiter/result.h"
#include "waiter/text.h"

namespace waiter::internal {
namespace {

std::string Between(MonotonicTime from, MonotonicTime to) {
  return TimeText(absl::FromChrono(to - from));
}

// Returns the name and value of the earlier of `timeout` and `deadline`, or of
// the deadline that a wait had under other options before it was saved.
std::string DeadlineName(const FinalState& state) {
  const WaitOptions& options = state.policy.options();
  if (options.timeout.has_value() &&
      state.deadline >=
          SaturatingAdd(state.start, state.policy.durations().timeout)) {
    return absl::StrCat("timeout of ", absl::FormatDuration(*options.timeout));
  }
  if (options.deadline.has_value()) {
    return absl::StrCat("deadline of ", absl::FormatTime(*options.deadline));
  }
  return absl::StrCat("deadline of the saved wait, ",
                      Between(state.start, state.deadline),
                      " after its start,");
}

std::string DeadlineText(const FinalState& state) {
  const std::string name = DeadlineName(state);
  if (state.report.late) {
    return absl::StrCat(name, " missed by ",
                        Between(state.deadline, state.answered),
                        " (strict_deadline)");
  }
  if (state.now >= state.deadline) return absl::StrCat(name, " reached");
  if (state.retry_after > state.deadline - state.now) {
    return absl::StrCat(
        "the server's retry_after of ",
        absl::FormatDuration(state.report.last_poll.retry_after()),
        " exceeds the remaining ", Between(state.now, state.deadline), " (",
        name, "), gave up");
  }
  return absl::StrCat(name, " leaves no time for another poll");
}

std::string ConsecutiveLimitText(const FinalState& state) {
  return absl::StrCat("max_consecutive_server_errors of ",
                      state.policy.limits().consecutive_server_errors,
                      " reached");
}

// Returns " after 3 attempts in 12s".
std::string Effort(int64_t attempts, MonotonicTime start, MonotonicTime now) {
  return absl::StrCat(" after ", attempts,
                      attempts == 1 ? " attempt in " : " attempts in ",
                      Between(start, now));
}

std::string Message(const FinalState& state, absl::string_view limit) {
  const WaitReport& report = state.report;
  std::string text = absl::StrCat(
      state.name, ": ", limit, Effort(report.attempts, state.start, state.now));
  if (state.unanswered) {
    absl::StrAppend(&text, "; attempt ", report.attempts + 1,
                    " has not answered");
  }
  if (report.attempts == 0) {
    return state.unanswered ? text : text + "; no poll was made";
  }
  const Poll<>& last = report.last_poll;
  absl::StrAppend(&text,
                  "; last poll: ", ToAbsl(PollStatusName(last.status())));
  if (last.status() == PollStatus::kSuccess &&
      !state.policy.one_success_suffices()) {
    absl::StrAppend(&text, ", ", state.streak_length, " in a row for ",
                    Between(state.streak_started, state.now));
  }
  if (!last.error().ok()) {
    absl::StrAppend(&text, ": ", absl::StatusCodeToString(last.error().code()));
  }
  if (!last.detail().empty()) {
    absl::StrAppend(&text, ": ", ToAbsl(last.detail()));
  }
  return text;
}

absl::Status WithMessage(const absl::Status& status,
                         absl::string_view message) {
  absl::Status changed(status.code(), message);
  status.ForEachPayload([&](absl::string_view url, const absl::Cord& payload) {
    changed.SetPayload(url, payload);
  });
  return changed;
}

absl::Status Failure(const Poll<>& last) {
  if (!last.error().ok()) return last.error();
  return absl::UnknownError(last.detail().empty()
                                ? "the status function returned kFailed "
                                  "without an error or a detail"
                                : ToAbsl(last.detail()));
}

}  // namespace

absl::Status FinalStatus(StopReason reason, const FinalState& state) {
  const auto used_up = [&](absl::string_view limit) {
    return WithLimit(absl::ResourceExhaustedError(Message(state, limit)),
                     reason);
  };
  switch (reason) {
    case StopReason::kSuccess:
      return absl::OkStatus();
    case StopReason::kFailed:
      return NameWait(Failure(state.report.last_poll), state.name,
                      state.report.attempts, state.start, state.now);
    case StopReason::kDeadline:
      return absl::DeadlineExceededError(Message(state, DeadlineText(state)));
    case StopReason::kCancelled:
      return absl::CancelledError(Message(state, "stop requested"));
    case StopReason::kShutDown:
      return absl::CancelledError(Message(state, "the engine was destroyed"));
    case StopReason::kAttempts:
      return used_up(absl::StrCat("max_attempts of ",
                                  state.policy.limits().attempts, " reached"));
    case StopReason::kConsecutiveLimit:
      return used_up(ConsecutiveLimitText(state));
    case StopReason::kDelaySource:
      return used_up("delay_source ended the wait");
    case StopReason::kQuota:
      return used_up(absl::StrCat("retry_quota has no tokens for attempt ",
                                  state.report.attempts + 1, ", gave up"));
    case StopReason::kInvalidOptions:
      return absl::InvalidArgumentError(
          absl::StrCat(state.name, ": ", state.policy.status().message()));
  }
  return absl::InternalError(absl::StrCat(state.name, ": the wait ended for ",
                                          static_cast<int>(reason),
                                          ", which is not a valid StopReason"));
}

absl::Status NameWait(absl::Status error, absl::string_view name,
                      int64_t attempts, MonotonicTime start,
                      MonotonicTime now) {
  WAITER_TRY {
    return WithMessage(
        error, absl::StrCat(error.message(), error.message().empty() ? "" : " ",
                            "(", name, ",", Effort(attempts, start, now), ")"));
  }
  WAITER_CATCH(const std::bad_alloc&) { return error; }
}

absl::Status RetryAfterError(const Poll<>& last,
                             const RetryAfterOptions& options) {
  const absl::Status error = last.error().ok()
                                 ? absl::UnavailableError(ToAbsl(last.detail()))
                                 : last.error();
  return WithMessage(
      error, absl::StrCat(error.message(), error.message().empty() ? "" : "; ",
                          "fail_beyond_max: the server's retry_after of ",
                          absl::FormatDuration(last.retry_after()),
                          " exceeds max_retry_after of ",
                          absl::FormatDuration(options.max_retry_after)));
}

}  // namespace waiter::internal
