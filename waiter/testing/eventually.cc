// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

#include "waiter/testing/eventually.h"

#include <cxxabi.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <typeinfo>
#include <utility>
#include <vector>

#include "absl/base/config.h"
#include "absl/cleanup/cleanup.h"
#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "waiter/classify.h"
#include "waiter/clock.h"
#include "waiter/internal/blocking_wait.h"
#include "waiter/internal/exceptions.h"
#include "waiter/internal/first_poll.h"
#include "waiter/internal/heartbeat.h"
#include "waiter/internal/string_views.h"
#include "waiter/policy.h"
#include "waiter/poll.h"
#include "waiter/result.h"
#include "waiter/stop_token.h"
#include "waiter/testing/eventually_message.h"
#include "waiter/testing/eventually_plan.h"
#include "waiter/testing/internal/eventually_subject.h"
#include "waiter/testing/near_misses.h"
#include "waiter/testing/running_clock.h"
#include "waiter/testing/test_limits.h"

namespace waiter::internal::eventually {
namespace {

// Returns a description of the exception that is being handled. Requires one.
std::string DescribeException() {
  const std::type_info* const type = abi::__cxa_current_exception_type();
  std::string text = "threw ";
  if (type == nullptr) return text + "an exception";
  const std::unique_ptr<char, decltype(&std::free)> name(
      abi::__cxa_demangle(type->name(), nullptr, nullptr, nullptr), &std::free);
  text += name != nullptr ? name.get() : type->name();
  const std::string what = WhatOf(std::current_exception());
  if (!what.empty()) absl::StrAppend(&text, ": ", what);
  return text;
}

// Returns the answer that is thrown as an exception, such as
// `StopTrying("reason")`. Requires an exception that is being handled.
std::optional<Poll<>> ThrownAnswer() {
#ifdef ABSL_HAVE_EXCEPTIONS
  try {
    throw;
  } catch (const Poll<>& answer) {
    return answer;
  } catch (...) {
  }
#endif
  return std::nullopt;
}

Look PollSubject(Subject& subject, bool describe,
                 const ExceptionFilter& retry_exceptions) {
  Look look;
  WAITER_TRY { look = subject.Poll(describe); }
  WAITER_CATCH(...) {
    if (subject.EndsTest(std::current_exception())) WAITER_RETHROW;
    look.details = subject.DetailsOfThrow();
    look.answer = ThrownAnswer();
    if (look.answer.has_value()) return look;
    look.threw = true;
    look.seen = DescribeException();
    if (!retry_exceptions || !retry_exceptions(std::current_exception())) {
      look.hopeless = look.seen;
    }
  }
  return look;
}

// Returns a readable description of an answer other than success.
std::string DescribeAnswer(const Poll<>& answer) {
  std::string text(PollStatusName(answer.status()));
  if (!answer.error().ok()) {
    absl::StrAppend(
        &text, ": ",
        answer.error().ToString(absl::StatusToStringMode::kWithNoExtraData));
  } else if (!answer.detail().empty()) {
    absl::StrAppend(&text, ": ", ToAbsl(answer.detail()));
  }
  return text;
}

// Returns the poll of the wait for `look.answer`. Requires an answer.
Poll<> ClassifyAnswer(Kind kind, Look& look) {
  Poll<> answer = *look.answer;
  look.seen = DescribeAnswer(answer);
  if (answer.status() == PollStatus::kSuccess) {
    // It was thrown: the subject judges a success that is returned.
    look.hopeless = "threw a success, which has no value; return the value";
  } else if (answer.status() == PollStatus::kFailed) {
    look.hopeless = answer.error().ok()
                        ? absl::StrCat("StopTrying: ", ToAbsl(answer.detail()))
                        : look.seen;
  } else if (MustHold(kind)) {
    look.hopeless = absl::StrCat("has no value to match: ", look.seen);
  } else {
    return answer;
  }
  return Failed(absl::FailedPreconditionError("gave up"));
}

// Returns the poll of the wait for `look`. Notes in `look` if more polls are
// useless.
Poll<> Classify(Kind kind, const ErrorClassifier& errors, Look& look) {
  if (look.answer.has_value()) return ClassifyAnswer(kind, look);
  const absl::Status gone = absl::FailedPreconditionError("gave up");
  if (look.hopeless.has_value()) return Failed(gone);
  if (MustHold(kind)) {
    return look.matched == (kind == Kind::kConsistently) ? Success()
                                                         : Failed(gone);
  }
  if (look.matched || look.skipped) return Success();
  if (look.threw) return ServerError();
  if (look.error.ok()) return NotReady();
  const PollStatus status = LimitOf(look.error).has_value()
                                ? PollStatus::kFailed
                                : errors.ClassOfStatus(look.error.code());
  if (status == PollStatus::kSuccess) return NotReady(look.error);
  if (status == PollStatus::kFailed) {
    look.hopeless = absl::StrCat("options.errors classifies ",
                                 absl::StatusCodeToString(look.error.code()),
                                 " as a final failure");
  }
  return {status, look.error};
}

const WaitPolicy& OneSuccessPolicy() {
  static const auto* const policy = new std::shared_ptr<const WaitPolicy>(
      WaitPolicy::Make({.timeout = absl::InfiniteDuration()}));
  return **policy;
}

// Writes with one call, so that lines of several threads do not mix.
void WriteToStandardError(std::string_view text) {
  std::fwrite(text.data(), 1, text.size(), stderr);
}

// Thrown to end a round.
struct EndOfRound {};

// The round of this thread's innermost block, if it runs one.
thread_local Round* own_round = nullptr;

// A subject whose polls run a block.
class BlockSubject final : public Subject {
  using RunRound = Round (*)(absl::FunctionRef<void()> block);

