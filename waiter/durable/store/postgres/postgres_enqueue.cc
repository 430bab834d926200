// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// Enqueues in transactions of the program.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/time/time.h"
#include "waiter/durable/client.h"
#include "waiter/durable/durable_record.h"
#include "waiter/durable/postgres_store.h"
#include "waiter/durable/store/postgres/postgres_schema.h"
#include "waiter/internal/string_views.h"
#include "waiter/redis/budget_member.h"
#include "waiter/text.h"

namespace waiter {
namespace {

absl::Status Check(std::string_view space, std::string_view name,
                   std::string_view key, std::string_view schema) {
  for (absl::Status status :
       {internal::CheckName(space, "space"), internal::CheckName(name),
        internal::CheckKey(key), internal::CheckSchemaName(schema)}) {
    if (!status.ok()) return status;
  }
  return absl::OkStatus();
}

std::string ToText(std::string_view bytes) {
  return absl::StrCat("\\x", absl::BytesToHexString(internal::ToAbsl(bytes)));
}

std::string ToSeconds(absl::Duration delay) {
  const int64_t micros = absl::ToInt64Microseconds(delay);
  return absl::StrFormat("%d.%06d", micros / 1'000'000, micros % 1'000'000);
}

absl::StatusOr<SqlStatement> CallOfSignal(absl::string_view function,
                                          std::string_view space,
                                          std::string_view name,
                                          std::string_view key,
                                          std::string_view schema) {
  if (absl::Status status = Check(space, name, key, schema); !status.ok()) {
    return status;
  }
  return SqlStatement{
      .sql = absl::StrCat("SELECT ", internal::ToAbsl(schema), ".", function,
                          "($1::text, $2::text, $3::bytea)"),
      .parameters = {std::string(space), std::string(name), ToText(key)}};
}

}  // namespace

absl::StatusOr<SqlStatement> PostgresEnqueue(std::string_view space,
                                             std::string_view name,
                                             const DurableRequest& request,
                                             std::string_view schema) {
  if (absl::Status status = Check(space, name, request.key, schema);
      !status.ok()) {
    return status;
  }
  if (absl::Status status = internal::CheckRequest(request); !status.ok()) {
    return status;
  }
  std::optional<std::string> timeout;
  if (request.timeout.has_value()) timeout = ToSeconds(*request.timeout);
  return SqlStatement{
      .sql = absl::StrCat("SELECT ", internal::ToAbsl(schema),
                          ".enqueue($1::text, $2::text, $3::bytea, $4::bytea, "
                          "make_interval(secs => $5::double precision), "
                          "make_interval(secs => $6::double precision))"),
      .parameters = {std::string(space), std::string(name), ToText(request.key),
                     ToText(request.args), timeout,
                     ToSeconds(request.first_delay)}};
}

absl::StatusOr<SqlStatement> PostgresCancel(std::string_view space,
                                            std::string_view name,
                                            std::string_view key,
                                            std::string_view schema) {
  return CallOfSignal("cancel", space, name, key, schema);
}

absl::StatusOr<SqlStatement> PostgresNotify(std::string_view space,
                                            std::string_view name,
                                            std::string_view key,
                                            std::string_view schema) {
  return CallOfSignal("notify", space, name, key, schema);
}

}  // namespace waiter
