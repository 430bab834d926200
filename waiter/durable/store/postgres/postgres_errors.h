// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// Translates errors of PostgreSQL for the store of durable waits.

#ifndef WAITER_DURABLE_STORE_POSTGRES_POSTGRES_ERRORS_H_
#define WAITER_DURABLE_STORE_POSTGRES_POSTGRES_ERRORS_H_

#include <string_view>

#include "absl/status/status.h"

namespace waiter::internal {

// Returns the status for a server error with an SQLSTATE, after which nothing
// of the transaction remains. Its message names `server` and says what to do.
absl::Status PostgresStatus(std::string_view server, std::string_view sqlstate,
                            std::string_view message);

// Returns the status for a connection that cannot be made.
absl::Status PostgresConnectStatus(std::string_view message);

// Whether the transaction only collided with another one.
bool IsCollision(std::string_view sqlstate);

// Whether another connection may do better: to the primary instead of a
// standby, or after the tables are made again.
bool WantsNewConnection(std::string_view sqlstate);

// Whether a schema, table or function is missing.
bool IsMissing(std::string_view sqlstate);

}  // namespace waiter::internal

#endif  // WAITER_DURABLE_STORE_POSTGRES_POSTGRES_ERRORS_H_
