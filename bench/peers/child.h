// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// Runs another program to its end.

#ifndef WAITER_BENCH_PEERS_CHILD_H_
#define WAITER_BENCH_PEERS_CHILD_H_

#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace waiter::bench {

// Runs `command`, a program and its arguments, only on the processor `cpu`, or
// on all processors if `cpu` is unset, and returns its output. Looks for the
// program in $PATH if its name has no slash. Returns kInternal if it cannot be
// run or exits with a code other than 0.
absl::StatusOr<std::string> RunOnCpu(std::optional<int> cpu,
                                     const std::vector<std::string>& command);

}  // namespace waiter::bench

#endif  // WAITER_BENCH_PEERS_CHILD_H_
