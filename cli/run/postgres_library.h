// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// libpq, loaded when it is first needed, for the same reasons as libcurl
// (cli/probes/http/curl_library.h): most runs of `waiter` never use it, and its
// security updates are the system's.
//
//   const absl::StatusOr<const internal::PostgresLibrary*> postgres =
//       LoadPostgres();
//   if (!postgres.ok()) return postgres.status();

#ifndef WAITER_CLI_RUN_POSTGRES_LIBRARY_H_
#define WAITER_CLI_RUN_POSTGRES_LIBRARY_H_

#include "absl/status/statusor.h"
#include "waiter/durable/postgres_store.h"

namespace waiter::cli {

// Opens the library in the first call, and returns it. It stays open until the
// process ends. kInvalidArgument names the missing library and the remedy.
// Thread-safe.
absl::StatusOr<const internal::PostgresLibrary*> LoadPostgres();

}  // namespace waiter::cli

#endif  // WAITER_CLI_RUN_POSTGRES_LIBRARY_H_
