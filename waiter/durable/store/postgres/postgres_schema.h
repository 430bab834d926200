// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// The tables and functions of durable waits in a PostgreSQL database;
// docs/durable.md describes them.

#ifndef WAITER_DURABLE_STORE_POSTGRES_POSTGRES_SCHEMA_H_
#define WAITER_DURABLE_STORE_POSTGRES_POSTGRES_SCHEMA_H_

#include <cstdint>
#include <string>
#include <string_view>

#include "absl/status/status.h"

namespace waiter::internal {

inline constexpr int64_t kPostgresVersion = 1;

// Returns OK, or an error if the text is no name of a schema.
absl::Status CheckSchemaName(std::string_view schema);

// Returns the query of the version of the tables, and of the oldest version of
// programs that may use them.
std::string PostgresVersionQuery(std::string_view schema);

// Returns the script that makes the tables, or brings older ones up to date,
// under a lock.
std::string PostgresSchemaScript(std::string_view schema);

// Returns the text of a file of this folder; empty if there is no such file.
// The build makes the source, by tools/embed.
std::string_view SqlFile(std::string_view name);

}  // namespace waiter::internal

#endif  // WAITER_DURABLE_STORE_POSTGRES_POSTGRES_SCHEMA_H_
