// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// A PostgreSQL server that the tests of a program share. Each test has its own
// schema. Runs SQL as another program would.

#ifndef WAITER_TESTS_DURABLE_POSTGRES_FIXTURE_H_
#define WAITER_TESTS_DURABLE_POSTGRES_FIXTURE_H_

#include <libpq-fe.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "gtest/gtest.h"
#include "tests/durable/store_calls.h"
#include "tests/support/postgres_server.h"
#include "waiter/durable/postgres_store.h"

namespace waiter {

// Acts as a session of another program.
class PostgresProgram {
 public:
  explicit PostgresProgram(const std::string& url)
      : connection_(PQconnectdb(url.c_str()), &PQfinish) {
    EXPECT_EQ(PQstatus(connection_.get()), CONNECTION_OK)
        << PQerrorMessage(connection_.get());
  }

  // Returns the first column of the rows, joined by newlines, or the error.
  std::string Run(const std::string& sql) const {
    return Text(PQexec(connection_.get(), sql.c_str()));
  }
  std::string Run(const SqlStatement& statement) const {
    std::vector<const char*> values;
    for (const auto& parameter : statement.parameters) {
      values.push_back(parameter.has_value() ? parameter->c_str() : nullptr);
    }
    return Text(PQexecParams(connection_.get(), statement.sql.c_str(),
                             static_cast<int>(values.size()), nullptr,
                             values.data(), nullptr, nullptr, 0));
  }

 private:
  static std::string Text(PGresult* raw) {
    const std::unique_ptr<PGresult, decltype(&PQclear)> result(raw, &PQclear);
    if (PQresultStatus(raw) != PGRES_TUPLES_OK &&
        PQresultStatus(raw) != PGRES_COMMAND_OK) {
      return absl::StrCat("error: ", PQresultErrorMessage(raw));
    }
    std::string text;
    for (int i = 0; i < PQntuples(raw); ++i) {
      absl::StrAppend(&text, i == 0 ? "" : "\n", PQgetvalue(raw, i, 0));
    }
    return text;
  }

  const std::unique_ptr<PGconn, decltype(&PQfinish)> connection_;
};

class PostgresFixture : public testing::Test {
 protected:
  static void TearDownTestSuite() { Shared() = nullptr; }

  void SetUp() override {
    if (!PostgresServer::IsInstalled()) {
      GTEST_SKIP() << "the server is not installed";
    }
    if (Shared() == nullptr) Shared() = std::make_unique<PostgresServer>();
    static int schemas = 0;
    schema_ = absl::StrCat("waits", ++schemas);
  }

  static PostgresServer& server() { return *Shared(); }
  const std::string& schema() const { return schema_; }

  PostgresStoreOptions Options() const { return {.schema = schema_}; }
  StoreCalls MakeStore() const { return MakeStore(server().Url(), Options()); }
  static StoreCalls MakeStore(const std::string& url,
                              const PostgresStoreOptions& options) {
    absl::StatusOr<std::shared_ptr<WaitStore>> store =
        MakePostgresWaitStore(url, options);
    EXPECT_EQ(store.status(), absl::OkStatus());
    return StoreCalls(*std::move(store));
  }
  // Returns the output of psql. "@" means the schema and a dot.
  std::string Run(const std::string& sql) const {
    return server().Run(InSchema(sql));
  }
  std::string InSchema(const std::string& sql) const {
    return absl::StrReplaceAll(sql, {{"@", schema_ + "."}});
  }

 private:
  static std::unique_ptr<PostgresServer>& Shared() {
    static auto& server = *new std::unique_ptr<PostgresServer>;
    return server;
  }

  std::string schema_;
};

}  // namespace waiter

#endif  // WAITER_TESTS_DURABLE_POSTGRES_FIXTURE_H_
