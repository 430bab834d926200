// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

#include "tests/durable/chaos/breakable_store.h"

#if defined(WAITER_HAS_HIREDIS) && defined(WAITER_HAS_SQLITE)

#include <sqlite3.h>

#include <array>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "tests/durable/sqlite_file.h"
#include "tests/support/postgres_server.h"
#include "tests/support/redis_server.h"

namespace waiter::chaos {
namespace {

// A server that syncs its file once per second.
class BreakableRedis final : public BreakableStore {
 public:
  explicit BreakableRedis(std::function<double()> now)
      : BreakableStore(std::move(now)),
        server_({"--appendonly", "yes", "--appendfsync", "everysec", "--dir",
                 directory_.path(), "--auto-aof-rewrite-percentage", "0",
                 "--maxmemory-policy", "noeviction"}) {
    const StoreFault killed = {"store killed", [this] { Kill(); },
                               [this] { server_.Start(); }};
    const StoreFault stopped = {"store stopped", [this] { server_.Pause(); },
                                [this] { server_.Resume(); }};
    faults_ = {
        killed,
        killed,
        {"store robbed of its last writes", [this] { KeepFile(); },
         [this] { LoseTail(); }, 3},
        stopped,
        stopped,
        {"store full", Running({"CONFIG", "SET", "maxmemory", "1"}),
         Running({"CONFIG", "SET", "maxmemory", "0"})},
        {"scripts lost", Running({"SCRIPT", "FLUSH"})},
        {"clients killed", Running({"CLIENT", "KILL", "TYPE", "normal"})}};
  }

  std::string Url(int port) const override {
    return absl::StrCat("redis://127.0.0.1:", port);
  }
  int port() const override { return server_.port(); }

 private:
  std::function<void()> Running(const std::vector<std::string>& command) {
    return [this, command] { server_.Run(command); };
  }

  // The file has all acknowledged writes, unless Redis delayed a sync.
  void Kill() {
    const double now = now_();
    const std::string info = server_.Run({"INFO", "persistence"});
    server_.Kill();
    if (absl::StrContains(info, "aof_delayed_fsync:0")) return;
    losses_.emplace_back(now - 2.5, now_());
  }

  std::string File() const { return directory_.path() + "/appendonlydir"; }
  std::string Copy() const { return directory_.path() + "/kept"; }
  void KeepFile() {
    kept_ = now_();
    std::filesystem::remove_all(Copy());
    std::filesystem::copy(File(), Copy(),
                          std::filesystem::copy_options::recursive);
  }
  void LoseTail() {
    server_.Kill();
    // The file may already have been behind when it was copied.
    losses_.emplace_back(kept_ - 2.5, now_());
    std::filesystem::remove_all(File());
    std::filesystem::rename(Copy(), File());
    server_.Start();
  }

  RedisServer server_;
  double kept_ = 0;
};

// A file, and another program that uses it.
class BreakableSqlite final : public BreakableStore {
 public:
  explicit BreakableSqlite(std::function<double()> now)
      : BreakableStore(std::move(now)) {
    const auto run = [this](const char* sql) {
      return [this, sql] { Run(sql); };
    };
    faults_ = {
        {"file locked", run("BEGIN IMMEDIATE"), run("ROLLBACK")},
        {"file read for long", run("BEGIN; SELECT count(*) FROM waiter_waits"),
         run("COMMIT")},
        {"log copied into the file", run("PRAGMA wal_checkpoint(TRUNCATE)")},
        {"file locked for a moment", run("BEGIN IMMEDIATE"), run("ROLLBACK"),
         0.5}};
  }

  std::string Url(int /*port*/) const override {
    return directory_.path() + "/waits.db";
  }
  bool has_local_clock() const override { return true; }
  bool has_local_locks() const override { return true; }

 private:
  // The fault does not happen if a stopped worker has locked the file.
  void Run(const char* sql) {
    if (program_ == nullptr) {
      sqlite3* connection = nullptr;
      ASSERT_EQ(sqlite3_open(Url(0).c_str(), &connection), SQLITE_OK);
      program_.reset(connection);
      sqlite3_busy_timeout(connection, 500);
    }
    RunSql(program_.get(), sql);
  }

  SqliteProgram program_{nullptr, &sqlite3_close};
};

// A server whose data survives a kill.
class BreakablePostgres final : public BreakableStore {
 public:
  explicit BreakablePostgres(std::function<double()> now)
      : BreakableStore(std::move(now)) {
    const StoreFault killed = {"store killed", [this] { server_.Kill(); },
                               [this] { server_.Start(); }};
    const StoreFault stopped = {"store stopped", [this] { server_.Pause(); },
                                [this] { server_.Resume(); }};
    faults_ = {
        killed,
        killed,
        stopped,
        {"store restarted",
         [this] {
           server_.Stop();
           server_.Start();
         }},
        {"sessions ended",
         Running("SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
                 "WHERE backend_type = 'client backend' AND "
                 "pid <> pg_backend_pid()")},
        {"statements cancelled",
         Running("SELECT pg_cancel_backend(pid) FROM pg_stat_activity "
                 "WHERE backend_type = 'client backend' AND "
                 "pid <> pg_backend_pid()")},
        {"rows locked for a moment",
         Running("BEGIN; SELECT 1 FROM waiter.partitions FOR UPDATE; "
                 "SELECT pg_sleep(0.7); ROLLBACK")}};
  }

  std::string Url(int port) const override {
    return absl::StrCat("postgres://waiter@127.0.0.1:", port, "/postgres");
  }
  int port() const override { return server_.port(); }

 private:
  std::function<void()> Running(const std::string& sql) {
    return [this, sql] { server_.Run(sql); };
  }

  PostgresServer server_;
};

struct Kind {
  std::string_view name;
  StoreKind kind;
};
constexpr std::array kKinds = {Kind{"redis", StoreKind::kRedis},
                               Kind{"sqlite", StoreKind::kSqlite},
                               Kind{"postgres", StoreKind::kPostgres}};

}  // namespace

std::optional<StoreKind> StoreKindOf(std::string_view name) {
  for (const Kind& kind : kKinds) {
    if (kind.name == name) return kind.kind;
  }
  return std::nullopt;
}

bool IsInstalled(StoreKind kind) {
  switch (kind) {
    case StoreKind::kRedis:
      return RedisServer::IsInstalled();
    case StoreKind::kPostgres:
      return PostgresServer::IsInstalled();
    case StoreKind::kSqlite:
      break;
  }
  return true;
}

std::unique_ptr<BreakableStore> MakeBreakableStore(
    StoreKind kind, std::function<double()> now) {
  switch (kind) {
    case StoreKind::kRedis:
      return std::make_unique<BreakableRedis>(std::move(now));
    case StoreKind::kSqlite:
      return std::make_unique<BreakableSqlite>(std::move(now));
    case StoreKind::kPostgres:
      return std::make_unique<BreakablePostgres>(std::move(now));
  }
  return nullptr;
}

}  // namespace waiter::chaos

#endif  // WAITER_HAS_HIREDIS && WAITER_HAS_SQLITE
