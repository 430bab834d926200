// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// The steps of a loop at every poll of every wait, as templates that a driver
// of this library inlines together with its generator, its stop request and its
// clock:
//
//   NextStep step = internal::LoopSteps::OnPoll(loop, now, gen, stop_requested,
//                                               read_time);
//
// `WaitLoop::OnPoll` and `OnWake` are the same with erased types, so all
// drivers decide alike. decide.h has the decisions.

#ifndef WAITER_LOOP_STEPS_H_
#define WAITER_LOOP_STEPS_H_

#include <algorithm>
#include <bit>
#include <chrono>
#include <cstdint>
#include <optional>

#include "absl/base/attributes.h"
#include "absl/random/bit_gen_ref.h"
#include "waiter/backoff.h"
#include "waiter/clock.h"
#include "waiter/decide.h"
#include "waiter/delay.h"
#include "waiter/loop.h"
#include "waiter/loop_budgets.h"
#include "waiter/loop_report.h"
#include "waiter/policy.h"
#include "waiter/poll.h"
#include "waiter/result.h"

namespace waiter::internal {

ABSL_ATTRIBUTE_ALWAYS_INLINE inline NextStep BeginSleep(ActiveWait& wait,
                                                        MonotonicTime now,
                                                        Delay delay,
                                                        bool plain) {
  wait.state.step_started = now;
  wait.state.asleep = true;
  if (!plain && wait.policy.keeps_details()) ReportSleep(wait, now, delay);
  return NextStep::SleepUntil(SaturatingAdd(now, delay.length));
}

inline void EndSleep(ActiveWait& wait, MonotonicTime now) {
  wait.state.slept += now - wait.state.step_started;
  wait.state.step_started = now;
  wait.state.asleep = false;
}

inline NextStep BeginPoll(ActiveWait& wait, MonotonicTime now) {
  if (wait.policy.has_budgets()) {
    if (const std::optional<Delay> delay = LimiterDelay(wait, now)) {
      wait.state.sleep_is_fixed = true;
      return BeginSleep(wait, now, *delay, /*plain=*/false);
    }
    wait.state.poll_is_booked = false;
  }
  if (wait.policy.observer() != nullptr) ReportBeforePoll(wait);
  return NextStep::Poll();
}

ABSL_ATTRIBUTE_ALWAYS_INLINE inline NextStep PollAfter(ActiveWait& wait,
                                                       MonotonicTime now,
                                                       Delay delay,
                                                       bool plain) {
  if (!plain && wait.policy.keeps_details()) ReportDelay(wait, delay);
  if (delay.length > std::chrono::nanoseconds::zero()) {
    return BeginSleep(wait, now, delay, plain);
  }
  wait.state.step_started = now;
  return plain ? NextStep::Poll() : BeginPoll(wait, now);
}

// Tells a generator when the delays begin that are drawn from it next.
template <typename Gen>
void BeginDelays(Gen& /*gen*/, MonotonicTime /*now*/) {}

// For drivers.
class LoopSteps {
 public:
  // As `WaitLoop::OnPoll`. `gen` is an `absl::BitGenRef` or a `GivenOrOwnGen`.
  // `read_time` is called only if there is an observer.
  template <typename Gen, typename StopRequested, typename ReadTime>
  ABSL_ATTRIBUTE_ALWAYS_INLINE static NextStep OnPoll(
      WaitLoop& loop, MonotonicTime now, Gen& gen, StopRequested stop_requested,
      ReadTime read_time, bool plain = false) {
    ActiveWait& wait = loop.wait_;
    const MonotonicTime answered = now;
    RecordPoll(wait, answered, plain);
    if (!plain && wait.policy.observer() != nullptr) {
      now = std::max(now, read_time());
    }
    BeginDelays(gen, now);
    const Decision decision =
        Decide(wait, answered, now, gen, stop_requested, plain);
    return decision.is_end ? Finish(wait, decision.reason, answered, now)
                           : PollAfter(wait, now, decision.delay, plain);
  }

