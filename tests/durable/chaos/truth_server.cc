// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

#include "tests/durable/chaos/truth_server.h"

#include <sys/socket.h>

#include <cstring>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "absl/time/time.h"
#include "tests/durable/durable_history.h"

namespace waiter::chaos {

void TruthServer::SetReady(const std::string& key, double time) {
  const std::lock_guard lock(mutex_);
  ready_[key] = time;
}

std::vector<DurableHistory::PollSeen> TruthServer::TakePolls() {
  const std::lock_guard lock(mutex_);
  return std::move(polls_);
}

bool TruthServer::TakeMessage(Connection& connection) {
  Question question;
  if (connection.received.size() < sizeof(question)) return false;
  std::memcpy(&question, connection.received.data(), sizeof(question));
  connection.received.erase(0, sizeof(question));
  const std::string key = question.key.data();
  bool is_ready = false;
  {
    const std::lock_guard lock(mutex_);
    const double now = Now();
    const auto ready = ready_.find(key);
    is_ready = ready != ready_.end() && now >= ready->second;
    polls_.push_back({.time = absl::Seconds(now),
                      .worker = connection.worker,
                      .key = key,
                      .fence = question.fence,
                      .found = is_ready});
  }
  return send(connection.fd, is_ready ? "1" : "0", 1, MSG_NOSIGNAL) > 0;
}

}  // namespace waiter::chaos
