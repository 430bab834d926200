// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// Reads any bytes as a saved wait, also with a correct checksum. A wait that is
// accepted continues with random options until it ends. It is saved again at
// each sleep, and each saved wait can be parsed.

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "tests/support/check_that.h"
#include "tests/support/crc32c.h"
#include "waiter/backoff.h"
#include "waiter/clock.h"
#include "waiter/loop.h"
#include "waiter/options.h"
#include "waiter/policy.h"
#include "waiter/poll.h"
#include "waiter/result.h"
#include "waiter/token.h"

namespace {

using waiter::ClockReading;
using waiter::MonotonicTime;
using waiter::NextStep;
using waiter::WaitToken;

void GoOn(const WaitToken& token, uint64_t seed) {
  waiter::SplitMix64 gen(seed);
  waiter::WaitOptions options;
  options.name = token.name();
  options.timeout = absl::Minutes(5);
  options.max_attempts = token.attempts() < INT64_MAX - 10
                             ? token.attempts() + 10
                             : token.attempts();
  if (*options.max_attempts < 1) options.max_attempts = 1;
  options.hooks.history_limit = static_cast<int64_t>(gen() % 4);
  if (gen() % 2 == 0) {
    options.backoff.jitter = waiter::Jitter::Decorrelated();
  }
  const auto policy = waiter::WaitPolicy::Make(options);
  CHECK_THAT(policy->status().ok());

  ClockReading now = {MonotonicTime(std::chrono::nanoseconds(gen() >> 8)),
                      token.written() + absl::Nanoseconds(static_cast<int64_t>(
                                            gen() >> (2 + gen() % 62)))};
  waiter::WaitReport report;
  waiter::WaitLoop loop(*policy, report);
  const auto go_on = [] { return false; };
  NextStep step =
      loop.Resume(now.monotonic, waiter::RestoreWait(token, now), go_on);
  while (step.action() != NextStep::Action::kFinish) {
    if (step.action() == NextStep::Action::kPoll) {
      report.last_poll = waiter::Poll<>(
          static_cast<waiter::PollStatus>(gen() % 5), std::string("fuzz"));
      step = loop.OnPoll(now.monotonic, gen, go_on);
      continue;
    }
    CHECK_THAT(step.wake_up() >= now.monotonic);
    const WaitToken saved = waiter::SaveWait(loop.state(), report, loop.name(),
                                             step.wake_up(), now);
    const absl::StatusOr<WaitToken> parsed = WaitToken::Parse(saved.bytes());
    CHECK_THAT(parsed.ok());
    CHECK_THAT(parsed->attempts() == report.attempts);
    if (step.wake_up() == MonotonicTime::max()) return;
    now.wall += absl::FromChrono(step.wake_up() - now.monotonic);
    now.monotonic = step.wake_up();
    step = loop.OnWake(now.monotonic, go_on);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  const uint64_t seed = data[0];
  const std::string bytes(data + 1, data + size);
  for (const std::string& given :
       {bytes, waiter::WithChecksum("\xD7W\x01" + bytes)}) {
    const absl::StatusOr<WaitToken> token = WaitToken::Parse(given);
    if (!token.ok() || token->empty()) continue;
    CHECK_THAT(token->bytes() == given);
    CHECK_THAT(token->name().size() <= 128);
    GoOn(*token, seed);
  }
  return 0;
}
