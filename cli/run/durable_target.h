// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// Targets of `waiter` as durable waits:
//
//   absl::StatusOr<waiter::DurableRequest> request =
//       waiter::cli::ToDurableRequest("db=tcp://10.0.0.7:5432");
//   // request->key == "db"

#ifndef WAITER_CLI_RUN_DURABLE_TARGET_H_
#define WAITER_CLI_RUN_DURABLE_TARGET_H_

#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "cli/probes/target.h"
#include "waiter/durable/client.h"

namespace waiter::cli {

// Returns the request for a wait for `argument`, [LABEL=]URL. Its key is `key`
// or, if that is empty, the label or the URL; its args are `argument`. Returns
// kInvalidArgument with one line for a target that makes no sense, has a
// password, which the store would keep, or cannot be polled by a worker.
absl::StatusOr<DurableRequest> ToDurableRequest(std::string_view argument,
                                                std::string_view key = {});

// Returns the target of a wait, whose args may be empty if the key is the
// target. Shell commands are allowed only if `allow_exec`, because anyone who
// can write to the store could run them.
absl::StatusOr<Target> DurableTarget(std::string_view key,
                                     std::string_view args, bool allow_exec);

// Returns the value of a success, or the message of a failure as the poll gave
// it. Otherwise returns the message of the wait without its key: "timeout of 5m
// reached after 3 attempts in 5m; ...".
std::string ResultDetail(const DurableResult& result);

// Returns the variables that tell a program of a result: WAITER_NAME,
// WAITER_KEY, WAITER_RESULT, WAITER_DETAIL and WAITER_IDEMPOTENCY_KEY.
std::map<std::string, std::optional<std::string>> ResultVariables(
    const DurableResult& result);

}  // namespace waiter::cli

#endif  // WAITER_CLI_RUN_DURABLE_TARGET_H_
