// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// A store that forwards all calls; a test can change the replies:
//
//   BentWaitStore store(inner);
//   store.claim = [](const ClaimRequest&, absl::StatusOr<ClaimReply>& reply) {
//     if (reply.ok()) reply->fence = -1;
//   };
//   store.down = absl::UnavailableError("cut off");  // All calls fail.

#ifndef WAITER_TESTS_DURABLE_BENT_WAIT_STORE_H_
#define WAITER_TESTS_DURABLE_BENT_WAIT_STORE_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "gtest/gtest.h"
#include "waiter/clock.h"
#include "waiter/durable/store.h"

namespace waiter {

// For one thread. Checks the limits of every request.
class BentWaitStore final : public WaitStore {
 public:
  template <typename T>
  using Bend = std::function<void(absl::StatusOr<T>&)>;

  explicit BentWaitStore(std::shared_ptr<WaitStore> inner)
      : inner_(std::move(inner)) {}

  // If set, these may change the replies.
  std::function<void(const ClaimRequest&, absl::StatusOr<ClaimReply>&)> claim;
  std::function<void(const SettleRequest&, absl::StatusOr<SettleReply>&)>
      settle;
  Bend<EnqueueReply> enqueue;
  Bend<std::vector<StoredWait>> rows;  // For `Signal` and `Get`.
  Bend<ScanReply> scan;
  Bend<WaitStats> stats;
  Bend<int64_t> mark;
  Bend<int64_t> open;
  Bend<std::vector<std::string>> beat;
  Bend<CheckReply> check;
  Bend<std::vector<FaultyWait>> examine;
  Bend<WaitServer> inspect;
  // If set, replies to settles and marks, or to `Get`, are kept until the test
  // sends them.
  bool keeps_replies = false;
  bool keeps_rows = false;
  std::vector<std::function<void()>> kept;
  // If not OK, calls fail with this status and have no effect.
  absl::Status down;
  // After this many calls, the store is away: later calls get kUnavailable,
  // although they may have had an effect. If negative, it is never away.
  int64_t calls_until_away = -1;
  bool is_effect_lost = false;

  int64_t calls = 0;
  int64_t claims = 0;
  int64_t most_claimed = 0;  // The largest `ClaimRequest::most`.
  int64_t most_settled = 0;  // The largest number of items.

