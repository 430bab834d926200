// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

#include "tests/support/random_wait.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <memory>
#include <optional>
#include <string_view>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "tests/support/unowned.h"
#include "waiter/backoff.h"
#include "waiter/clock.h"
#include "waiter/loop.h"
#include "waiter/observer.h"
#include "waiter/options.h"
#include "waiter/policy.h"
#include "waiter/poll.h"
#include "waiter/result.h"

namespace waiter {
namespace {

// Longer waits get only slow successes after this poll, so that all of them
// end.
constexpr int64_t kMostPolls = 60;

class Choices {
 public:
  explicit Choices(absl::FunctionRef<uint64_t()> choose) : choose_(choose) {}

  // True once in `n` times.
  bool OneIn(uint64_t n) { return choose_() % n == 0; }

  int64_t Between(int64_t low, int64_t high) {
    return low + static_cast<int64_t>(choose_() %
                                      static_cast<uint64_t>(high - low + 1));
  }

  // Draws few values, so that sums of them often coincide or miss by a little.
  absl::Duration Time() {
    constexpr std::array<int64_t, 8> kMilliseconds = {0,    1,    10,    100,
                                                      1000, 2000, 10000, 60000};
    const uint64_t bits = choose_();
    absl::Duration time = absl::Milliseconds(kMilliseconds[bits % 8]);
    if (bits / 8 % 8 == 0) time += absl::Nanoseconds(1);
    if (bits / 8 % 8 == 1) time += absl::Milliseconds(37);
    return time;
  }

  SplitMix64 Generator() { return SplitMix64(choose_()); }

  BackoffOptions Curve() {
    constexpr std::array<Jitter, 5> kJitters = {
        Jitter::None(), Jitter::Full(), Jitter::Equal(),
        Jitter::Proportional(0.2), Jitter::Decorrelated()};
    BackoffOptions curve;
    curve.initial_delay = Time();
    curve.max_delay = curve.initial_delay + Time();
    curve.multiplier = static_cast<double>(Between(2, 8)) / 2;
    curve.jitter = kJitters[static_cast<size_t>(Between(0, 4))];
    if (OneIn(2)) {
      curve.min_delay = std::min<absl::Duration>(Time(), curve.max_delay);
    }
    return curve;
  }

  WaitOptions Options() {
    WaitOptions options;
    options.timeout = OneIn(8) ? absl::InfiniteDuration() : Time() + Time();
    if (OneIn(8)) options.max_attempts = Between(1, 8);
    if (OneIn(8)) options.errors.max_consecutive_server_errors = Between(1, 3);
    options.backoff = Curve();
    options.errors.server_error_backoff = Curve();
    options.errors.throttled_backoff = Curve();
    options.errors.retry_after.rule =
        static_cast<RetryAfterOptions::Rule>(Between(0, 3));
    options.errors.retry_after.max_retry_after = Time() + absl::Milliseconds(1);
    options.errors.retry_after.overshoot = Time();
    if (OneIn(2)) {
      options.errors.retry_after.past_deadline =
          RetryAfterOptions::PastDeadline::kPollAtDeadline;
    }
    if (OneIn(8)) options.polls.first_delay = Time();
    if (OneIn(8)) options.confirm.successes = Between(1, 4);
    if (OneIn(8)) options.confirm.hold_for = Time();
    if (OneIn(4)) options.polls.last_lead = Time();
    if (OneIn(4)) options.polls.last_timeout = Time();
    options.polls.strict_deadline = OneIn(4);
    if (OneIn(4)) options.poll_timeout = Time();
    if (OneIn(4)) options.hooks.history_limit = Between(1, 4);
    return options;
  }

  Poll<> Answer(int64_t attempt) {
    if (attempt >= kMostPolls) return PollStatus::kSuccess;
    absl::Duration hint = OneIn(4) ? Time() : absl::ZeroDuration();
    if (OneIn(64)) hint = absl::InfiniteDuration();
    switch (Between(0, 15)) {
      case 0:
      case 1:
        return {PollStatus::kSuccess, "", hint};
      case 2:
        return {PollStatus::kFailed, "gone", hint};
      case 3:
      case 4:
      case 5:
        return Throttled("429", hint);
      case 6:
      case 7:
      case 8:
        return ServerError(absl::UnavailableError("503"), hint);
      default:
        return NotReady("CREATING", hint);
    }
  }

