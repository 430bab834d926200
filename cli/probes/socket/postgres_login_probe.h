// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// Logs in to PostgreSQL by libpq, which is loaded when it is first needed, and
// which honors the options of a URL, such as target_session_attrs and sslmode:
//
//   absl::StatusOr<std::unique_ptr<waiter::cli::Probe>> probe =
//       waiter::cli::MakePostgresLogin(calls, server);

#ifndef WAITER_CLI_PROBES_SOCKET_POSTGRES_LOGIN_PROBE_H_
#define WAITER_CLI_PROBES_SOCKET_POSTGRES_LOGIN_PROBE_H_

#include <memory>

#include "absl/status/statusor.h"
#include "cli/loop/blocking_calls.h"
#include "cli/probes/probe.h"
#include "cli/probes/target.h"

namespace waiter::cli {

// `calls` must outlive the probe. A login that is refused is not ready, as the
// user may still be created. The option `table` names a table that must exist.
// Options that libpq does not know, because they are for drivers, are named and
// ignored. kInvalidArgument without libpq.
absl::StatusOr<std::unique_ptr<Probe>> MakePostgresLogin(
    BlockingCalls& calls, const ServerTarget& server);

}  // namespace waiter::cli

#endif  // WAITER_CLI_PROBES_SOCKET_POSTGRES_LOGIN_PROBE_H_
