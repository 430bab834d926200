// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

#include "cli/probes/socket/postgres_login_probe.h"

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/strip.h"
#include "absl/time/time.h"
#include "cli/loop/blocking_calls.h"
#include "cli/probes/blocking_probe.h"
#include "cli/probes/probe.h"
#include "cli/probes/target.h"
#include "cli/text/find_symbol.h"
#include "waiter/poll.h"

// As libpq-fe.h declares them.
struct pg_conn;
struct pg_result;

namespace waiter::cli {
namespace {

struct PqOption {
  char* keyword;
  char* variable;
  char* compiled;
  char* value;
  char* label;
  char* dispchar;
  int dispsize;
};

// The functions of libpq in use, named without "PQ".
struct Pq {
  PqOption* (*conndefaults)();
  void (*conninfo_free)(PqOption*);
  pg_conn* (*connectdb_params)(const char* const*, const char* const*, int);
  int (*status)(const pg_conn*);
  char* (*error_message)(const pg_conn*);
  char* (*host)(const pg_conn*);
  char* (*port)(const pg_conn*);
  pg_result* (*exec_params)(pg_conn*, const char* command, int count,
                            const unsigned int* types, const char* const*,
                            const int* lengths, const int* formats,
                            int result_format);
  int (*result_status)(const pg_result*);
  int (*getisnull)(const pg_result*, int row, int column);
  void (*clear)(pg_result*);
  void (*finish)(pg_conn*);
};

bool FindPq(void* library, Pq& pq) {
  return FindSymbol(library, "PQconndefaults", pq.conndefaults) &&
         FindSymbol(library, "PQconninfoFree", pq.conninfo_free) &&
         FindSymbol(library, "PQconnectdbParams", pq.connectdb_params) &&
         FindSymbol(library, "PQstatus", pq.status) &&
         FindSymbol(library, "PQerrorMessage", pq.error_message) &&
         FindSymbol(library, "PQhost", pq.host) &&
         FindSymbol(library, "PQport", pq.port) &&
         FindSymbol(library, "PQexecParams", pq.exec_params) &&
         FindSymbol(library, "PQresultStatus", pq.result_status) &&
         FindSymbol(library, "PQgetisnull", pq.getisnull) &&
         FindSymbol(library, "PQclear", pq.clear) &&
         FindSymbol(library, "PQfinish", pq.finish);
}

using Options = std::map<std::string, std::string>;

Finding Refused(std::string_view message) {
  using absl::StrContains;
  Finding finding = {
      .status = StrContains(message, "too many clients") ||
                        StrContains(message, "connection slots")
                    ? PollStatus::kThrottled
                    : PollStatus::kNotReady,
      .detail = absl::StrReplaceAll(absl::StripSuffix(message, "\n"),
                                    {{"\n\t", " "}, {"\n", "; "}}),
      // With several hosts, the others say something else.
      .absent =
          StrContains(message, "Connection refused") &&
          message.find("onnection to ") == message.rfind("onnection to ")};
  if (StrContains(message, "does not exist") ||
      StrContains(message, "authentication failed") ||
      StrContains(message, "no password supplied")) {
    finding.hint = "are the URL's user, password and database right?";
  }
  return finding;
}

// Finds out whether the table exists.
Finding FindTable(const Pq& pq, pg_conn* connection, const std::string& table) {
  const char* const name = table.c_str();
  const std::unique_ptr<pg_result, void (*)(pg_result*)> result(
      pq.exec_params(connection, "SELECT to_regclass($1)", 1, nullptr, &name,
                     nullptr, nullptr, 0),
      pq.clear);
  constexpr int kTuplesOk = 2;
  if (pq.result_status(result.get()) != kTuplesOk) {
    return Refused(pq.error_message(connection));
  }
  if (pq.getisnull(result.get(), 0, 0) != 0) {
    return {.detail = "there is no such table", .unmet = true};
  }
  return {.status = PollStatus::kSuccess, .detail = "the table exists"};
}

// A login and its condition.
struct PostgresLogin {
  Options options = {};
  std::string table = {};  // Must exist; empty if none must.
  std::string note = {};   // Follows each detail.
};

Finding LogIn(const Pq& pq, const PostgresLogin& login) {
  std::vector<const char*> keywords;
  std::vector<const char*> values;
  for (const auto& [keyword, value] : login.options) {
    keywords.push_back(keyword.c_str());
    values.push_back(value.c_str());
  }
  keywords.push_back(nullptr);
  values.push_back(nullptr);
  const std::unique_ptr<pg_conn, void (*)(pg_conn*)> connection(
      pq.connectdb_params(keywords.data(), values.data(), 0), pq.finish);
  constexpr int kOk = 0;
  Finding finding;
  if (pq.status(connection.get()) != kOk) {
    finding = Refused(pq.error_message(connection.get()));
  } else if (!login.table.empty()) {
    finding = FindTable(pq, connection.get(), login.table);
  } else {
    finding = {.status = PollStatus::kSuccess,
               .detail = absl::StrCat("PostgreSQL accepts the login at ",
                                      pq.host(connection.get()), ":",
                                      pq.port(connection.get()))};
  }
  absl::StrAppend(&finding.detail, login.note);
  return finding;
}

class PostgresLoginProbe : public BlockingProbe {
 public:
  PostgresLoginProbe(BlockingCalls& calls, const Pq& pq, PostgresLogin login)
      : BlockingProbe(calls), pq_(pq), login_(std::move(login)) {}

