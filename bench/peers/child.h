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

// Runs `command`, a program and its arguments, on the processor `cpu` alone, or
// on all if there is none, and returns its output. The program is looked for in
// $PATH if it has no slash. Returns kInternal if it cannot be run, or exits
// with another code than 0.
absl::StatusOr<std::string> RunOnCpu(std::optional<int> cpu,
                                     const std::vector<std::string>& command);

}  // namespace waiter::bench

#endif  // WAITER_BENCH_PEERS_CHILD_H_
