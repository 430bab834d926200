// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// Measures durable waits in a PostgreSQL database, in one process, with a
// server on the same machine:
//
//   postgres_costs --url=postgres://me@127.0.0.1/bench --server=PID
//
// README.md describes the measurement. The program drops the schema
// "waiter_costs" of the database.

#include <libpq-fe.h>
#include <unistd.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/flags/flag.h"
#include "absl/flags/parse.h"
#include "absl/status/statusor.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "bench/check.h"
#include "bench/distributed/store_costs.h"
#include "waiter/durable/postgres_store.h"
#include "waiter/durable/store.h"

ABSL_FLAG(std::string, url, "", "of the database");
ABSL_FLAG(bool, syncs, true, "whether commits wait for the disk");
ABSL_FLAG(int64_t, server, 0, "process of the server, whose CPU is measured");
ABSL_FLAG(std::string, pressure, "",
          "disturbance of the polls: snapshot (a transaction keeps its first "
          "snapshot), reader (a statement reads the table all the time) or "
          "bloat (20 dead rows for each wait, without vacuum until then)");

namespace waiter::bench {
namespace {

constexpr const char* kSchema = "waiter_costs";

// Acts as a connection of another program.
class Program {
 public:
  Program() : connection_(PQconnectdb(absl::GetFlag(FLAGS_url).c_str()), &End) {
    if (PQstatus(connection_.get()) != CONNECTION_OK) {
      Fail(PQerrorMessage(connection_.get()));
    }
    Run("SET client_min_messages = warning");
  }

  // Begins a statement. The destructor cancels it.
  void Send(const std::string& sql) const {
    if (PQsendQuery(connection_.get(), sql.c_str()) == 0) {
      Fail(PQerrorMessage(connection_.get()));
    }
  }

  // Returns the first column of the first row.
  std::string Run(const std::string& sql) const {
    const std::unique_ptr<PGresult, decltype(&PQclear)> result(
        PQexec(connection_.get(), sql.c_str()), &PQclear);
    const ExecStatusType status = PQresultStatus(result.get());
    if (status != PGRES_TUPLES_OK && status != PGRES_COMMAND_OK) {
      Fail(PQresultErrorMessage(result.get()));
    }
    return PQntuples(result.get()) > 0 ? PQgetvalue(result.get(), 0, 0) : "";
  }

 private:
  static void End(PGconn* connection) {
    std::unique_ptr<PGcancel, decltype(&PQfreeCancel)> cancel(
        PQgetCancel(connection), &PQfreeCancel);
    std::array<char, 256> error = {};
    PQcancel(cancel.get(), error.data(), static_cast<int>(error.size()));
    PQfinish(connection);
  }

  const std::unique_ptr<PGconn, decltype(&End)> connection_;
};

// Returns the processor time of the server and its processes in microseconds,
// including processes that have ended.
double ServerMicros() {
  const int64_t server = absl::GetFlag(FLAGS_server);
  double ticks = 0;
  for (const auto& entry : std::filesystem::directory_iterator("/proc")) {
    std::ifstream file(entry.path() / "stat");
    std::string text;
    std::getline(file, text);
    const size_t name_end = text.rfind(')');
    if (name_end == std::string::npos) continue;
    // The first of these is the state, the third field of the file.
    const std::vector<std::string> fields =
        absl::StrSplit(text.substr(name_end + 2), ' ');
    const bool is_server =
        text.substr(0, text.find(' ')) == absl::StrCat(server);
    if (!is_server && fields[1] != absl::StrCat(server)) continue;
    for (const size_t field : {11U, 12U, 13U, 14U}) {
      double count = 0;
      if (field > 12 && !is_server) continue;
      if (absl::SimpleAtod(fields[field], &count)) ticks += count;
    }
  }
  return 1e6 * ticks / static_cast<double>(sysconf(_SC_CLK_TCK));
}

// The schema, which does not exist at first.
class Schema {
 public:
  Schema() {
    program_.Run(absl::StrCat("DROP SCHEMA IF EXISTS ", kSchema, " CASCADE"));
  }

  std::shared_ptr<WaitStore> Open(bool syncs) const {
    auto store = MakePostgresWaitStore(
        absl::GetFlag(FLAGS_url),
        {.schema = kSchema, .call_timeout = absl::Minutes(1), .syncs = syncs});
    if (!store.ok()) Fail(store.status().ToString());
    return *std::move(store);
  }

  void PrintTables() const {
    for (const char* table : {"pending", "waits"}) {
      std::fprintf(
          stderr, "  %s: %s\n", table,
          program_
              .Run(absl::StrCat(
                  "SELECT format('%s live, %s dead rows, %s vacuums, table %s, "
                  "indexes %s', n_live_tup, n_dead_tup, autovacuum_count, "
                  "pg_size_pretty(pg_relation_size(relid)), "
                  "pg_size_pretty(pg_indexes_size(relid))) "
                  "FROM pg_stat_user_tables WHERE schemaname = '",
                  kSchema, "' AND relname = '", table, "'"))
              .c_str());
    }
  }

  // Begins the disturbance that --pressure names. It ends with this object.
  void BeginPressure() const {
    const std::string pressure = absl::GetFlag(FLAGS_pressure);
    const std::string table = absl::StrCat(kSchema, ".pending");
    if (pressure == "snapshot") {
      other_.Run("BEGIN ISOLATION LEVEL REPEATABLE READ");
      other_.Run("SELECT count(*) FROM pg_class");
    } else if (pressure == "reader") {
      other_.Send(absl::StrCat("SELECT count(pg_sleep(0.02)) FROM ", table));
    } else if (pressure == "bloat") {
      const std::string set = absl::StrCat("ALTER TABLE ", table, " SET ");
      program_.Run(set + "(autovacuum_enabled = off)");
      for (int i = 0; i < 20; ++i) {
        program_.Run(absl::StrCat("UPDATE ", table, " SET due = due + ",
                                  i % 2 == 0 ? 2 : -2));
      }
      PrintTables();
      program_.Run(set + "(autovacuum_enabled = on)");
    } else if (!pressure.empty()) {
      Fail("--pressure=" + pressure);
    }
  }

 private:
  const Program program_;
  const Program other_;
};

Figures Polls(bool syncs) {
  const Schema schema;
  const std::shared_ptr<WaitStore> store = schema.Open(syncs);
  const Figures figures =
      MeasurePolls(store, ServerMicros, [&] { schema.BeginPressure(); });
  schema.PrintTables();
  return figures;
}

void Run() {
  std::printf("| | per second | CPU of the server |\n| --- | ---: | ---: |\n");
  const bool syncs = absl::GetFlag(FLAGS_syncs);
  const std::string mode = syncs ? "" : ", synchronous_commit=off";
  if (Wanted("polls")) {
    Report("polls" + mode, [&] { return Polls(syncs); });
  }
  if (Wanted("calls")) {
    Report("claims and settles without a worker" + mode, [&] {
      const Schema schema;
      return MeasureCalls(schema.Open(syncs), ServerMicros);
    });
  }
  if (!Wanted("enqueue")) return;
  for (const int64_t batch : {1, 250, 4000}) {
    Report(absl::StrCat("enqueues, batches of ", batch, mode), [&] {
      const Schema schema;
      return MeasureEnqueue(schema.Open(syncs), batch, ServerMicros);
    });
  }
}

}  // namespace
}  // namespace waiter::bench

int main(int argc, char** argv) {
  absl::ParseCommandLine(argc, argv);
  waiter::bench::Run();
}