 public:
  BlockSubject(RunRound run_round, absl::FunctionRef<void()> block,
               const BlockHooks& hooks)
      : run_round_(run_round), block_(block), hooks_(hooks) {}

  Look Poll(bool /*describe*/) override {
    skip_.reset();
    details_.clear();
    std::exception_ptr thrown;
    const Round round = RunOnce(thrown);
    ++rounds_;
    Look look = LookAt(round);
    if (thrown != nullptr) {
      details_ = std::move(look.details);
      std::rethrow_exception(thrown);
    }
    skip_ = round.skip;
    return look;
  }

  std::string DetailsOfThrow() const override { return details_; }

  std::string Expected() const override {
    return "all assertions of the block pass in one run";
  }

  bool EndsTest(const std::exception_ptr& exception) const override {
    return hooks_.ends_test(exception);
  }

  void RecordLimitUsed(double share, const Site& site) const override {
    hooks_.record_limit_used(share, site);
  }

  std::vector<std::string> FailureCounts() const override {
    std::vector<std::string> lines;
    for (const auto& [place, count] : failed_rounds_) {
      lines.push_back(absl::StrCat(count, " of ", rounds_, " runs: ", place));
    }
    return lines;
  }

  // Returns why the last round skips the test, if it does.
  const std::optional<std::string>& skip() const { return skip_; }

 private:
  // Runs the block. Stores its exception in `thrown`, so that earlier failures
  // are not lost. Exceptions of the framework pass through.
  Round RunOnce(std::exception_ptr& thrown) {
    return run_round_([&] {
      WAITER_TRY { block_(); }
      WAITER_CATCH(...) {
        const std::exception_ptr exception = std::current_exception();
        if (Is<EndOfRound>(exception) || EndsTest(exception)) WAITER_RETHROW;
        thrown = exception;
      }
    });
  }

