// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

#include "waiter/durable/store/postgres/postgres_errors.h"

#include <array>
#include <string_view>

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "waiter/internal/string_views.h"

namespace waiter::internal {
namespace {

constexpr std::string_view kReadOnly = "25006";

struct Advice {
  std::string_view state;  // An SQLSTATE, or a prefix of some.
  absl::StatusCode code;
  std::string_view text;
};

// The first match counts.
constexpr std::array kAdvice = {
    Advice{"40001", absl::StatusCode::kAborted,
           "collided with another transaction; this is temporary"},
    Advice{"40P01", absl::StatusCode::kAborted,
           "collided with another transaction; this is temporary"},
    Advice{"55P03", absl::StatusCode::kAborted,
           "waits are locked by another transaction; end the one that keeps "
           "locks in the schema, or wait"},
    Advice{"57014", absl::StatusCode::kAborted,
           "the server canceled the request; raise the role's "
           "statement_timeout"},
    Advice{"57P", absl::StatusCode::kAborted,
           "the server is starting or stopping, or ended the connection"},
    Advice{"53300", absl::StatusCode::kAborted,
           "all connections are taken; raise max_connections, or put PgBouncer "
           "in front of the server"},
    Advice{"53100", absl::StatusCode::kResourceExhausted,
           "the server's disk is full; free space on it"},
    Advice{"53", absl::StatusCode::kResourceExhausted,
           "the server is short of memory or of another resource"},
    Advice{kReadOnly, absl::StatusCode::kFailedPrecondition,
           "is read-only, such as a standby; name the primary, or all hosts "
           "and target_session_attrs=read-write"},
    Advice{"28", absl::StatusCode::kUnauthenticated,
           "refuses the role or its password"},
    Advice{"42501", absl::StatusCode::kPermissionDenied,
           "the role lacks a privilege; grant it the use of the schema and its "
           "tables, or let an administrator run the script of "
           "PostgresStoreSchema"},
    Advice{"3D000", absl::StatusCode::kFailedPrecondition,
           "there is no such database; create it"},
    Advice{"3F000", absl::StatusCode::kFailedPrecondition,
           "the schema of durable waits is missing; it is made again when the "
           "store next connects"},
    Advice{"42", absl::StatusCode::kFailedPrecondition,
           "the schema of durable waits is incomplete, or belongs to another "
           "program; name another schema"},
    Advice{"XX00", absl::StatusCode::kDataLoss,
           "the database is damaged; restore a backup"},
};

}  // namespace

absl::Status PostgresStatus(std::string_view server, std::string_view sqlstate,
                            std::string_view message) {
  const absl::string_view text = absl::StripAsciiWhitespace(ToAbsl(message));
  for (const Advice& advice : kAdvice) {
    if (sqlstate.substr(0, advice.state.size()) != advice.state) continue;
    return {advice.code,
            absl::StrCat(ToAbsl(server), ": ", ToAbsl(advice.text),
                         " (PostgreSQL: ", text, ", ", ToAbsl(sqlstate), ")")};
  }
  return absl::InternalError(absl::StrCat(ToAbsl(server),
                                          ": PostgreSQL failed: ", text, " (",
                                          ToAbsl(sqlstate), ")"));
}

// libpq has no SQLSTATE for such an error.
absl::Status PostgresConnectStatus(std::string_view message) {
  const absl::string_view text = absl::StripAsciiWhitespace(ToAbsl(message));
  if (absl::StrContains(text, "too many clients") ||
      absl::StrContains(text, "too many connections") ||
      absl::StrContains(text, "connection slots")) {
    return PostgresStatus("the server", "53300", message);
  }
  for (const char* refusal : {"authentication failed", "no password supplied",
                              "no pg_hba.conf entry", "role \""}) {
    if (absl::StrContains(text, refusal)) {
      return absl::UnauthenticatedError(text);
    }
  }
  if (absl::StrContains(text, "database \"") &&
      absl::StrContains(text, "does not exist")) {
    return absl::FailedPreconditionError(text);
  }
  if (absl::StrContains(text, "session is read-only")) {
    return absl::FailedPreconditionError(
        absl::StrCat("no host is a primary: ", text));
  }
  return absl::AbortedError(absl::StrCat("cannot connect: ", text));
}

bool IsCollision(std::string_view sqlstate) {
  return sqlstate == "40001" || sqlstate == "40P01";
}

bool IsMissing(std::string_view sqlstate) {
  return sqlstate == "3F000" || sqlstate == "42P01" || sqlstate == "42883";
}

bool WantsNewConnection(std::string_view sqlstate) {
  return sqlstate == kReadOnly || IsMissing(sqlstate);
}

}  // namespace waiter::internal
