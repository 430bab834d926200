// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// A real PostgreSQL server on a free port of 127.0.0.1, which tests may kill,
// and PgBouncer in front of it:
//
//   if (!PostgresServer::IsInstalled()) GTEST_SKIP() << "no postgres";
//   PostgresServer server;
//   EXPECT_EQ(server.Run("SELECT 1"), "1");
//   server.Kill();
//   server.Start();  // On the same port, with its data.

#ifndef WAITER_TESTS_SUPPORT_POSTGRES_SERVER_H_
#define WAITER_TESTS_SUPPORT_POSTGRES_SERVER_H_

#include <sys/types.h>

#include <string>
#include <vector>

namespace waiter {

// Thread-compatible. Runs as the user `postgres` if this process runs as root.
class PostgresServer {
 public:
  static bool IsInstalled();

  // Makes a cluster of databases and starts a server with further `settings`,
  // each as "name=value".
  explicit PostgresServer(std::vector<std::string> settings = {});
  // Starts a standby that follows `primary`.
  explicit PostgresServer(const PostgresServer& primary,
                          std::vector<std::string> settings = {});
  ~PostgresServer();
  PostgresServer(PostgresServer&&) = delete;

  // Start returns when the server answers. Kill is kill -9 of all of its
  // processes; Stop shuts it down cleanly, and returns when it is gone.
  void Start();
  void Kill();
  void Stop();

  // SIGSTOP and SIGCONT to all of its processes.
  void Pause() const;
  void Resume() const;
  // Makes a standby the primary.
  void Promote() const;

  int port() const { return port_; }
  std::string Url(const std::string& user = "waiter",
                  const std::string& database = "postgres") const;

  // Returns the output of psql without headers and without the last line break,
  // or "error: ...".
  std::string Run(const std::string& sql) const;

 private:
  bool StartOnce();

  const std::vector<std::string> settings_;
  std::string folder_;
  int port_ = 0;
  pid_t pid_ = -1;
};

// Thread-compatible. PgBouncer with pool_mode=transaction and two connections
// to the server.
class PgBouncer {
 public:
  static bool IsInstalled();

  explicit PgBouncer(const PostgresServer& server);
  ~PgBouncer();
  PgBouncer(const PgBouncer&) = delete;
  PgBouncer& operator=(const PgBouncer&) = delete;

  std::string Url() const;

 private:
  std::string folder_;
  int port_ = 0;
  pid_t pid_ = -1;
};

}  // namespace waiter

#endif  // WAITER_TESTS_SUPPORT_POSTGRES_SERVER_H_
