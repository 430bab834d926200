// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// The API that the workers of the chaos test poll. It logs each call with the
// time by its own clock:
//
//   ApiServer api(start, seed);
//   ... start workers with --api=PORT ...
//   api.set_failing(true);  // Half of the answers are errors.
//   ...
//   ApiServer::Log log = api.TakeLog();

#ifndef WAITER_TESTS_REDIS_CHAOS_API_SERVER_H_
#define WAITER_TESTS_REDIS_CHAOS_API_SERVER_H_

#include <atomic>
#include <cstdint>
#include <mutex>
#include <random>
#include <vector>

#include "tests/redis/chaos/history.h"
#include "tests/redis/chaos/loopback_server.h"
#include "waiter/clock.h"

namespace waiter::chaos {

// Thread-safe. One thread serves all connections.
class ApiServer final : public LoopbackServer {
 public:
  struct Log {
    std::vector<PollRecord> polls;
    std::vector<AnswerRecord> answers;
  };

  ApiServer(MonotonicTime start, uint64_t seed);
  ~ApiServer() override { End(); }

  void set_failing(bool fails) { fails_ = fails; }
  Log TakeLog();

 private:
  bool TakeMessage(Connection& connection) override;
  Answer NextAnswer();

  std::atomic<bool> fails_ = false;
  std::mt19937_64 gen_;  // Used only by the thread.
  std::mutex mutex_;
  Log log_;
};

}  // namespace waiter::chaos

#endif  // WAITER_TESTS_REDIS_CHAOS_API_SERVER_H_
