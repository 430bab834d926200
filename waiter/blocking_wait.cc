// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

#include "waiter/internal/blocking_wait.h"

#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>

#include "absl/cleanup/cleanup.h"
#include "absl/random/bit_gen_ref.h"
#include "waiter/backoff.h"
#include "waiter/clock.h"
#include "waiter/decide.h"
#include "waiter/internal/blocked_engine.h"
#include "waiter/internal/first_poll.h"
#include "waiter/loop.h"
#include "waiter/loop_steps.h"
#include "waiter/policy.h"
#include "waiter/poll.h"
#include "waiter/result.h"
#include "waiter/waiter.h"

namespace waiter::internal {
namespace {

// A generator that is seeded at its first draw. Most waits never draw.
class LazyGenerator {
 public:
  using result_type = uint64_t;

  explicit LazyGenerator(std::optional<uint64_t> seed) : seed_(seed) {}

  static constexpr result_type min() { return SplitMix64::min(); }
  static constexpr result_type max() { return SplitMix64::max(); }

  result_type operator()() {
    if (!generator_.has_value()) {
      generator_ =
          seed_.has_value() ? SplitMix64(*seed_) : MakeSeededSplitMix64();
    }
    return (*generator_)();
  }

 private:
  std::optional<uint64_t> seed_;
  std::optional<SplitMix64> generator_;
};

// Sleeps until `wake_up`, a stop or a notification. Returns whether it was a
// notification, and then adds it to `notifications`.
bool Sleep(Clock& clock, MonotonicTime wake_up, const BlockingInputs& inputs,
           std::string_view name, uint64_t& notifications) {
  if (inputs.notifier == nullptr) {
    clock.SleepUntil(wake_up, inputs.stop, name);
    return false;
  }
  if (!inputs.notifier->SleepUntil(clock, wake_up, inputs.stop, name,
                                   notifications)) {
    return false;
  }
  notifications = inputs.notifier->count();
  return true;
}

// Returns the first step of a wait that begins now, or that its token resumes.
template <typename StopRequested>
NextStep Begin(WaitLoop& loop, const WaitPolicy& policy,
               const BlockingInputs& inputs, StopRequested stop_requested) {
  Clock& clock = policy.clock();
  const MonotonicTime start = clock.MonotonicNow();
  if (inputs.token == nullptr) {
    return loop.Start(start, policy.DeadlineFrom(start), stop_requested);
  }
  return loop.Resume(start,
                     RestoreWait(*inputs.token, {start, clock.TimeNow()}),
                     stop_requested);
}

// Fills in `found` by a poll and returns when the poll ended.
MonotonicTime MakePoll(Clock& clock, const WaitLoop& loop,
                       const BlockingInputs& inputs, BlockingPoll poll,
                       waiter::Poll<>& found) {
  if (inputs.takes_context) {
    PollContext context = loop.Context(clock.TimeNow());
    context.stop_token = inputs.stop;
    poll(&context, found);
  } else {
    poll(nullptr, found);
  }
  return loop.NeedsExactTime() ? clock.MonotonicNow()
                               : clock.MonotonicNowBefore(loop.deadline());
}

}  // namespace

void BlockingWait(const WaitPolicy& policy, const BlockingInputs& inputs,
                  std::optional<FirstPoll> first_poll, BlockingPoll poll,
                  WaitReport& report) {
  Clock& clock = policy.clock();
  WaitLoop loop(policy, report);
  LazyGenerator own_gen(policy.options().hooks.seed);
  std::optional<absl::BitGenRef> given_gen = inputs.gen;
  GivenOrOwnGen gen(given_gen.has_value() ? &*given_gen : nullptr, own_gen);
  const auto stop_requested = [&] { return inputs.stop.stop_requested(); };
  // Hooks are short: their time matters only near the deadline.
  const auto read_clock = [&] {
    return clock.MonotonicNowBefore(loop.deadline());
  };
  const bool is_plain = IsPlain(policy);
  const auto on_poll = [&](MonotonicTime now) {
    return is_plain && IsPlain(report.last_poll)
               ? LoopSteps::OnPoll(loop, now, gen, stop_requested, read_clock,
                                   /*plain=*/true)
               : LoopSteps::OnPoll(loop, now, gen, stop_requested, read_clock,
                                   /*plain=*/false);
  };

  NextStep step = NextStep::Poll();
  if (first_poll.has_value()) {
    loop.Start(first_poll->start, first_poll->deadline, [] { return false; });
    step = on_poll(first_poll->end);
  } else {
    step = Begin(loop, policy, inputs, stop_requested);
  }

  absl::Cleanup on_exception = [&] {
    loop.EndWithException(clock.MonotonicNow());
    policy.CallOnFailureAfter(loop.name(), report);
  };
  // The calls of the notifier that polls have met.
  uint64_t notifications =
      inputs.notifier == nullptr ? 0 : inputs.notifier->count();
  while (step.action() != NextStep::Action::kFinish) {
    if (step.action() == NextStep::Action::kPoll) {
      if (inputs.notifier != nullptr) notifications = inputs.notifier->count();
      step = on_poll(MakePoll(clock, loop, inputs, poll, report.last_poll));
    } else {
      CountBlockingSleep(loop.name());
      if (Sleep(clock, step.wake_up(), inputs, loop.name(), notifications)) {
        const MonotonicTime now = clock.MonotonicNow();
        if (const std::optional<NextStep> next =
                loop.OnNotified(now, stop_requested)) {
          step = *next;
        }
      } else {
        step = LoopSteps::OnWake(loop, clock.MonotonicNow(), stop_requested);
      }
    }
  }
  std::move(on_exception).Cancel();
  policy.CallOnFailureAfter(loop.name(), report);
}

}  // namespace waiter::internal
