// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// Adds a worker's calls of the store and their replies to a history:
//
//   HistoryLog log(history, /*worker=*/3, [&] { return clock.Elapsed(); });

#ifndef WAITER_TESTS_DURABLE_HISTORY_LOG_H_
#define WAITER_TESTS_DURABLE_HISTORY_LOG_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <utility>

#include "absl/time/time.h"
#include "tests/durable/durable_history.h"
#include "tests/durable/logged_wait_store.h"
#include "waiter/durable/store.h"

namespace waiter {

// For one thread.
class HistoryLog final : public WaitLog {
 public:
  // `now` returns the time of each call, on the scale of the history.
  HistoryLog(DurableHistory& history, int worker,
             std::function<absl::Duration()> now)
      : history_(history), worker_(worker), now_(std::move(now)) {}

  void Claimed(const ClaimReply& reply) override {
    // The store's clock may be ahead.
    const absl::Duration at = std::min(TimeOf(reply.now_us), now_());
    for (const ClaimedWait& wait : reply.waits) {
      history_.claims.push_back(
          {at, worker_, wait.key, reply.fence, now_() - at});
    }
  }

  void Sends(int64_t call, const SettleRequest& request) override {
    sent_[call] = {history_.settles.size(), request.items.size()};
    for (const SettleItem& item : request.items) {
      history_.settles.push_back({.sent = now_(),
                                  .worker = worker_,
                                  .key = item.key,
                                  .fence = item.fence,
                                  .action = item.action,
                                  .delay = absl::Microseconds(item.delay_us)});
    }
  }

  void Settled(int64_t call, const SettleReply& reply) override {
    const auto [first, count] = sent_[call];
    sent_.erase(call);
    const std::set<std::string> lost(reply.lost.begin(), reply.lost.end());
    for (size_t i = first; i < first + count; ++i) {
      DurableHistory::Settle& settle = history_.settles[i];
      settle.at = std::min(TimeOf(reply.now_us), now_());
      settle.is_lost = lost.contains(settle.key);
      settle.new_fence = reply.fence;
    }
  }

  void Marks(const std::string& key) override { ++history_.marks[key]; }

 private:
  absl::Duration TimeOf(int64_t time) const {
    return absl::Microseconds(time - history_.zero_us);
  }

  DurableHistory& history_;
  const int worker_;
  const std::function<absl::Duration()> now_;
  // The first settle of each call, and the number of its settles.
  std::map<int64_t, std::pair<size_t, size_t>> sent_;
};

}  // namespace waiter

#endif  // WAITER_TESTS_DURABLE_HISTORY_LOG_H_