 private:
  std::function<Judge()> NewRead() override {
    return [pq = pq_, login = login_]() -> Judge {
      return [found = LogIn(pq, login)] { return found; };
    };
  }

  Finding Hanging(absl::Duration timeout) const override {
    return {.status = PollStatus::kServerError,
            .detail = absl::StrCat("login not finished within ",
                                   absl::FormatDuration(timeout))};
  }

  const Pq pq_;
  const PostgresLogin login_;
};

// Returns the options of the URL that libpq knows, and adds the others to
// `ignored`, except `table`.
Options OptionsOf(const ServerTarget& server, const Pq& pq,
                  std::vector<std::string>& ignored) {
  Options options = {
      {"host", server.host},       {"port", absl::StrCat(server.port)},
      {"user", server.user},       {"password", server.password},
      {"dbname", server.database}, {"application_name", "waiter"},
      {"connect_timeout", "5"}};
  if (!server.socket.empty()) {
    options["host"] = server.socket.substr(0, server.socket.rfind('/'));
  }
  for (const auto& [host, port] : server.more_hosts) {
    absl::StrAppend(&options["host"], ",", host);
    absl::StrAppend(&options["port"], ",", port);
  }
  PqOption* const known = pq.conndefaults();
  for (const auto& [name, value] : server.options) {
    if (name == "table") continue;
    const PqOption* option = known;
    while (option != nullptr && option->keyword != nullptr &&
           name != option->keyword) {
      ++option;
    }
    if (option == nullptr || option->keyword == nullptr) {
      ignored.push_back(name);
    } else {
      options[name] = value;
    }
  }
  pq.conninfo_free(known);
  return options;
}

}  // namespace

absl::StatusOr<std::unique_ptr<Probe>> MakePostgresLogin(
    BlockingCalls& calls, const ServerTarget& server) {
  constexpr std::string_view kMissing =
      "--login of PostgreSQL needs libpq.so.5, which is not installed here: "
      "install the package libpq5";
  const absl::StatusOr<const Pq*> pq =
      OpenLibrary("libpq.so.5", FindPq, kMissing, kMissing);
  if (!pq.ok()) return pq.status();
  std::vector<std::string> ignored;
  PostgresLogin login = {.options = OptionsOf(server, **pq, ignored),
                         .table = std::string(server.Option("table"))};
  if (!ignored.empty()) {
    login.note = absl::StrCat(" (ignored: ", absl::StrJoin(ignored, ", "), ")");
  }
  return std::make_unique<PostgresLoginProbe>(calls, **pq, std::move(login));
}

}  // namespace waiter::cli
