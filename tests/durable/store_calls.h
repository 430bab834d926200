// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// Wraps a store of durable waits in calls that return their replies:
//
//   const StoreCalls store(*MakeSqliteWaitStore(path));
//   EXPECT_TRUE(store.Enqueue({{.key = "a"}}).ok());

#ifndef WAITER_TESTS_DURABLE_STORE_CALLS_H_
#define WAITER_TESTS_DURABLE_STORE_CALLS_H_

#include <cstdint>
#include <future>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "gtest/gtest.h"
#include "waiter/durable/client.h"
#include "waiter/durable/store.h"

namespace waiter {

// Returns the answer to a call that takes a callback.
template <typename T, typename Call>
absl::StatusOr<T> AnswerOf(const Call& call) {
  std::promise<absl::StatusOr<T>> promise;
  call([&promise](absl::StatusOr<T> answer) {
    promise.set_value(std::move(answer));
  });
  return promise.get_future().get();
}

// Returns the write that ends a held wait, whose result a handler will hear.
inline SettleItem Ended(const std::string& key, int64_t fence,
                        const std::string& value = "value") {
  return {.key = key,
          .fence = fence,
          .action = SettleAction::kEnd,
          .record = "1ended",
          .value = value,
          .reason = "success"};
}
// The same if no handler will hear it.
inline SettleItem Over(const std::string& key, int64_t fence,
                       const std::string& reason = "success",
                       const std::string& value = "value") {
  return {.key = key,
          .fence = fence,
          .action = SettleAction::kEndUnheard,
          .record = "2over",
          .value = value,
          .reason = reason};
}

// A wait store, with calls for partition 0 of the name "n".
class StoreCalls {
 public:
  static constexpr int64_t kMinute = 60'000'000;  // In microseconds.

  explicit StoreCalls(std::shared_ptr<WaitStore> store)
      : store_(std::move(store)) {}

  const std::shared_ptr<WaitStore>& get() const { return store_; }

  absl::StatusOr<int64_t> Open(int64_t partitions = 1) const {
    return AnswerOf<int64_t>([&](auto callback) {
      store_->Open(kPartition.space, kPartition.name, partitions,
                   std::move(callback));
    });
  }
  absl::StatusOr<EnqueueReply> Enqueue(std::vector<EnqueueItem> items) const {
    return AnswerOf<EnqueueReply>([&](auto callback) {
      store_->Enqueue({.partition = kPartition,
                       .most_pending = 1'000'000,
                       .items = std::move(items)},
                      std::move(callback));
    });
  }
  absl::StatusOr<ClaimReply> Claim(int64_t most = 100) const {
    return AnswerOf<ClaimReply>([&](auto callback) {
      store_->Claim(
          {.partition = kPartition, .most = most, .lease_us = kMinute},
          std::move(callback));
    });
  }
  absl::StatusOr<SettleReply> Settle(std::vector<SettleItem> items,
                                     int64_t retain_us = 0) const {
    return AnswerOf<SettleReply>([&](auto callback) {
      store_->Settle({.partition = kPartition,
                      .lease_us = kMinute,
                      .retain_us = retain_us,
                      .items = std::move(items)},
                     std::move(callback));
    });
  }
  StoredWait Get(const std::string& key) const {
    const auto rows = AnswerOf<std::vector<StoredWait>>([&](auto callback) {
      store_->Get(kPartition, {key}, std::move(callback));
    });
    EXPECT_EQ(rows.status(), absl::OkStatus());
    return rows.ok() ? rows->at(0) : StoredWait();
  }
  std::vector<StoredWait> Cancel(const std::string& key) const {
    return AnswerOf<std::vector<StoredWait>>([&](auto callback) {
             store_->Signal({.partition = kPartition, .keys = {key}},
                            std::move(callback));
           })
        .value_or(std::vector<StoredWait>(1));
  }
  absl::StatusOr<WaitStats> Stats() const {
    return AnswerOf<WaitStats>(
        [&](auto callback) { store_->Stats(kPartition, std::move(callback)); });
  }
  absl::StatusOr<DurableCheckReport> Check(bool repairs = false) const {
    return AnswerOf<DurableCheckReport>([&](auto callback) {
      CheckDurableWaits(store_, kPartition.name,
                        {.partitions = 1, .repairs = repairs}, callback);
    });
  }
  std::vector<std::string> Faults(bool repairs) const {
    const absl::StatusOr<DurableCheckReport> report = Check(repairs);
    EXPECT_EQ(report.status(), absl::OkStatus());
    std::vector<std::string> faults;
    if (!report.ok()) return faults;
    for (const DurableFinding& finding : report->findings) {
      faults.push_back(absl::StrCat(
          finding.key, " ", absl::string_view(ToString(finding.fault).data())));
    }
    return faults;
  }

 private:
  inline static const WaitPartition kPartition = {.space = "default",
                                                  .name = "n"};

  const std::shared_ptr<WaitStore> store_;
};

}  // namespace waiter

#endif  // WAITER_TESTS_DURABLE_STORE_CALLS_H_
