// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

#include "await_job.h"

#include <utility>

#include "absl/time/time.h"
#include "waiter/poll.h"
#include "waiter/waiter.h"

absl::Status AwaitJob(const std::function<std::string()>& state,
                      waiter::WaitOptions options) {
  options.name = "job";
  if (!options.timeout.has_value()) options.timeout = absl::Minutes(1);
  waiter::Waiter wait(
      [&]() -> waiter::Poll<> {
        const std::string now = state();
        if (now == "DONE") return waiter::Success();
        if (now == "FAILED") return waiter::Failed("the job failed");
        return waiter::NotReady(now);
      },
      std::move(options));
  return wait.Wait().status();
}
