// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// A dedicated Redis server for measurements, which keeps an append-only file
// and evicts nothing, as a store of durable waits must.

#ifndef WAITER_BENCH_DISTRIBUTED_REDIS_UNDER_TEST_H_
#define WAITER_BENCH_DISTRIBUTED_REDIS_UNDER_TEST_H_

#include <sys/types.h>

#include <map>
#include <string>
#include <vector>

namespace waiter::bench {

// Thread-compatible. Needs redis-server and redis-cli. Any failure ends the
// program.
class RedisUnderTest {
 public:
  // Starts a server on a free port of 127.0.0.1, with its main thread on `cpu`
  // unless that is negative.
  explicit RedisUnderTest(int cpu);
  ~RedisUnderTest();
  RedisUnderTest(const RedisUnderTest&) = delete;
  RedisUnderTest& operator=(const RedisUnderTest&) = delete;

  int port() const { return port_; }

  // Removes all data, including the file's.
  void Clear() const;

  // Returns the processor time of the main thread so far.
  double CpuMicros() const;
  double UsedMemory() const;

  // Returns the time within each command since CONFIG RESETSTAT, by its name.
  // The time of a script includes its commands.
  std::map<std::string, double> CommandMicros() const;

  // Returns the output of redis-cli.
  std::string Run(const std::string& command) const;

 private:
  double Info(const std::string& section, const std::string& field) const;

  std::string folder_;
  int port_ = 0;
  pid_t pid_ = -1;
};

}  // namespace waiter::bench

#endif  // WAITER_BENCH_DISTRIBUTED_REDIS_UNDER_TEST_H_