 private:
  absl::FunctionRef<uint64_t()> choose_;
};

std::string CurveText(const std::string& name, const BackoffOptions& curve) {
  return absl::StrCat(name, " ", absl::FormatDuration(curve.initial_delay),
                      " * ", curve.multiplier, "^n in [",
                      absl::FormatDuration(MinDelay(curve)), ", ",
                      absl::FormatDuration(curve.max_delay), "]\n");
}

// Describes the options most often needed to understand a timeline.
std::string OptionsText(const WaitOptions& options) {
  return absl::StrCat(
      "timeout ", absl::FormatDuration(*options.timeout), ", lead ",
      absl::FormatDuration(options.polls.last_lead), ", hold for ",
      absl::FormatDuration(options.confirm.hold_for), ", hint rule ",
      static_cast<int>(options.errors.retry_after.rule), " up to ",
      absl::FormatDuration(options.errors.retry_after.max_retry_after), "\n",
      CurveText("not ready", options.backoff),
      CurveText("server error", options.errors.server_error_backoff),
      CurveText("throttled", options.errors.throttled_backoff));
}

// Drives one wait and watches it.
class Watched final : public WaitObserver {
 public:
  explicit Watched(absl::FunctionRef<uint64_t()> choose)
      : choices_(choose), options_(choices_.Options()) {
    options_.hooks.observer = Unowned<WaitObserver>(*this);
  }

  RandomWait Run();

  void OnStart(const StartEvent& start) override;
  void BeforePoll(const WaitIdentity& wait, int64_t attempt) override;
  void AfterPoll(const PollEvent& poll) override;
  void OnDecision(const DecisionEvent& decision) override;
  void BeforeSleep(const SleepEvent& sleep) override;
  void OnDone(const WaitIdentity& wait, const WaitReport&) override;

 private:
  void Expect(bool kept, std::string_view promise) {
    if (!kept && result_.broken.empty()) result_.broken = promise;
  }

  absl::Duration Elapsed() const { return absl::FromChrono(now_ - start_); }
  absl::Duration Remaining() const { return *options_.timeout - Elapsed(); }

  void RunPoll(WaitLoop& loop);
  NextStep RunSleep(WaitLoop& loop, NextStep step);
  void Sleep(std::chrono::nanoseconds time);
  void CheckNotified(absl::Duration slept, SleepReason reason);
  void CheckDelay(absl::Duration delay, SleepReason reason);
  void CheckReport();
  void CheckReason();

  BackoffOptions CurveOf(PollStatus status) const {
    if (status == PollStatus::kServerError) {
      return options_.errors.server_error_backoff;
    }
    if (status == PollStatus::kThrottled) {
      return options_.errors.throttled_backoff;
    }
    return options_.backoff;
  }

  Choices choices_;
  WaitOptions options_;
  WaitReport report_;
  RandomWait result_;

