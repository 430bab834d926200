// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

#include "waiter/durable/store/postgres/postgres_schema.h"

#include <algorithm>
#include <array>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "waiter/durable/postgres_store.h"
#include "waiter/internal/string_views.h"

namespace waiter {
namespace internal {
namespace {

constexpr size_t kMaxSchema = 63;

// Scripts that replace the functions. A function comes after the ones that the
// declarations of its variables call.
constexpr std::array<std::string_view, 6> kFunctions = {
    "partition.sql", "claim.sql", "settle.sql",
    "enqueue.sql",   "look.sql",  "check.sql"};

// Each function finds its rows by an index, even if the server knows nothing of
// sizes when it first plans, and waits for no other transaction for long. Steps
// without an index then have an enormous cost, and with `jit` the server would
// compile such a plan each time.
constexpr const char* kAttributes =
    "SET search_path = @schema@, pg_temp SET lock_timeout = '3s' "
    "SET enable_seqscan = off SET enable_bitmapscan = off "
    "SET enable_hashjoin = off SET enable_mergejoin = off "
    "SET plan_cache_mode = force_generic_plan SET jit = off";

// The lock is the transaction's, so that it works behind PgBouncer. Its key
// begins with "Wait".
constexpr const char* kBegin = R"sql(
BEGIN ISOLATION LEVEL READ COMMITTED;
SET LOCAL client_min_messages = warning;
SET LOCAL check_function_bodies = off;
SELECT pg_advisory_xact_lock(1466001780, hashtext('@schema@'));
DO $script$ BEGIN
IF NOT EXISTS (SELECT FROM pg_namespace WHERE nspname = '@schema@') THEN
  CREATE SCHEMA @schema@;
END IF;
IF to_regclass('@schema@.version') IS NULL THEN
)sql";

constexpr const char* kBeginFunctions = R"sql(
IF (SELECT version FROM @schema@.version) <= 1 THEN
)sql";

constexpr const char* kEnd = R"sql(
END IF;
END $script$;
COMMIT;
)sql";

}  // namespace

absl::Status CheckSchemaName(std::string_view schema) {
  const bool is_name =
      !schema.empty() && schema.size() <= kMaxSchema &&
      !absl::ascii_isdigit(static_cast<unsigned char>(schema[0])) &&
      std::all_of(schema.begin(), schema.end(), [](unsigned char c) {
        return absl::ascii_islower(c) || absl::ascii_isdigit(c) || c == '_';
      });
  return is_name ? absl::OkStatus()
                 : absl::InvalidArgumentError(
                       absl::StrCat("schema is \"", ToAbsl(schema),
                                    "\"; it must be 1 to 63 of a-z, 0-9 and _, "
                                    "and must not begin with a digit"));
}

std::string PostgresVersionQuery(std::string_view schema) {
  return absl::StrCat("SELECT version, compatible FROM ", ToAbsl(schema),
                      ".version");
}

std::string PostgresSchemaScript(std::string_view schema) {
  std::string script = absl::StrCat(kBegin, ToAbsl(SqlFile("tables.sql")),
                                    "END IF;\n", kBeginFunctions);
  for (const std::string_view name : kFunctions) {
    absl::StrAppend(&script, ToAbsl(SqlFile(name)));
  }
  script += kEnd;
  script = absl::StrReplaceAll(script, {{"@attributes@", kAttributes}});
  return absl::StrReplaceAll(script, {{"@schema@", ToAbsl(schema)}});
}

}  // namespace internal

absl::StatusOr<std::string> PostgresStoreSchema(std::string_view schema) {
  if (absl::Status status = internal::CheckSchemaName(schema); !status.ok()) {
    return status;
  }
  return internal::PostgresSchemaScript(schema);
}

}  // namespace waiter
