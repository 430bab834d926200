// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// What a command may print as the last line of its stdout, where an exit code
// says too little:
//
//   {"waiter":"not_ready","detail":"replicas 2/3","progress":0.66,
//    "retry_after":"30s"}
//
// in one line. "waiter" is "success", "not_ready", "throttled", "error" or
// "failed"; the others may be left out.

#ifndef WAITER_CLI_PROBES_PROBE_ANSWER_H_
#define WAITER_CLI_PROBES_PROBE_ANSWER_H_

#include <optional>
#include <string_view>

#include "cli/probes/probe.h"

namespace waiter::cli {

// Returns what `line` answers; nothing if it is something else, as it is no
// object of JSON or has no member "waiter". An answer that is broken is a
// server error whose detail says what is wrong: half a JSON, a status that is
// not known, or one of the other members with a value that makes no sense.
// Members with other names are ignored.
std::optional<Finding> ParseProbeAnswer(std::string_view line);

}  // namespace waiter::cli

#endif  // WAITER_CLI_PROBES_PROBE_ANSWER_H_