  void Claim(ClaimRequest request, Callback<ClaimReply> callback) override {
    EXPECT_GE(request.most, 1);
    EXPECT_GE(request.lease_us, 1000);
    ++claims;
    most_claimed = std::max(most_claimed, request.most);
    if (Fails(callback)) return;
    inner_->Claim(request, [this, request, callback = std::move(callback)](
                               absl::StatusOr<ClaimReply> reply) {
      if (claim != nullptr) claim(request, reply);
      if (IsAway()) reply = kAway;
      callback(std::move(reply));
    });
  }
  void Settle(SettleRequest request, Callback<SettleReply> callback) override {
    EXPECT_GE(request.lease_us, 1000);
    EXPECT_GE(request.retain_us, 0);
    EXPECT_FALSE(request.items.empty());
    for (const SettleItem& item : request.items) EXPECT_GE(item.delay_us, 0);
    most_settled = std::max<int64_t>(most_settled, std::ssize(request.items));
    if (Fails(callback)) return;
    inner_->Settle(request, [this, request, callback = std::move(callback)](
                                absl::StatusOr<SettleReply> reply) {
      if (settle != nullptr) settle(request, reply);
      if (IsAway()) reply = kAway;
      Give(callback, std::move(reply));
    });
  }
  void Enqueue(EnqueueRequest request,
               Callback<EnqueueReply> callback) override {
    EXPECT_GE(request.most_pending, 1);
    EXPECT_FALSE(request.items.empty());
    for (const EnqueueItem& item : request.items) EXPECT_GE(item.delay_us, 0);
    if (Fails(callback)) return;
    inner_->Enqueue(std::move(request), Bent(&enqueue, std::move(callback)));
  }
  void Signal(SignalRequest request,
              Callback<std::vector<StoredWait>> callback) override {
    if (Fails(callback)) return;
    inner_->Signal(std::move(request), Bent(&rows, std::move(callback)));
  }
  void Get(WaitPartition partition, std::vector<std::string> keys,
           Callback<std::vector<StoredWait>> callback) override {
    if (Fails(callback)) return;
    if (keeps_rows) {
      callback = [this, callback = std::move(callback)](auto reply) {
        kept.push_back(
            [callback, reply = std::move(reply)] { callback(reply); });
      };
    }
    inner_->Get(std::move(partition), std::move(keys),
                Bent(&rows, std::move(callback)));
  }
  void Scan(WaitPartition partition, std::string cursor,
            Callback<ScanReply> callback) override {
    if (Fails(callback)) return;
    inner_->Scan(std::move(partition), std::move(cursor),
                 Bent(&scan, std::move(callback)));
  }
  void Stats(WaitPartition partition, Callback<WaitStats> callback) override {
    if (Fails(callback)) return;
    inner_->Stats(std::move(partition), Bent(&stats, std::move(callback)));
  }
  void Mark(WaitPartition partition, std::string key, bool begins,
            Callback<int64_t> callback) override {
    if (Fails(callback)) return;
    inner_->Mark(std::move(partition), std::move(key), begins,
                 Bent<int64_t>(&mark, [this, callback = std::move(callback)](
                                          absl::StatusOr<int64_t> reply) {
                   Give(callback, std::move(reply));
                 }));
  }
  void Open(std::string space, std::string name, int64_t partitions,
            Callback<int64_t> callback) override {
    if (Fails(callback)) return;
    inner_->Open(std::move(space), std::move(name), partitions,
                 Bent(&open, std::move(callback)));
  }
  void Heartbeat(HeartbeatRequest request,
                 Callback<std::vector<std::string>> callback) override {
    if (Fails(callback)) return;
    inner_->Heartbeat(std::move(request), Bent(&beat, std::move(callback)));
  }
  void Describe(std::string space, Callback<WaitSpace> callback) override {
    if (Fails(callback)) return;
    inner_->Describe(std::move(space), std::move(callback));
  }
  void Check(WaitPartition partition, std::string cursor,
             Callback<CheckReply> callback) override {
    if (Fails(callback)) return;
    inner_->Check(std::move(partition), std::move(cursor),
                  Bent(&check, std::move(callback)));
  }
  void Examine(ExamineRequest request,
               Callback<std::vector<FaultyWait>> callback) override {
    EXPECT_LE(request.keys.size(), 250);
    if (Fails(callback)) return;
    inner_->Examine(std::move(request), Bent(&examine, std::move(callback)));
  }
  void Inspect(WaitPartition partition,
               Callback<WaitServer> callback) override {
    if (Fails(callback)) return;
    inner_->Inspect(std::move(partition), Bent(&inspect, std::move(callback)));
  }
  void RunAt(MonotonicTime time, std::function<void()> timer) override {
    inner_->RunAt(time, std::move(timer));
  }
  Clock& clock() override { return inner_->clock(); }

 private:
  inline static const absl::Status kAway = absl::UnavailableError("away");

  template <typename T>
  Callback<T> Bent(const Bend<T>* bend, Callback<T> callback) {
    return
        [this, bend, callback = std::move(callback)](absl::StatusOr<T> reply) {
          if (*bend != nullptr) (*bend)(reply);
          if (IsAway()) reply = kAway;
          callback(std::move(reply));
        };
  }

  template <typename T>
  void Give(const Callback<T>& callback, absl::StatusOr<T> reply) {
    if (!keeps_replies) return callback(std::move(reply));
    kept.push_back([callback, reply = std::move(reply)] { callback(reply); });
  }

  template <typename T>
  bool Fails(Callback<T>& callback) {
    ++calls;
    if (calls_until_away > 0) --calls_until_away;
    const bool is_away = IsAway() && is_effect_lost;
    if (down.ok() && !is_away) return false;
    inner_->RunAt(clock().MonotonicNow(),
                  [status = is_away ? kAway : down,
                   callback = std::move(callback)] { callback(status); });
    return true;
  }

  bool IsAway() const { return calls_until_away == 0; }

  const std::shared_ptr<WaitStore> inner_;
};

}  // namespace waiter

#endif  // WAITER_TESTS_DURABLE_BENT_WAIT_STORE_H_
