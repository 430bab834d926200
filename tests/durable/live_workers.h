// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// Workers whose threads poll many waits in a store on a real server. A test
// disturbs the server, and then expects one result for each wait.

#ifndef WAITER_TESTS_DURABLE_LIVE_WORKERS_H_
#define WAITER_TESTS_DURABLE_LIVE_WORKERS_H_

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "gtest/gtest.h"
#include "tests/durable/durable_world.h"
#include "tests/durable/store_calls.h"
#include "tests/support/status_matchers.h"
#include "waiter/durable/client.h"
#include "waiter/durable/store.h"
#include "waiter/durable/worker.h"
#include "waiter/options.h"
#include "waiter/poll.h"
#include "waiter/testing/gtest.h"

namespace waiter {

class LiveWorkers {
 public:
  // All workers have `options`. `limit` is that of each EVENTUALLY.
  LiveWorkers(int waits, DurableWaitsOptions options, absl::Duration limit)
      : waits_(waits),
        options_(std::move(options)),
        patience_({.timeout = limit}) {}

  virtual ~LiveWorkers() = default;

  virtual std::shared_ptr<WaitStore> MakeStore() = 0;

  std::unique_ptr<DurableClient> MakeClient() {
    return *DurableClient::Make(
        MakeStore(),
        {.space = options_.space, .partitions = options_.partitions});
  }

  void AddWorker() {
    auto waits = *DurableWaits::Make(MakeStore(), options_);
    const absl::Status status = waits->Register(
        "job", policy_,
        [this](const DurablePoll& poll) -> Poll<std::string> {
          const std::lock_guard lock(mutex_);
          int64_t& fence = fences_[std::string(poll.key)];
          if (poll.fence < fence) ++late_;
          fence = std::max(fence, poll.fence);
          if (!are_ready_) return NotReady();
          return Success(absl::StrCat("done ", std::string(poll.key)));
        },
        [this](const DurableResult& result) {
          const std::lock_guard lock(mutex_);
          ++deliveries_;
          results_[result.key].insert(absl::StrCat(
              result.idempotency_key, " ", result.value.value_or("failed")));
          return absl::OkStatus();
        });
    EXPECT_TRUE(status.ok()) << status;
    waits->Start();
    workers_.push_back(std::move(waits));
  }

  void EnqueueAll() {
    const auto client = MakeClient();
    EXPECT_EQ(ValueOrFail(AnswerOf<int64_t>([&](auto callback) {
                client->EnqueueMany("job", Requests(waits_),
                                    std::move(callback));
              })),
              waits_);
  }

  void LetAllSucceed() {
    const std::lock_guard lock(mutex_);
    are_ready_ = true;
  }

  // Makes all waits succeed, and expects one result for each.
  void ExpectAllResults() {
    LetAllSucceed();
    EXPECT_EVENTUALLY(results(), waits_);
    ExpectEqualResults();
  }

  // Expects that all deliveries so far of a wait have the same result.
  void ExpectEqualResults() {
    const std::lock_guard lock(mutex_);
    for (const auto& [key, results] : results_) {
      EXPECT_EQ(results.size(), 1) << key;
    }
  }

  // Counts the waits that have a result, all deliveries, and the polls with an
  // older fence than one before.
  int results() {
    const std::lock_guard lock(mutex_);
    return static_cast<int>(results_.size());
  }
  int64_t deliveries() {
    const std::lock_guard lock(mutex_);
    return deliveries_;
  }
  int64_t late() {
    const std::lock_guard lock(mutex_);
    return late_;
  }

  static void Sleep(int64_t seconds) {
    std::this_thread::sleep_for(std::chrono::seconds(seconds));
  }

 private:
  const int waits_;
  const DurableWaitsOptions options_;
  const ScopedEventuallyDefaults patience_;
  std::mutex mutex_;
  bool are_ready_ = false;
  int64_t late_ = 0;
  int64_t deliveries_ = 0;
  std::map<std::string, int64_t> fences_;
  std::map<std::string, std::set<std::string>> results_;

 protected:
  WaitOptions policy_ = {.timeout = absl::Minutes(2),
                         .backoff = {.initial_delay = absl::Milliseconds(200),
                                     .max_delay = absl::Seconds(2)}};
  std::vector<std::unique_ptr<DurableWaits>> workers_;
};

}  // namespace waiter

#endif  // WAITER_TESTS_DURABLE_LIVE_WORKERS_H_
