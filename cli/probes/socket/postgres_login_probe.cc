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

Finding LogIn(const Pq& pq, const Options& options, std::string_view note) {
  std::vector<const char*> keywords;
  std::vector<const char*> values;
  for (const auto& [keyword, value] : options) {
    keywords.push_back(keyword.c_str());
    values.push_back(value.c_str());
  }
  keywords.push_back(nullptr);
  values.push_back(nullptr);
  const std::unique_ptr<pg_conn, void (*)(pg_conn*)> connection(
      pq.connectdb_params(keywords.data(), values.data(), 0), pq.finish);
  constexpr int kOk = 0;
  if (pq.status(connection.get()) != kOk) {
    Finding finding = Refused(pq.error_message(connection.get()));
    absl::StrAppend(&finding.detail, note);
    return finding;
  }
  return {.status = PollStatus::kSuccess,
          .detail = absl::StrCat("PostgreSQL accepts the login at ",
                                 pq.host(connection.get()), ":",
                                 pq.port(connection.get()), note)};
}

class PostgresLoginProbe : public BlockingProbe {
 public:
  PostgresLoginProbe(BlockingCalls& calls, const Pq& pq, Options options,
                     std::string note)
      : BlockingProbe(calls),
        pq_(pq),
        options_(std::move(options)),
        note_(std::move(note)) {}

 private:
  std::function<Judge()> NewRead() override {
    return [pq = pq_, options = options_, note = note_]() -> Judge {
      return [found = LogIn(pq, options, note)] { return found; };
    };
  }

  Finding Hanging(absl::Duration timeout) const override {
    return {.status = PollStatus::kServerError,
            .detail = absl::StrCat("login not finished within ",
                                   absl::FormatDuration(timeout))};
  }

  const Pq pq_;
  const Options options_;
  const std::string note_;
};

// Returns the options of the URL that libpq knows, and adds the others to
// `ignored`.
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
  static const auto* const pq = new absl::StatusOr<Pq>(
      OpenLibrary<Pq>("libpq.so.5", FindPq, kMissing, kMissing));
  if (!pq->ok()) return pq->status();
  std::vector<std::string> ignored;
  Options options = OptionsOf(server, **pq, ignored);
  return std::make_unique<PostgresLoginProbe>(
      calls, **pq, std::move(options),
      ignored.empty()
          ? ""
          : absl::StrCat(" (ignored: ", absl::StrJoin(ignored, ", "), ")"));
}

}  // namespace waiter::cli