  // Counts the failures of a round and returns its `Look`.
  Look LookAt(const Round& round) {
    Look look;
    look.skipped = round.skip.has_value();
    look.matched = round.failures.empty();
    look.seen = round.failures.empty()
                    ? "all passed"
                    : absl::StrCat(round.failures.size(),
                                   round.failures.size() == 1 ? " failure"
                                                              : " failures");
    std::set<std::string> places;
    for (const Round::Failure& failure : round.failures) {
      std::string place = absl::StrCat(failure.file, ":", failure.line);
      absl::StrAppend(&look.details, look.details.empty() ? "" : "\n", place,
                      ": ", absl::StripTrailingAsciiWhitespace(failure.text));
      places.insert(std::move(place));
    }
    for (const std::string& place : places) ++failed_rounds_[place];
    return look;
  }

  RunRound run_round_;
  absl::FunctionRef<void()> block_;
  BlockHooks hooks_;
  int64_t rounds_ = 0;
  std::map<std::string, int64_t> failed_rounds_;  // By "file:line".
  std::optional<std::string> skip_;
  std::string details_;  // The failures before the exception of `Poll`.
};

// The polls of one assertion.
class Polls {
 public:
  Polls(const Site& site, const EventuallyOptions& options, const Plan& plan,
        Subject& subject)
      : site_(site),
        options_(options),
        plan_(plan),
        subject_(subject),
        // A wait that may fail after a success needs the text of its successes.
        describe_(!WaitPolicy::FirstSuccessSuffices(plan.wait) ||
                  plan.wait.polls.strict_deadline),
        history_(options.history_lines) {
    if (subject.MaySettle()) stop_ = waiter::stop_source();
  }

  // Makes one poll.
  void Make(const PollContext* context, Poll<>& found) {
    SayProgress(context);
    Look look = PollSubject(subject_, describe_, options_.retry_exceptions);
    found = Classify(site_.kind, options_.errors, look);
    if (look.settled && found.status() == PollStatus::kSuccess) {
      settled_ = true;
      stop_.request_stop();
    }
    if (found.status() == PollStatus::kSuccess && !describe_) return;
    history_.Add(
        {.look = std::move(look),
         .attempt = context == nullptr ? 1 : context->attempt,
         .at = context == nullptr ? absl::ZeroDuration() : context->elapsed});
  }

  waiter::stop_token stop_token() const { return stop_.get_token(); }
  bool settled() const { return settled_; }
  const PollHistory& history() const { return history_; }

 private:
  void SayProgress(const PollContext* context) {
    if (plan_.simulated || context == nullptr || context->attempt < 2 ||
        context->elapsed >= plan_.limit ||
        !heartbeat_.IsDue(context->elapsed)) {
      return;
    }
    WriteToStandardError(
        ProgressText(site_, options_, plan_, context->elapsed, history_));
  }

