// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// `waiter durable work`: polls durable waits until a signal ends it, and runs a
// program on the end of each.
//
//   waiter durable work --store=jobs.db jobs --every=10s -- ./publish

#ifndef WAITER_CLI_COMMANDS_DURABLE_WORK_H_
#define WAITER_CLI_COMMANDS_DURABLE_WORK_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "cli/commands/subcommand.h"

namespace waiter::cli {

std::vector<std::string> DurableWorkFlagNames();

// Returns OK after SIGTERM, SIGINT or SIGHUP.
absl::Status DurableWork(const Invocation& invocation);

}  // namespace waiter::cli

#endif  // WAITER_CLI_COMMANDS_DURABLE_WORK_H_