  // The same for a loop that is made for this call, where `IsPlain` holds for
  // policy and answer. Returns nullopt if the wait ends; then a new loop must
  // take the answer by `OnPoll`.
  template <typename Gen, typename StopRequested>
  ABSL_ATTRIBUTE_ALWAYS_INLINE static std::optional<NextStep> OnPlainPoll(
      WaitLoop& loop, MonotonicTime now, Gen& gen,
      StopRequested stop_requested) {
    ActiveWait& wait = loop.wait_;
    RecordPoll(wait, now, /*plain=*/true);
    BeginDelays(gen, now);
    const Decision decision =
        Decide(wait, now, now, gen, stop_requested, /*plain=*/true);
    if (decision.is_end) return std::nullopt;
    return PollAfter(wait, now, decision.delay, /*plain=*/true);
  }

  // As `WaitLoop::OnWake`.
  template <typename StopRequested>
  static NextStep OnWake(WaitLoop& loop, MonotonicTime now,
                         StopRequested stop_requested) {
    ActiveWait& wait = loop.wait_;
    EndSleep(wait, now);
    if (stop_requested()) return Finish(wait, StopReason::kCancelled, now);
    // Row 9 of the table in docs/design.md, with `delay_when_refused`.
    if (wait.state.refused) return Finish(wait, StopReason::kQuota, now);
    if (wait.state.is_resumed) ForgetLastPoll(wait);
    return BeginPoll(wait, now);
  }

  // The same for a plain wait without a request to stop: a poll follows.
  static void OnPlainWake(WaitLoop& loop, MonotonicTime now) {
    EndSleep(loop.wait_, now);
  }
};

// Moves a delay from `now` that was drawn from `[low, high]` to the nearest of
// the instants that all waits share, so that waits whose delays are random
// anyway wake up together. It stays in the interval, and moves by at most 1/32
// of it, and by at most 17 ms; by half of that except near the ends. Instants
// of a wide interval are also instants of narrower ones.
inline std::chrono::nanoseconds ToSharedInstant(
    MonotonicTime now, std::chrono::nanoseconds low,
    std::chrono::nanoseconds high, std::chrono::nanoseconds delay) {
  // Longer gaps would save little more, and make bursts of polls.
  constexpr uint64_t kLongestGap = uint64_t{1} << 24;
  if (low >= high) return delay;
  // A power of two, so that the sum below may overflow.
  const uint64_t gap =
      std::min(std::bit_floor(static_cast<uint64_t>((high - low).count())) / 32,
               kLongestGap);
  if (gap == 0) return delay;
  const uint64_t end = static_cast<uint64_t>(now.time_since_epoch().count()) +
                       static_cast<uint64_t>(delay.count());
  const uint64_t behind = end & (gap - 1);
  const std::chrono::nanoseconds step(static_cast<int64_t>(gap));
  delay -= std::chrono::nanoseconds(static_cast<int64_t>(behind));
  return delay < low || (behind > gap / 2 && delay + step <= high)
             ? delay + step
             : delay;
}

// The generator that a caller has given, or else the driver's, from which a
// delay is drawn without a call through a pointer.
template <typename Own>
class GivenOrOwnGen {
 public:
  // `given` may be null. Both must outlive this.
  GivenOrOwnGen(absl::BitGenRef* given, Own& own) : given_(given), own_(own) {}

  // Makes delays from the driver's own generator end at shared instants, or
  // rather earlier than these by `phase`.
  void ShareInstants(std::chrono::nanoseconds phase) { phase_ = phase; }

  // NOLINTNEXTLINE(google-explicit-constructor): for code without templates
  operator absl::BitGenRef() const {
    return given_ == nullptr ? absl::BitGenRef(own_) : *given_;
  }

 private:
  friend std::chrono::nanoseconds UniformDelay(std::chrono::nanoseconds low,
                                               std::chrono::nanoseconds high,
                                               GivenOrOwnGen& gen) {
    if (gen.given_ != nullptr) {
      return waiter::UniformDelay(low, high, *gen.given_);
    }
    const auto delay = waiter::UniformDelay(low, high, gen.own_);
    return gen.phase_.has_value()
               ? ToSharedInstant(SaturatingAdd(gen.start_, *gen.phase_), low,
                                 high, delay)
               : delay;
  }
  friend void BeginDelays(GivenOrOwnGen& gen, MonotonicTime now) {
    gen.start_ = now;
  }

  absl::BitGenRef* const given_;
  Own& own_;
  std::optional<std::chrono::nanoseconds> phase_;
  MonotonicTime start_;
};

}  // namespace waiter::internal

#endif  // WAITER_LOOP_STEPS_H_