  const Site& site_;
  const EventuallyOptions& options_;
  const Plan& plan_;
  Subject& subject_;
  const bool describe_;
  PollHistory history_;
  bool settled_ = false;
  waiter::stop_source stop_{waiter::nostopstate};
  Heartbeat heartbeat_;
};

// Polls until the wait has ended.
void Wait(Plan& plan, Polls& polls, WaitReport& report) {
  const waiter::stop_token stop_token = polls.stop_token();
  const BlockingInputs inputs = {stop_token, std::nullopt,
                                 /*takes_context=*/true};
  std::optional<FirstPoll> first;
  if (WaitPolicy::FirstSuccessSuffices(plan.wait)) {
    // Most assertions end with this poll, before a policy is made.
    first.emplace();
    first->start = plan.clock->MonotonicNow();
    first->deadline =
        SaturatingAdd(first->start, absl::ToChronoNanoseconds(plan.limit));
    polls.Make(nullptr, report.last_poll);
    first->end = plan.clock->MonotonicNow();
    if (EndWithFirstPoll(OneSuccessPolicy(), *first, report)) return;
  }
  if (!plan.simulated && IsDebugged()) {
    plan.limit = absl::InfiniteDuration();
    plan.wait.timeout = absl::InfiniteDuration();
    if (first.has_value()) first->deadline = MonotonicTime::max();
  }
  const auto poll = [&](const PollContext* context, Poll<>& found) {
    polls.Make(context, found);
  };
  BlockingWait(*WaitPolicy::Make(plan.wait), inputs, first, poll, report);
}

// Returns the record of an assertion that passed on real time.
NearMiss PassOf(const Site& site, const EventuallyOptions& options,
                const Plan& plan, const WaitReport& report) {
  const bool is_infinite = plan.requested_limit == absl::InfiniteDuration();
  return {.where = absl::StrCat(site.file, ":", site.line),
          .expression = ShortNameOf(site, options),
          .used = report.elapsed,
          .limit = is_infinite ? plan.limit : plan.requested_limit,
          .scale = is_infinite
                       ? 1
                       : absl::FDivDuration(plan.limit, plan.requested_limit)};
}

// Runs an assertion whose options are complete.
absl::Status RunPlanned(const Site& site, const EventuallyOptions& options,
                        Plan& plan, Subject& subject) {
  std::optional<RunningClock> running;
  if (!plan.simulated) {
    running.emplace(*plan.clock, plan.max_stopped, IsDebugged);
    plan.clock = plan.wait.clock = &*running;
  }
  Polls polls(site, options, plan, subject);
  WaitReport report;
  Wait(plan, polls, report);
  if (running.has_value()) plan.stopped = running->stopped();

  if (report.reason != StopReason::kSuccess && !polls.settled()) {
    return {report.status.code(),
            FailureText(site, options, plan, subject, report, polls.history())};
  }
  if (!plan.simulated && plan.limit > absl::ZeroDuration() &&
      plan.limit < absl::InfiniteDuration()) {
    const double share = absl::FDivDuration(report.elapsed, plan.limit);
    subject.RecordLimitUsed(share, site);
    if (share > NearMissList::kShare) {
      RecordPass(PassOf(site, options, plan, report));
    }
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status Run(const Site& site, const EventuallyOptions& options,
                 Subject& subject) {
  const std::optional<EventuallyOptions> completed =
      CompleteOptions(site.kind, options);
  const EventuallyOptions& complete =
      completed.has_value() ? *completed : options;
  absl::StatusOr<Plan> plan =
      subject.MaySettle() && !MustHold(site.kind)
          ? absl::InvalidArgumentError(
                "PassIf is for CONSISTENTLY and NEVER; EVENTUALLY passes with "
                "the first match, so put the value into its matcher")
          : MakePlan(site, complete);
  if (!plan.ok()) {
    return absl::InvalidArgumentError(
        MisuseText(site, complete, plan.status()));
  }
  return RunPlanned(site, complete, *plan, subject);
}

absl::Status Run(const Site& site, Subject& subject) {
  static const auto* const defaults = new EventuallyOptions();
  return Run(site, *defaults, subject);
}

absl::Status RunRounds(const Site& site, const EventuallyOptions* options,
                       const BlockHooks& hooks,
                       Round (*run_round)(absl::FunctionRef<void()> block),
                       absl::FunctionRef<void()> block,
                       std::optional<std::string>& skip) {
  BlockSubject subject(run_round, block, hooks);
  absl::Status status =
      options == nullptr ? Run(site, subject) : Run(site, *options, subject);
  if (status.ok()) skip = subject.skip();
  return status;
}

Round RunOwnRound(absl::FunctionRef<void()> block) {
  Round round;
  Round* const outer = std::exchange(own_round, &round);
  const absl::Cleanup restore = [&] { own_round = outer; };
  WAITER_TRY { block(); }
  WAITER_CATCH(const EndOfRound&) {
    // The failure that ended it is in the round.
  }
  return round;
}

bool FailRound(Round::Failure failure, bool ends_round) {
  if (own_round == nullptr) return false;
  own_round->failures.push_back(std::move(failure));
  if (ends_round) {
#ifdef ABSL_HAVE_EXCEPTIONS
    throw EndOfRound();
#else
    std::abort();
#endif
  }
  return true;
}

std::string Quote(std::string_view text) {
  return absl::StrCat("\"", absl::Utf8SafeCEscape(ToAbsl(text)), "\"");
}

}  // namespace waiter::internal::eventually
