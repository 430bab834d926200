// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// The functions of libpq that the store of durable waits calls. The library
// calls them through this table, so it builds without libpq: a program provides
// its own, linked or loaded at run time.

#ifndef WAITER_DURABLE_INTERNAL_POSTGRES_LIBRARY_H_
#define WAITER_DURABLE_INTERNAL_POSTGRES_LIBRARY_H_

#if __has_include(<libpq-fe.h>)
#include <libpq-fe.h>
#define WAITER_HAS_LIBPQ_HEADER
#elif __has_include(<postgresql/libpq-fe.h>)
#include <postgresql/libpq-fe.h>
#define WAITER_HAS_LIBPQ_HEADER
#endif

#ifdef WAITER_HAS_LIBPQ_HEADER
// Pipelines came with libpq 14.
#ifndef LIBPQ_HAS_PIPELINING
#undef WAITER_HAS_LIBPQ_HEADER
#endif
#endif

// As libpq-fe.h declares them.
struct pg_conn;
struct pg_result;

namespace waiter::internal {

// The functions, named without "PQ", with numbers for enumerations. The newest
// one came with libpq 14 (2021).
struct PostgresLibrary {
  // Returns null and a message to be freed if this is no connection string.
  void* (*conninfoParse)(const char*, char**);
  void (*conninfoFree)(void*);
  void (*freemem)(void*);
  pg_conn* (*connectStartParams)(const char* const*, const char* const*, int);
  int (*connectPoll)(pg_conn*);
  int (*status)(const pg_conn*);
  int (*socket)(const pg_conn*);
  char* (*errorMessage)(const pg_conn*);
  char* (*host)(const pg_conn*);
  char* (*port)(const pg_conn*);
  char* (*db)(const pg_conn*);
  void (*finish)(pg_conn*);
  void (*(*setNoticeProcessor)(pg_conn*, void (*)(void*, const char*),
                               void*))(void*, const char*);
  int (*setnonblocking)(pg_conn*, int);
  int (*enterPipelineMode)(pg_conn*);
  int (*pipelineSync)(pg_conn*);
  int (*sendQuery)(pg_conn*, const char*);
  int (*sendQueryParams)(pg_conn*, const char*, int, const unsigned int*,
                         const char* const*, const int*, const int*, int);
  int (*flush)(pg_conn*);
  int (*consumeInput)(pg_conn*);
  int (*isBusy)(pg_conn*);
  pg_result* (*getResult)(pg_conn*);
  int (*resultStatus)(const pg_result*);
  char* (*resultErrorField)(const pg_result*, int);
  char* (*resultErrorMessage)(const pg_result*);
  int (*ntuples)(const pg_result*);
  char* (*getvalue)(const pg_result*, int, int);
  int (*getlength)(const pg_result*, int, int);
  int (*getisnull)(const pg_result*, int, int);
  void (*clear)(pg_result*);
  int (*libVersion)();
};

#ifdef WAITER_HAS_LIBPQ_HEADER

// Returns the functions of the libpq that the program links.
inline const PostgresLibrary& LinkedPostgres() {
  static constexpr PostgresLibrary kLibrary = {
      .conninfoParse = [](const char* text, char** error) -> void* {
        return PQconninfoParse(text, error);
      },
      .conninfoFree =
          [](void* options) {
            PQconninfoFree(static_cast<PQconninfoOption*>(options));
          },
      .freemem = &PQfreemem,
      .connectStartParams = &PQconnectStartParams,
      .connectPoll =
          [](pg_conn* c) { return static_cast<int>(PQconnectPoll(c)); },
      .status = [](const pg_conn* c) { return static_cast<int>(PQstatus(c)); },
      .socket = &PQsocket,
      .errorMessage = &PQerrorMessage,
      .host = &PQhost,
      .port = &PQport,
      .db = &PQdb,
      .finish = &PQfinish,
      .setNoticeProcessor = &PQsetNoticeProcessor,
      .setnonblocking = &PQsetnonblocking,
      .enterPipelineMode = &PQenterPipelineMode,
      .pipelineSync = &PQpipelineSync,
      .sendQuery = &PQsendQuery,
      .sendQueryParams = &PQsendQueryParams,
      .flush = &PQflush,
      .consumeInput = &PQconsumeInput,
      .isBusy = &PQisBusy,
      .getResult = &PQgetResult,
      .resultStatus =
          [](const pg_result* r) {
            return static_cast<int>(PQresultStatus(r));
          },
      .resultErrorField = &PQresultErrorField,
      .resultErrorMessage = &PQresultErrorMessage,
      .ntuples = &PQntuples,
      .getvalue = &PQgetvalue,
      .getlength = &PQgetlength,
      .getisnull = &PQgetisnull,
      .clear = &PQclear,
      .libVersion = &PQlibVersion,
  };
  return kLibrary;
}

#endif  // WAITER_HAS_LIBPQ_HEADER

}  // namespace waiter::internal

#endif  // WAITER_DURABLE_INTERNAL_POSTGRES_LIBRARY_H_
