// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// A client of the chaos test that logs its requests:
//
//   Customer customer(store, start, /*partitions=*/8);
//   customer.Enqueue("k1", {.timeout = absl::Seconds(5)});
//   while (!customer.AskAgain()) ...
//   for (const auto& [key, asked] : customer.TakeAsked()) ...

#ifndef WAITER_TESTS_DURABLE_CHAOS_CUSTOMER_H_
#define WAITER_TESTS_DURABLE_CHAOS_CUSTOMER_H_

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "tests/durable/durable_history.h"
#include "tests/redis/chaos/stage.h"
#include "waiter/clock.h"
#include "waiter/durable/client.h"
#include "waiter/durable/store.h"

namespace waiter::chaos {

// Enqueues and cancels, and repeats each call until it succeeds. Thread-safe.
class Customer {
 public:
  struct Asked {
    DurableHistory::Wait wait;
    double sent = 0;
    bool is_acknowledged = false;
    double acknowledged = 0;
    double cancel_sent = 0;
    double cancel_acknowledged = 0;  // Set if the wait was still pending.
  };

  Customer(std::shared_ptr<WaitStore> store, MonotonicTime start,
           int partitions);
  // Callbacks may still come while this runs.
  ~Customer() { client_ = nullptr; }
  Customer(const Customer&) = delete;
  Customer& operator=(const Customer&) = delete;

  void Enqueue(const std::string& key, const DurableHistory::Wait& wait);
  void Cancel(const std::string& key);

  // Repeats the calls that failed. Returns whether all calls have succeeded.
  bool AskAgain();

  std::map<std::string, Asked> TakeAsked();

 private:
  void SendEnqueue(const std::string& key, const DurableHistory::Wait& wait);
  void SendCancel(const std::string& key);

  const Timeline timeline_;
  std::mutex mutex_;
  std::map<std::string, Asked> asked_;
  int under_way_ = 0;
  std::vector<std::function<void()>> again_;
  std::unique_ptr<DurableClient> client_;
};

}  // namespace waiter::chaos

#endif  // WAITER_TESTS_DURABLE_CHAOS_CUSTOMER_H_
