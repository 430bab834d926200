// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

#include "cli/run/postgres_library.h"

#include "absl/status/statusor.h"
#include "cli/text/find_symbol.h"
#include "waiter/durable/postgres_store.h"

namespace waiter::cli {
namespace {

using internal::PostgresLibrary;

#ifdef __APPLE__
constexpr const char* kPostgresFile = "libpq.5.dylib";
#else
// The name of its ABI since 2006.
constexpr const char* kPostgresFile = "libpq.so.5";
#endif

bool FindPostgresFunctions(void* library, PostgresLibrary& postgres) {
  return FindSymbol(library, "PQconninfoParse", postgres.conninfoParse) &&
         FindSymbol(library, "PQconninfoFree", postgres.conninfoFree) &&
         FindSymbol(library, "PQfreemem", postgres.freemem) &&
         FindSymbol(library, "PQconnectStartParams",
                    postgres.connectStartParams) &&
         FindSymbol(library, "PQconnectPoll", postgres.connectPoll) &&
         FindSymbol(library, "PQstatus", postgres.status) &&
         FindSymbol(library, "PQsocket", postgres.socket) &&
         FindSymbol(library, "PQerrorMessage", postgres.errorMessage) &&
         FindSymbol(library, "PQhost", postgres.host) &&
         FindSymbol(library, "PQport", postgres.port) &&
         FindSymbol(library, "PQdb", postgres.db) &&
         FindSymbol(library, "PQfinish", postgres.finish) &&
         FindSymbol(library, "PQsetNoticeProcessor",
                    postgres.setNoticeProcessor) &&
         FindSymbol(library, "PQsetnonblocking", postgres.setnonblocking) &&
         FindSymbol(library, "PQenterPipelineMode",
                    postgres.enterPipelineMode) &&
         FindSymbol(library, "PQpipelineSync", postgres.pipelineSync) &&
         FindSymbol(library, "PQsendQuery", postgres.sendQuery) &&
         FindSymbol(library, "PQsendQueryParams", postgres.sendQueryParams) &&
         FindSymbol(library, "PQflush", postgres.flush) &&
         FindSymbol(library, "PQconsumeInput", postgres.consumeInput) &&
         FindSymbol(library, "PQisBusy", postgres.isBusy) &&
         FindSymbol(library, "PQgetResult", postgres.getResult) &&
         FindSymbol(library, "PQresultStatus", postgres.resultStatus) &&
         FindSymbol(library, "PQresultErrorField", postgres.resultErrorField) &&
         FindSymbol(library, "PQresultErrorMessage",
                    postgres.resultErrorMessage) &&
         FindSymbol(library, "PQntuples", postgres.ntuples) &&
         FindSymbol(library, "PQgetvalue", postgres.getvalue) &&
         FindSymbol(library, "PQgetlength", postgres.getlength) &&
         FindSymbol(library, "PQgetisnull", postgres.getisnull) &&
         FindSymbol(library, "PQclear", postgres.clear) &&
         FindSymbol(library, "PQlibVersion", postgres.libVersion);
}

}  // namespace

absl::StatusOr<const PostgresLibrary*> LoadPostgres() {
  return OpenLibrary(
      kPostgresFile, FindPostgresFunctions,
      "--store=postgres://HOST needs libpq.so.5, which is not installed here: "
      "install the package libpq5, or use --store=redis://HOST",
      "--store=postgres://HOST needs libpq 14 or newer, but the libpq.so.5 "
      "here is older: upgrade it, or use --store=redis://HOST");
}

}  // namespace waiter::cli
