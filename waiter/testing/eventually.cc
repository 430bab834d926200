// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

#include "waiter/testing/eventually.h"

#include <cxxabi.h>

#include <cstdio>
#include <cstdlib>
#include <exception>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <typeinfo>
#include <utility>

#include "absl/cleanup/cleanup.h"
#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/time/time.h"
#include "gtest/gtest-spi.h"
#include "gtest/gtest.h"
#include "waiter/clock.h"
#include "waiter/internal/blocking_wait.h"
#include "waiter/internal/first_poll.h"
#include "waiter/internal/heartbeat.h"
#include "waiter/policy.h"
#include "waiter/poll.h"
#include "waiter/result.h"
#include "waiter/stop_token.h"
#include "waiter/testing/eventually_message.h"
#include "waiter/testing/eventually_plan.h"
#include "waiter/testing/internal/eventually_subject.h"
#include "waiter/testing/test_limits.h"

namespace waiter::internal::eventually {
namespace {

constexpr const char* kLimitUsed = "eventually_limit_used";
constexpr const char* kLimitUsedAt = "eventually_limit_used_at";

// Returns a description of the exception that is being handled. Requires one.
std::string DescribeException() {
  const std::type_info* const type = abi::__cxa_current_exception_type();
  std::string text = "threw ";
  if (type == nullptr) return text + "an exception";
  const std::unique_ptr<char, decltype(&std::free)> name(
      abi::__cxa_demangle(type->name(), nullptr, nullptr, nullptr), &std::free);
  text += name != nullptr ? name.get() : type->name();
  try {
    throw;
  } catch (const std::exception& exception) {
    absl::StrAppend(&text, ": ", exception.what());
  } catch (...) {
  }
  return text;
}

Look PollSubject(Subject& subject, bool describe,
                 const ExceptionFilter& retry_exceptions) {
  try {
    return subject.Poll(describe);
  } catch (const testing::AssertionException&) {
    throw;  // Part of how GoogleTest ends a test.
  } catch (...) {
    Look look;
    look.threw = true;
    look.seen = DescribeException();
    if (!retry_exceptions || !retry_exceptions(std::current_exception())) {
      look.hopeless = look.seen;
    }
    return look;
  }
}

// Returns the poll that `look` means to the wait, and notes in `look` if more
// polls are useless.
Poll<> Classify(Kind kind, const ErrorClassifier& errors, Look& look) {
  const absl::Status gone = absl::FailedPreconditionError("gave up");
  if (look.hopeless.has_value()) return Failed(gone);
  if (MustHold(kind)) {
    return look.matched == (kind == Kind::kConsistently) ? Success()
                                                         : Failed(gone);
  }
  if (look.matched || look.skip.has_value()) return Success();
  if (look.threw) return ServerError();
  if (look.error.ok()) return NotReady();
  const PollStatus status = LimitOf(look.error).has_value()
                                ? PollStatus::kFailed
                                : errors.ClassOfStatus(look.error.code());
  if (status == PollStatus::kSuccess) return NotReady(look.error);
  if (status == PollStatus::kFailed) {
    look.hopeless = absl::StrCat("options.errors takes ",
                                 absl::StatusCodeToString(look.error.code()),
                                 " for a final failure");
  }
  return {status, look.error};
}

// Records the share of its limit that an assertion used, if it is the largest
// of this test.
void RecordLimitUsed(double share, const Site& site) {
  if (share < 0.005) return;
  const testing::TestInfo* const test =
      testing::UnitTest::GetInstance()->current_test_info();
  if (test == nullptr) return;
  static std::mutex mutex;
  const std::lock_guard lock(mutex);
  const testing::TestResult& result = *test->result();
  for (int i = 0; i < result.test_property_count(); ++i) {
    const testing::TestProperty& property = result.GetTestProperty(i);
    double recorded = 0;
    if (property.key() == std::string_view(kLimitUsed) &&
        absl::SimpleAtod(property.value(), &recorded) && recorded >= share) {
      return;
    }
  }
  testing::Test::RecordProperty(kLimitUsed, absl::StrFormat("%.2f", share));
  testing::Test::RecordProperty(kLimitUsedAt,
                                absl::StrCat(site.file, ":", site.line));
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

// A subject whose polls run a block and catch its failures.
class BlockSubject final : public Subject {
 public:
  explicit BlockSubject(absl::FunctionRef<void()> block) : block_(block) {}

  Look Poll(bool /*describe*/) override {
    testing::TestPartResultArray parts;
    {
      // These flags act on a failure before it can be caught.
      const bool breaks = GTEST_FLAG_GET(break_on_failure);
      const bool throws = GTEST_FLAG_GET(throw_on_failure);
      GTEST_FLAG_SET(break_on_failure, false);
      GTEST_FLAG_SET(throw_on_failure, false);
      const absl::Cleanup restore = [&] {
        GTEST_FLAG_SET(break_on_failure, breaks);
        GTEST_FLAG_SET(throw_on_failure, throws);
      };
      const testing::ScopedFakeTestPartResultReporter reporter(
          testing::ScopedFakeTestPartResultReporter::
              INTERCEPT_ONLY_CURRENT_THREAD,
          &parts);
      block_();
    }
    Look look;
    int failures = 0;
    for (int i = 0; i < parts.size(); ++i) {
      const testing::TestPartResult& part = parts.GetTestPartResult(i);
      if (part.skipped()) look.skip = Text(part);
      if (!part.failed()) continue;
      ++failures;
      absl::StrAppend(&look.details, look.details.empty() ? "" : "\n",
                      Text(part));
    }
    look.matched = failures == 0;
    look.seen = failures == 0   ? "all passed"
                : failures == 1 ? "1 failure"
                                : absl::StrCat(failures, " failures");
    return look;
  }

  std::string Expected() const override {
    return "all assertions of the block pass in one run";
  }

 private:
  static std::string Text(const testing::TestPartResult& part) {
    return absl::StrCat(part.file_name() == nullptr ? "" : part.file_name(),
                        ":", part.line_number(), ": ",
                        absl::StripTrailingAsciiWhitespace(part.message()));
  }

  absl::FunctionRef<void()> block_;
};

}  // namespace

absl::Status Run(const Site& site, const EventuallyOptions& options,
                 Subject& subject) {
  if (subject.MaySettle() && !MustHold(site.kind)) {
    return absl::InvalidArgumentError(MisuseText(
        site, options,
        absl::InvalidArgumentError(
            "PassIf is for CONSISTENTLY and NEVER; EVENTUALLY passes with the "
            "first match, so put the value into its matcher")));
  }
  absl::StatusOr<Plan> plan = MakePlan(site, options);
  if (!plan.ok()) {
    return absl::InvalidArgumentError(MisuseText(site, options, plan.status()));
  }
  PollHistory history(options.history_lines);
  const bool one_success_suffices =
      WaitPolicy::FirstSuccessSuffices(plan->wait);
  // A wait that may fail after a success needs the text of its successes.
  const bool describe =
      !one_success_suffices || plan->wait.polls.strict_deadline;
  std::optional<std::string> skip;
  bool settled = false;
  waiter::stop_source stop{waiter::nostopstate};
  if (subject.MaySettle()) stop = waiter::stop_source();
  Heartbeat heartbeat;
  const auto poll = [&](const PollContext* context, Poll<>& found) {
    if (!plan->simulated && context != nullptr && context->attempt > 1 &&
        context->elapsed < plan->limit && heartbeat.IsDue(context->elapsed)) {
      WriteToStandardError(
          ProgressText(site, options, *plan, context->elapsed, history));
    }
    Look look = PollSubject(subject, describe, options.retry_exceptions);
    found = Classify(site.kind, options.errors, look);
    skip = look.skip;
    if (look.settled && found.status() == PollStatus::kSuccess) {
      settled = true;
      stop.request_stop();
    }
    if (found.status() == PollStatus::kSuccess && !describe) return;
    history.Add(
        {.look = std::move(look),
         .attempt = context == nullptr ? 1 : context->attempt,
         .at = context == nullptr ? absl::ZeroDuration() : context->elapsed});
  };

  WaitReport report;
  const waiter::stop_token stop_token = stop.get_token();
  const BlockingInputs inputs = {stop_token, std::nullopt,
                                 /*takes_context=*/true};
  std::optional<FirstPoll> first;
  if (one_success_suffices) {
    // Most assertions end with this poll, before a policy is made.
    first.emplace();
    first->start = plan->clock->MonotonicNow();
    first->deadline =
        SaturatingAdd(first->start, absl::ToChronoNanoseconds(plan->limit));
    poll(nullptr, report.last_poll);
    first->end = plan->clock->MonotonicNow();
  }
  if (!first.has_value() ||
      !EndWithFirstPoll(OneSuccessPolicy(), *first, report)) {
    if (!plan->simulated && IsDebugged()) {
      plan->limit = absl::InfiniteDuration();
      plan->wait.timeout = absl::InfiniteDuration();
      if (first.has_value()) first->deadline = MonotonicTime::max();
    }
    BlockingWait(*WaitPolicy::Make(plan->wait), inputs, first, poll, report);
  }

  if (report.reason != StopReason::kSuccess && !settled) {
    return {report.status.code(),
            FailureText(site, options, *plan, subject, report, history)};
  }
  if (skip.has_value()) [&] { GTEST_SKIP() << *skip; }();
  if (!plan->simulated && plan->limit > absl::ZeroDuration() &&
      plan->limit < absl::InfiniteDuration()) {
    RecordLimitUsed(absl::FDivDuration(report.elapsed, plan->limit), site);
  }
  return absl::OkStatus();
}

absl::Status Run(const Site& site, Subject& subject) {
  return Run(site, EventuallyOptions(), subject);
}

absl::Status RunBlock(const Site& site, absl::FunctionRef<void()> block) {
  return RunBlock(site, block, EventuallyOptions());
}

absl::Status RunBlock(const Site& site, absl::FunctionRef<void()> block,
                      const EventuallyOptions& options) {
  BlockSubject subject(block);
  return Run(site, options, subject);
}

}  // namespace waiter::internal::eventually
