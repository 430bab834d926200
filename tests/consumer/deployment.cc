// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

#include "deployment.h"

#include <functional>
#include <string>
#include <utility>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "waiter/classify.h"
#include "waiter/options.h"
#include "waiter/poll.h"
#include "waiter/result.h"
#include "waiter/waiter.h"

waiter::WaitResult<std::string> AwaitReady(
    const std::function<absl::StatusOr<std::string>()>& ask,
    waiter::WaitOptions options) {
  options.name = "deployment";
  options.timeout = absl::Minutes(5);
  waiter::Waiter wait(
      [&ask]() -> waiter::Poll<std::string> {
        absl::StatusOr<std::string> state = ask();
        if (!state.ok()) return waiter::FromStatus(state.status());
        if (*state != "READY") return waiter::NotReady(*state);
        return waiter::Success(*std::move(state));
      },
      std::move(options));
  return wait.Wait();
}
