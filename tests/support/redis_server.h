// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// A real Redis or Valkey server on a free port of 127.0.0.1, which tests may
// kill:
//
//   if (!RedisServer::IsInstalled()) GTEST_SKIP() << "no redis-server";
//   RedisServer server;
//   server.Run({"SET", "key", "value"});
//   server.Kill();
//   server.Start();  // On the same port, without data.

#ifndef WAITER_TESTS_SUPPORT_REDIS_SERVER_H_
#define WAITER_TESTS_SUPPORT_REDIS_SERVER_H_

#include <sys/types.h>

#include <string>
#include <string_view>
#include <vector>

namespace waiter {

// Thread-compatible. Needs the program of its kind, and redis-cli.
class RedisServer {
 public:
  enum class Kind { kRedis, kValkey };

  static bool IsInstalled(Kind kind = Kind::kRedis);

  // Returns a port of 127.0.0.1 that no program used a moment ago.
  static int FreePort();

  // Starts a server with further `arguments`.
  explicit RedisServer(std::vector<std::string> arguments = {},
                       Kind kind = Kind::kRedis);
  ~RedisServer();
  RedisServer(const RedisServer&) = delete;
  RedisServer& operator=(const RedisServer&) = delete;

  // `Start` returns when the server answers, and `Kill` when it is gone.
  void Start();
  void Kill();

  // SIGSTOP and SIGCONT.
  void Pause() const;
  void Resume() const;

  int port() const { return port_; }
  // `secret` is "user:password@".
  std::string Url(std::string_view secret = "") const;

  // Returns the output of redis-cli, without the last line break.
  std::string Run(const std::vector<std::string>& command) const;

 private:
  bool StartOnce();

  const std::vector<std::string> arguments_;
  const std::string program_;
  int port_ = 0;
  pid_t pid_ = -1;
};

}  // namespace waiter

#endif  // WAITER_TESTS_SUPPORT_REDIS_SERVER_H_
