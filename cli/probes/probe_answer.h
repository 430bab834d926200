// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// Parses the answer that a program may print as the last line of its stdout, if
// an exit code says too little:
//
//   {"waiter":"not_ready","detail":"replicas 2/3","progress":0.66,
//    "retry_after":"30s"}
//
// in one line. "waiter" is "success", "not_ready", "throttled", "error" or
// "failed"; the other members are optional.

#ifndef WAITER_CLI_PROBES_PROBE_ANSWER_H_
#define WAITER_CLI_PROBES_PROBE_ANSWER_H_

#include <optional>
#include <string_view>

#include "cli/probes/probe.h"

namespace waiter::cli {

// Parses `line`. Returns nothing if it is not an answer, because it is not a
// JSON object or has no member "waiter". A broken answer is a server error
// whose detail names the error: truncated JSON, an unknown status, or another
// member with an invalid value. Ignores members with other names.
std::optional<Finding> ParseProbeAnswer(std::string_view line);

}  // namespace waiter::cli

#endif  // WAITER_CLI_PROBES_PROBE_ANSWER_H_
