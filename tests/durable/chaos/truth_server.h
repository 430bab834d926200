// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// The API that the workers of the chaos test of durable waits poll. The test
// sets when each wait becomes ready; the API logs the time and worker of polls:
//
//   TruthServer api(start);
//   api.SetReady("k1", 2.5);
//   ... start workers with --api=PORT ...
//   std::vector<DurableHistory::PollSeen> polls = api.TakePolls();

#ifndef WAITER_TESTS_DURABLE_CHAOS_TRUTH_SERVER_H_
#define WAITER_TESTS_DURABLE_CHAOS_TRUTH_SERVER_H_

#include <array>
#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "tests/durable/durable_history.h"
#include "tests/redis/chaos/loopback_server.h"
#include "waiter/clock.h"

namespace waiter::chaos {

// A worker sends this for each poll. The answer is '1' for success, or '0'.
struct Question {
  std::array<char, 24> key = {};  // Ends with a zero.
  int64_t fence = 0;
};

// Thread-safe.
class TruthServer final : public LoopbackServer {
 public:
  explicit TruthServer(MonotonicTime start) : LoopbackServer(start) { Begin(); }
  ~TruthServer() override { End(); }

  // Makes polls of `key` succeed from `time` on, in seconds since `start`. Call
  // it before the wait is enqueued.
  void SetReady(const std::string& key, double time);

  std::vector<DurableHistory::PollSeen> TakePolls();

 private:
  bool TakeMessage(Connection& connection) override;

  std::mutex mutex_;
  std::map<std::string, double> ready_;
  std::vector<DurableHistory::PollSeen> polls_;
};

}  // namespace waiter::chaos

#endif  // WAITER_TESTS_DURABLE_CHAOS_TRUTH_SERVER_H_
