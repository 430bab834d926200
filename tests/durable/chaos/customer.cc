// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

#include "tests/durable/chaos/customer.h"

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "tests/durable/durable_history.h"
#include "waiter/clock.h"
#include "waiter/durable/client.h"
#include "waiter/durable/store.h"

namespace waiter::chaos {

Customer::Customer(std::shared_ptr<WaitStore> store, MonotonicTime start,
                   int partitions)
    : timeline_(start),
      client_(
          *DurableClient::Make(std::move(store), {.partitions = partitions})) {}

void Customer::Enqueue(const std::string& key,
                       const DurableHistory::Wait& wait) {
  {
    const std::lock_guard lock(mutex_);
    asked_[key].wait = wait;
    ++under_way_;
  }
  SendEnqueue(key, wait);
}

void Customer::Cancel(const std::string& key) {
  {
    const std::lock_guard lock(mutex_);
    ++under_way_;
  }
  SendCancel(key);
}

bool Customer::AskAgain() {
  std::vector<std::function<void()>> calls;
  {
    const std::lock_guard lock(mutex_);
    calls.swap(again_);
    if (calls.empty()) return under_way_ == 0;
  }
  for (const auto& call : calls) call();
  return false;
}

std::map<std::string, Customer::Asked> Customer::TakeAsked() {
  const std::lock_guard lock(mutex_);
  return std::move(asked_);
}

void Customer::SendEnqueue(const std::string& key,
                           const DurableHistory::Wait& wait) {
  const double sent = timeline_.Now();
  client_->Enqueue(
      "job",
      {.key = key, .timeout = wait.timeout, .first_delay = wait.first_delay},
      [this, key, wait, sent](const absl::StatusOr<bool>& is_new) {
        const std::lock_guard lock(mutex_);
        if (!is_new.ok()) {
          again_.emplace_back([this, key, wait] { SendEnqueue(key, wait); });
          return;
        }
        --under_way_;
        asked_[key].is_acknowledged = true;
        asked_[key].sent = sent;
        asked_[key].acknowledged = timeline_.Now();
      });
}

void Customer::SendCancel(const std::string& key) {
  const double sent = timeline_.Now();
  client_->Cancel(
      "job", key,
      [this, key, sent](const absl::StatusOr<DurableStatus>& status) {
        const std::lock_guard lock(mutex_);
        if (!status.ok()) {
          // The call failed, but may still have cancelled the wait.
          asked_[key].wait.cancelled = absl::InfiniteDuration();
          again_.emplace_back([this, key] { SendCancel(key); });
          return;
        }
        --under_way_;
        Asked& asked = asked_[key];
        if (status->phase != DurableStatus::Phase::kPending) return;
        asked.cancel_sent = sent;
        asked.cancel_acknowledged = timeline_.Now();
        asked.wait.cancelled = absl::Seconds(asked.cancel_acknowledged);
      });
}

}  // namespace waiter::chaos
