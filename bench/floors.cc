// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

#include "bench/floors.h"

#include <cstdint>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "waiter/poll.h"

namespace waiter::bench {
namespace {

class NoSleeper final : public Sleeper {
 public:
  void Sleep(int64_t milliseconds) override { slept_ += milliseconds; }

 private:
  int64_t slept_ = 0;
};

}  // namespace

PollStatus AskStatus(Countdown& target) {
  return --target.polls <= 0 ? PollStatus::kSuccess : PollStatus::kNotReady;
}

bool AskBool(Countdown& target) { return --target.polls <= 0; }

absl::Status AskAbslStatus(Countdown& target) {
  return --target.polls <= 0 ? absl::OkStatus() : absl::UnavailableError("");
}

Poll<int> AskPoll(Countdown& target) {
  if (--target.polls <= 0) return Success(42);
  return NotReady();
}

absl::StatusOr<int> AskStatusOr(Countdown& target) {
  if (--target.polls <= 0) return 42;
  return absl::UnavailableError("");
}

Sleeper& GetNoSleeper() {
  static auto* const sleeper = new NoSleeper;
  return *sleeper;
}

}  // namespace waiter::bench
