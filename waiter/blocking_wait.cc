// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

#include "waiter/blocking_wait.h"

#include <cstdint>
#include <limits>
#include <optional>
#include <stop_token>

#include "absl/cleanup/cleanup.h"
#include "absl/random/bit_gen_ref.h"
#include "waiter/clock.h"
#include "waiter/poll_context.h"
#include "waiter/split_mix64.h"
#include "waiter/wait_loop.h"
#include "waiter/wait_policy.h"
#include "waiter/wait_result.h"

namespace waiter {
namespace {

// Seeds itself when it is first drawn from, which most waits never do.
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

}  // namespace

void BlockingWait(const WaitPolicy& policy, const std::stop_token& stop,
                  std::optional<absl::BitGenRef> gen, bool takes_context,
                  BlockingPoll poll, WaitReport& report) {
  Clock& clock = policy.clock();
  WaitLoop loop(policy, report);
  LazyGenerator own_gen(policy.options().seed);
  const absl::BitGenRef used_gen =
      gen.has_value() ? *gen : absl::BitGenRef(own_gen);
  const auto stop_requested = [&stop] { return stop.stop_requested(); };

  const bool exact_start =
      policy.has_deadline() || policy.needs_exact_times() || takes_context;
  const MonotonicTime start =
      exact_start ? clock.MonotonicNow()
                  : clock.MonotonicNowBefore(MonotonicTime::max());
  NextStep step = loop.Start(start, policy.DeadlineFrom(start), stop_requested);

  absl::Cleanup abandon = [&] { loop.Abandon(clock.MonotonicNow()); };
  while (step.action() != NextStep::Action::kFinish) {
    if (step.action() == NextStep::Action::kPoll) {
      if (takes_context) {
        PollContext context = loop.Context(clock.TimeNow());
        context.stop_token = stop;
        poll(&context, report.last_poll);
      } else {
        poll(nullptr, report.last_poll);
      }
      const MonotonicTime now = loop.NeedsExactTime()
                                    ? clock.MonotonicNow()
                                    : clock.MonotonicNowBefore(loop.deadline());
      step = loop.OnPoll(now, used_gen, stop_requested);
    } else {
      clock.SleepUntil(step.wake_up(), stop, policy.options().name);
      step = loop.OnWake(clock.MonotonicNow(), stop_requested);
    }
  }
  std::move(abandon).Cancel();
}

}  // namespace waiter
