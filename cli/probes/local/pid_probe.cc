// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

#include "cli/probes/local/pid_probe.h"

#include "cli/probes/probe.h"
#include "waiter/poll.h"

namespace waiter::cli {

void PidProbe::Start(const PollContext& /*context*/, Done done) {
  if (known_.Running()) {
    done({.status = PollStatus::kSuccess, .detail = "running"});
  } else {
    done({.detail = "no such process", .absent = true});
  }
}

}  // namespace waiter::cli