  const MonotonicTime start_ = MonotonicTime(std::chrono::hours(1));
  MonotonicTime now_ = start_;
  bool stopped_ = false;
  int64_t polls_ = 0;
  uint64_t id_ = 0;
  int64_t undecided_ = 0;  // Polls without a decision yet.
  int64_t dones_ = 0;
  bool polling_ = false;
  bool final_ = false;
  int64_t final_polls_ = 0;
  std::optional<SleepEvent> sleep_;
  absl::Duration slept_;
  absl::Duration polled_;
  absl::Duration longest_;
  std::array<int64_t, 5> counts_ = {};
};

void Watched::OnStart(const StartEvent& start) {
  Expect(id_ == 0 && start.wait.id != 0, "the start is reported once");
  Expect(polls_ == 0 && !sleep_.has_value(), "the start is reported first");
  Expect(start.timeout == *options_.timeout, "the start has the timeout");
  id_ = start.wait.id;
  if (choices_.OneIn(256)) stopped_ = true;
}

void Watched::OnDone(const WaitIdentity& wait, const WaitReport&) {
  Expect(wait.id == id_, "the end has the identity of the start");
  Expect(undecided_ == 0, "the end follows the last decision");
  ++dones_;
}

void Watched::OnDecision(const DecisionEvent& decision) {
  Expect(decision.poll.wait.id == id_, "all hooks have one identity");
  Expect(--undecided_ == 0, "a decision follows its poll");
  Expect(decision.poll.attempt == polls_, "a decision has its poll");
  Expect(decision.reason.has_value() != decision.ended.has_value(),
         "another poll follows, or the end");
  Expect(!decision.ended.has_value() || decision.delay == absl::Duration(),
         "no delay follows the end");
  if (choices_.OneIn(256) && decision.delay > absl::ZeroDuration()) {
    stopped_ = true;
  }
}

void Watched::BeforePoll(const WaitIdentity&, int64_t attempt) {
  Expect(id_ != 0, "the start comes before the polls");
  Expect(undecided_ == 0, "a decision comes before the next poll");
  Expect(attempt == polls_ + 1, "attempts count up from 1");
  Expect(!polling_, "polls do not overlap");
  Expect(!stopped_, "no poll starts after a stop");
  Expect(dones_ == 0, "no poll after the end");
  if (choices_.OneIn(256)) stopped_ = true;
}

void Watched::AfterPoll(const PollEvent& poll) {
  Expect(poll.attempt == polls_, "every poll is reported once");
  Expect(poll.elapsed == Elapsed(), "a poll ends now");
  Expect(++undecided_ == 1, "each poll is decided about");
  if (choices_.OneIn(256)) stopped_ = true;
}

void Watched::BeforeSleep(const SleepEvent& sleep) {
  Expect(sleep.attempt == polls_, "a sleep follows its poll");
  Expect(undecided_ == 0, "a decision comes before the sleep");
  Expect(sleep.elapsed == Elapsed(), "a sleep starts now");
  Expect(sleep.delay > absl::ZeroDuration(), "a sleep takes time");
  sleep_ = sleep;
  if (choices_.OneIn(256)) stopped_ = true;
}

void Watched::RunPoll(WaitLoop& loop) {
  if (final_) Expect(++final_polls_ == 1, "one poll follows the last sleep");
  const PollContext context = loop.Context(absl::UnixEpoch());
  Expect(context.attempt == ++polls_, "the context has the attempt");
  Expect(context.elapsed == Elapsed(), "the context has the time");
  Expect(context.remaining == std::max(Remaining(), absl::ZeroDuration()),
         "the context has the time left, never negative");
  Expect(
      context.timeout ==
          (context.remaining > absl::ZeroDuration()
               ? std::min<absl::Duration>(
                     options_.poll_timeout,
                     std::max<absl::Duration>(context.remaining,
                                              options_.polls.last_timeout))
           : options_.polls.last_timeout > absl::ZeroDuration()
               ? std::min<absl::Duration>(options_.poll_timeout,
                                          options_.polls.last_timeout)
           : options_.poll_timeout < absl::InfiniteDuration()
               ? absl::Duration(options_.poll_timeout)
               : std::clamp(2 * longest_, absl::Seconds(1), absl::Seconds(10))),
      "a poll may take poll_timeout or the time left if there is any, near the "
      "deadline last_timeout, and at the deadline a bounded time");
  sleep_.reset();
  polling_ = true;
  absl::Duration takes;
  if (choices_.OneIn(4)) takes = choices_.Time();
  if (polls_ >= kMostPolls) takes = absl::Minutes(2);
  now_ += absl::ToChronoNanoseconds(takes);
  polled_ += takes;
  longest_ = std::max(longest_, takes);
  if (choices_.OneIn(64)) stopped_ = true;
  polling_ = false;
  report_.last_poll = choices_.Answer(polls_);
  ++counts_[static_cast<size_t>(report_.last_poll.status())];
  absl::StrAppend(
      &result_.timeline, "poll ", absl::FormatDuration(context.elapsed), " ",
      std::string(PollStatusName(report_.last_poll.status())), ", hint ",
      absl::FormatDuration(report_.last_poll.retry_after()), "\n");
}

void Watched::CheckDelay(absl::Duration delay, SleepReason reason) {
  if (polls_ == 0) {
    Expect(delay <= options_.polls.first_delay,
           "polls.first_delay is the most");
    return;
  }
  Expect(delay <= std::max(Remaining(), absl::ZeroDuration()),
         "no sleep passes the deadline");
  if (reason == SleepReason::kFinalPoll) {
    final_ = true;
    return;
  }
  const Poll<>& found = report_.last_poll;
  const BackoffOptions& curve = CurveOf(found.status());
  const absl::Duration computed =
      std::max(curve.max_delay, options_.backoff.max_delay);
  const absl::Duration most =
      options_.errors.retry_after.rule == RetryAfterOptions::Rule::kSum
          ? computed + options_.errors.retry_after.max_retry_after
          : std::max<absl::Duration>(
                computed, options_.errors.retry_after.max_retry_after);
  Expect(delay <= most, "no delay exceeds max_delay or max_retry_after");
  if (reason != SleepReason::kRetryAfter &&
      reason != SleepReason::kConfirming) {
    Expect(delay >= MinDelay(curve), "no delay is below min_delay");
  }
  const bool hinted = found.status() != PollStatus::kSuccess &&
                      found.retry_after() > absl::ZeroDuration() &&
                      found.retry_after() != absl::InfiniteDuration();
  const absl::Duration hint = std::min<absl::Duration>(
      found.retry_after(), options_.errors.retry_after.max_retry_after);
  if (hinted && options_.errors.retry_after.rule ==
                    RetryAfterOptions::Rule::kLowerBound) {
    Expect(delay >= hint, "no delay is below a hint");
  }
  Expect(hinted || reason != SleepReason::kRetryAfter,
         "only hints are called hints");
}

void Watched::Sleep(std::chrono::nanoseconds time) {
  now_ += time;
  slept_ += absl::FromChrono(time);
}

// Checks a poll that a notification caused after a sleep of `slept`.
void Watched::CheckNotified(absl::Duration slept, SleepReason reason) {
  Expect(
      reason != SleepReason::kRetryAfter && reason != SleepReason::kConfirming,
      "no notification shortens the sleep of a hint or a hold");
  if (polls_ == 0) return;
  const Poll<>& found = report_.last_poll;
  Expect(slept >= MinDelay(CurveOf(found.status())),
         "no notification shortens a sleep below min_delay");
  Expect(found.status() == PollStatus::kSuccess ||
             found.retry_after() == absl::InfiniteDuration() ||
             slept >= std::min<absl::Duration>(
                          found.retry_after(),
                          options_.errors.retry_after.max_retry_after),
         "no notification shortens a sleep below a hint");
}

NextStep Watched::RunSleep(WaitLoop& loop, NextStep step) {
  const auto stop = [this] { return stopped_; };
  Expect(sleep_.has_value(), "every sleep is announced");
  Expect(!final_, "no sleep after the last");
  const MonotonicTime began = now_;
  const absl::Duration delay = absl::FromChrono(step.wake_up() - began);
  Expect(sleep_->delay == delay, "the sleep is the one announced");
  CheckDelay(delay, sleep_->reason);
  absl::StrAppend(&result_.timeline, "sleep ", absl::FormatDuration(delay), " ",
                  std::string(SleepReasonName(sleep_->reason)), "\n");
  if (choices_.OneIn(32)) stopped_ = true;
  if (choices_.OneIn(8)) {
    Sleep((step.wake_up() - began) / choices_.Between(1, 4));
    absl::StrAppend(&result_.timeline, "notified after ",
                    absl::FormatDuration(absl::FromChrono(now_ - began)), "\n");
    if (const std::optional<NextStep> next = loop.OnNotified(now_, stop)) {
      if (next->action() != NextStep::Action::kSleep) {
        CheckNotified(absl::FromChrono(now_ - began), sleep_->reason);
        final_ = false;
        return *next;
      }
      Expect(next->wake_up() > now_ && next->wake_up() <= step.wake_up(),
             "a notification shortens a sleep");
      CheckNotified(absl::FromChrono(next->wake_up() - began), sleep_->reason);
      final_ = false;
      step = *next;
    }
  }
  std::chrono::nanoseconds rest = std::max(step.wake_up(), now_) - now_;
  if (stopped_ && choices_.OneIn(2)) rest /= 2;
  if (choices_.OneIn(16)) rest += absl::ToChronoNanoseconds(choices_.Time());
  Sleep(rest);
  return loop.OnWake(now_, stop);
}

void Watched::CheckReason() {
  const PollStatus last = report_.last_poll.status();
  const bool past = Remaining() < absl::ZeroDuration();
  switch (report_.reason) {
    case StopReason::kSuccess:
      Expect(last == PollStatus::kSuccess, "success is found");
      Expect(counts_[0] >= options_.confirm.successes, "success is confirmed");
      Expect(!past || !options_.polls.strict_deadline, "success is in time");
      Expect(report_.late == past, "a late success is marked");
      break;
    case StopReason::kFailed:
      Expect(last == PollStatus::kFailed, "failure is found");
      Expect(!past || !options_.polls.strict_deadline, "failure is in time");
      Expect(report_.late == past, "a late failure is marked");
      break;
    case StopReason::kDeadline:
      Expect(final_ || Remaining() <= absl::ZeroDuration() ||
                 report_.last_poll.retry_after() > absl::ZeroDuration(),
             "the deadline has come, or nothing fits before it");
      break;
    case StopReason::kCancelled:
      Expect(stopped_, "a stop was requested");
      break;
    case StopReason::kAttempts:
      Expect(polls_ == options_.max_attempts, "max_attempts is reached");
      break;
    case StopReason::kConsecutiveLimit:
      Expect(last == PollStatus::kServerError || last == PollStatus::kThrottled,
             "a limited status is found");
      break;
    case StopReason::kDelaySource:
    case StopReason::kQuota:
    case StopReason::kShutDown:
      Expect(false, "there is no delay source, no quota and no engine");
      break;
    case StopReason::kInvalidOptions:
      Expect(false, "the options are valid");
  }
}

void Watched::CheckReport() {
  Expect(dones_ == 1, "the end is reported once");
  Expect(report_.attempts == polls_, "attempts are counted");
  Expect(report_.counts == counts_, "statuses are counted");
  Expect(polls_ <= options_.max_attempts.value_or(kMostPolls + 4),
         "max_attempts is not exceeded");
  Expect(!final_ || final_polls_ == 1 || stopped_,
         "the last sleep ends with a poll");
  Expect(polls_ > 0 || report_.reason == StopReason::kCancelled,
         "at least one poll unless stopped before");
  Expect(report_.elapsed == Elapsed(), "elapsed is the time that has passed");
  Expect(report_.slept == slept_, "slept is the time that was slept");
  Expect(report_.slept + polled_ == report_.elapsed,
         "a wait is polls and sleeps");
  Expect(report_.longest_poll == longest_, "the longest poll is reported");
  Expect(report_.status.ok() == (report_.reason == StopReason::kSuccess),
         "the status is OK exactly for success");
  const bool errors = counts_[2] + counts_[3] + counts_[4] > 0;
  Expect(report_.first_error.has_value() == errors, "the first error is kept");
  Expect(report_.last_error.has_value() == errors, "the last error is kept");
  Expect(report_.history.size() == static_cast<size_t>(std::min(
                                       options_.hooks.history_limit, polls_)),
         "the history is bounded");
  CheckReason();
}

RandomWait Watched::Run() {
  const std::shared_ptr<const WaitPolicy> policy = WaitPolicy::Make(options_);
  if (!policy->status().ok()) {
    result_.broken = std::string(policy->status().message());
    return std::move(result_);
  }
  result_.timeline = OptionsText(options_);
  SplitMix64 gen = choices_.Generator();
  const auto stop = [this] { return stopped_; };
  if (choices_.OneIn(64)) stopped_ = true;
  WaitLoop loop(*policy, report_);
  NextStep step = loop.Start(now_, policy->DeadlineFrom(now_), stop);
  while (step.action() != NextStep::Action::kFinish && result_.broken.empty()) {
    if (step.action() == NextStep::Action::kPoll) {
      RunPoll(loop);
      step = loop.OnPoll(now_, gen, stop);
      if (step.action() == NextStep::Action::kPoll) {
        CheckDelay(absl::ZeroDuration(),
                   report_.last_poll.status() == PollStatus::kSuccess
                       ? SleepReason::kConfirming
                       : SleepReason::kNotReady);
      }
    } else {
      step = RunSleep(loop, step);
    }
    Expect(polls_ < kMostPolls + 4, "the wait ends");
  }
  if (result_.broken.empty()) CheckReport();
  result_.reason = StopReasonName(report_.reason);
  absl::StrAppend(&result_.timeline, result_.reason, " ",
                  report_.status.ToString(), "\n");
  return std::move(result_);
}

}  // namespace

RandomWait RunRandomWait(absl::FunctionRef<uint64_t()> choose) {
  return Watched(choose).Run();
}

}  // namespace waiter
