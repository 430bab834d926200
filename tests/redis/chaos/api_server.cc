// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

#include "tests/redis/chaos/api_server.h"

#include <sys/socket.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "tests/redis/chaos/api_protocol.h"
#include "tests/redis/chaos/history.h"
#include "tests/redis/chaos/loopback_server.h"
#include "waiter/clock.h"

namespace waiter::chaos {

ApiServer::ApiServer(MonotonicTime start, uint64_t seed)
    : LoopbackServer(start), gen_(seed) {
  Begin();
}

ApiServer::Log ApiServer::TakeLog() {
  const std::lock_guard lock(mutex_);
  return std::move(log_);
}

bool ApiServer::TakeMessage(Connection& connection) {
  std::string& received = connection.received;
  Call call;
  if (received.size() < sizeof(call)) return false;
  std::memcpy(&call, received.data(), sizeof(call));
  std::vector<int64_t> waits(static_cast<size_t>(call.waits));
  const size_t length = sizeof(call) + waits.size() * sizeof(int64_t);
  if (received.size() < length) return false;
  std::memcpy(waits.data(), received.data() + sizeof(call),
              length - sizeof(call));
  received.erase(0, length);
  std::string answers;
  {
    const std::lock_guard lock(mutex_);
    const double now = Now();
    log_.polls.push_back({.time = now,
                          .worker = connection.worker,
                          .claim = call.claim,
                          .members = call.members});
    for (const int64_t wait : waits) {
      const Answer answer = NextAnswer();
      log_.answers.push_back({.time = now,
                              .worker = connection.worker,
                              .wait = wait,
                              .answer = answer});
      answers.push_back(static_cast<char>(answer));
    }
  }
  // So few bytes always fit, unless the worker is gone.
  return send(connection.fd, answers.data(), answers.size(), MSG_NOSIGNAL) > 0;
}

Answer ApiServer::NextAnswer() {
  const uint64_t dice = gen_() % 100;
  if (fails_ && dice < 50) return Answer::kError;
  return dice >= 95 ? Answer::kSuccess : Answer::kNotReady;
}

}  // namespace waiter::chaos
