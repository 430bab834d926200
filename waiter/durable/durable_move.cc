// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "waiter/clock.h"
#include "waiter/durable/client.h"
#include "waiter/durable/durable_record.h"
#include "waiter/durable/store.h"
#include "waiter/loop.h"
#include "waiter/redis/budget_member.h"

namespace waiter {
namespace {

constexpr int64_t kMaxClaimed = 1000;
constexpr int64_t kLeaseMicros = 60'000'000;
constexpr size_t kMaxConflicts = 1000;

// One move. Each function makes a call, and its answer is the next step. A wait
// is claimed, so that no worker polls it, enqueued in the other store, and
// removed; if the move ends in between, the next one finds it in both.
class Mover : public std::enable_shared_from_this<Mover> {
 public:
  using Callback = std::function<void(absl::StatusOr<DurableMoveReport>)>;

  Mover(std::shared_ptr<WaitStore> from, std::shared_ptr<WaitStore> to,
        const std::string& name, const DurableMoveOptions& options,
        Callback callback)
      : from_(std::move(from)),
        to_(std::move(to)),
        options_(options),
        callback_(std::move(callback)),
        id_(internal::NewMember("move").id),
        source_({.space = options.space, .name = name, .index = 0}) {}

  void Begin() {
    from_->Heartbeat({.space = source_.space, .worker = id_},
                     Then<std::vector<std::string>>(&Mover::OnWorkers));
  }

 private:
  struct Taken {
    size_t claimed;  // Its place among the claimed waits.
    internal::DurableRecord record;
  };

  template <typename T>
  WaitStore::Callback<T> Then(void (Mover::*next)(T&&)) {
    return [self = shared_from_this(), next](absl::StatusOr<T> reply) {
      if (!reply.ok()) return self->Finish(reply.status());
      ((*self).*next)(*std::move(reply));
    };
  }

  void Finish(const absl::Status& status) {
    from_->Heartbeat(
        {.space = source_.space, .worker = id_, .leaves = true},
        [self = shared_from_this(), status](const auto& /*workers*/) {
          if (!status.ok()) return self->callback_(status);
          self->callback_(std::move(self->report_));
        });
  }

  void OnWorkers(std::vector<std::string>&& workers) {
    if (workers.size() > 1) {
      return Finish(absl::FailedPreconditionError(absl::StrCat(
          "space ", source_.space, " has live workers: ", workers.size() - 1,
          "; stop them first, and wait 10s if they were killed")));
    }
    to_->Describe(source_.space, Then<WaitSpace>(&Mover::OnTarget));
  }

  void OnTarget(WaitSpace&& space) {
    const std::vector<std::string>& workers = space.workers;
    if (std::find(workers.begin(), workers.end(), id_) != workers.end()) {
      return Finish(
          absl::InvalidArgumentError("both stores are the same; name two"));
    }
    from_->Describe(source_.space, Then<WaitSpace>(&Mover::OnSource));
  }

  void OnSource(WaitSpace&& space) {
    std::vector<std::string> known;
    for (const auto& [name, partitions] : space.names) {
      if (name == source_.name) source_partitions_ = partitions;
      known.push_back(name);
    }
    if (source_partitions_ == 0) {
      return Finish(absl::NotFoundError(absl::StrCat(
          source_.name, ": the store has no such name",
          known.empty() ? "" : "; it has ", absl::StrJoin(known, ", "))));
    }
    to_->Open(source_.space, source_.name, options_.partitions,
              Then<int64_t>(&Mover::OnOpen));
  }

  void OnOpen(int64_t&& partitions) {
    target_partitions_ = partitions;
    from_->Stats(source_, Then<WaitStats>(&Mover::OnSourceTime));
  }

  void OnSourceTime(WaitStats&& stats) {
    source_time_us_ = stats.now_us;
    to_->Stats(source_, Then<WaitStats>(&Mover::OnTargetTime));
  }

  void OnTargetTime(WaitStats&& stats) {
    clock_shift_us_ = stats.now_us - source_time_us_;
    Scan("0");
  }

  void Scan(std::string cursor) {
    from_->Scan(source_, std::move(cursor),
                Then<WaitStore::ScanReply>(&Mover::OnScan));
  }

  void OnScan(WaitStore::ScanReply&& reply) {
    cursor_ = std::move(reply.cursor);
    due_.clear();
    SignalRequest request = {.partition = source_,
                             .signal = WaitSignal::kNotify};
    for (const StoredWait& wait : reply.waits) {
      if (!IsMovable(wait)) continue;
      due_.emplace(wait.key, *wait.due_us);
      request.keys.push_back(wait.key);
    }
    if (due_.empty()) return NextScan();
    pass_found_any_ = true;
    // Only due waits can be claimed.
    from_->Signal(std::move(request),
                  Then<std::vector<StoredWait>>(&Mover::OnNotified));
  }

  bool IsMovable(const StoredWait& wait) {
    if (!wait.due_us.has_value() || wait.record.empty()) return false;
    if (wait.record.front() == static_cast<char>(WaitPhase::kEnded)) {
      undelivered_.insert(wait.key);
      return false;
    }
    if (*wait.due_us % 2 == 1 && *wait.due_us > source_time_us_) {
      held_.insert(wait.key);
      return false;
    }
    return !conflicts_.contains(wait.key);
  }

  void OnNotified(std::vector<StoredWait>&& /*waits*/) {
    from_->Claim(
        {.partition = source_, .most = kMaxClaimed, .lease_us = kLeaseMicros},
        Then<ClaimReply>(&Mover::OnClaimed));
  }

  void OnClaimed(ClaimReply&& reply) {
    claimed_ = std::move(reply);
    settles_.clear();
    groups_.clear();
    for (size_t i = 0; i < claimed_.waits.size(); ++i) {
      const ClaimedWait& wait = claimed_.waits[i];
      absl::StatusOr<internal::DurableRecord> record =
          internal::ParseRecord(wait.record);
      if (!record.ok() || record->phase != WaitPhase::kPending ||
          conflicts_.contains(wait.key)) {
        // Left to the store's workers, which deliver a result or know the
        // record.
        GiveBack(wait);
      } else {
        groups_[internal::PartitionOf(wait.key, target_partitions_)].push_back(
            {.claimed = i, .record = *std::move(record)});
      }
    }
    EnqueueGroup();
  }

  void GiveBack(const ClaimedWait& wait) {
    settles_.push_back({.key = wait.key,
                        .fence = claimed_.fence,
                        .delay_us = DelayOf(wait.key)});
  }

  int64_t DelayOf(const std::string& key) const {
    const auto due = due_.find(key);
    if (due == due_.end()) return 0;
    return std::max<int64_t>(0, due->second - claimed_.now_us);
  }

  void EnqueueGroup() {
    if (groups_.empty()) return Settle();
    target_ = source_;
    target_.index = groups_.begin()->first;
    EnqueueRequest request = {
        .partition = target_,
        .most_pending = std::numeric_limits<int32_t>::max()};
    for (auto& [claimed, record] : groups_.begin()->second) {
      const ClaimedWait& wait = claimed_.waits[claimed];
      if (!record.token.empty()) {
        record.token = internal::ShiftWallClock(
            record.token, std::chrono::microseconds(clock_shift_us_));
      }
      request.items.push_back(
          {.key = wait.key,
           .delay_us = DelayOf(wait.key),
           .record = record.EncodeRest(),
           .args = wait.args,
           .age_us = std::max<int64_t>(0, claimed_.now_us - record.born_us)});
    }
    to_->Enqueue(std::move(request), Then<EnqueueReply>(&Mover::OnEnqueued));
  }

  // Looks at the waits that the other store had before.
  void OnEnqueued(EnqueueReply&& reply) {
    created_ = std::move(reply.created);
    std::vector<std::string> keys;
    for (const Taken& taken : groups_.begin()->second) {
      keys.push_back(claimed_.waits[taken.claimed].key);
    }
    to_->Get(target_, std::move(keys),
             Then<std::vector<StoredWait>>(&Mover::OnTargetWaits));
  }

  void OnTargetWaits(std::vector<StoredWait>&& waits) {
    const std::vector<Taken> group =
        std::move(groups_.extract(groups_.begin()).mapped());
    if (waits.size() != group.size() || created_.size() != group.size()) {
      return Finish(absl::InternalError("the store returned too few waits"));
    }
    SignalRequest cancels = {.partition = target_,
                             .signal = WaitSignal::kCancel};
    for (size_t n = 0; n < group.size(); ++n) {
      const ClaimedWait& wait = claimed_.waits[group[n].claimed];
      if (!created_[n] && (!waits[n].exists() || waits[n].args != wait.args)) {
        AddConflict(wait);
        continue;
      }
      ++report_.moved;
      settles_.push_back({.key = wait.key,
                          .fence = claimed_.fence,
                          .action = SettleAction::kEndUnheard,
                          .reason = "moved"});
      if (wait.is_cancelled) cancels.keys.push_back(wait.key);
    }
    if (cancels.keys.empty()) return EnqueueGroup();
    to_->Signal(std::move(cancels),
                Then<std::vector<StoredWait>>(&Mover::OnCancelled));
  }

  void OnCancelled(std::vector<StoredWait>&& /*waits*/) { EnqueueGroup(); }

  void AddConflict(const ClaimedWait& wait) {
    GiveBack(wait);
    conflicts_.insert(wait.key);
    if (report_.conflicts.size() < kMaxConflicts) {
      report_.conflicts.push_back(wait.key);
    }
  }

  void Settle() {
    if (settles_.empty()) return NextScan();
    from_->Settle({.partition = source_,
                   .lease_us = kLeaseMicros,
                   .items = std::exchange(settles_, {})},
                  Then<SettleReply>(&Mover::OnSettled));
  }

  void OnSettled(SettleReply&& reply) {
    if (!reply.lost.empty()) {
      return Finish(absl::AbortedError(absl::StrCat(
          reply.lost.front(),
          ": another worker claimed it during the move; stop all workers of "
          "the store, and move again")));
    }
    NextScan();
  }

  // Passes through a partition until a pass finds nothing to move.
  void NextScan() {
    if (cursor_ != "0") return Scan(std::move(cursor_));
    if (std::exchange(pass_found_any_, false)) return Scan("0");
    report_.held += static_cast<int64_t>(held_.size());
    report_.undelivered += static_cast<int64_t>(undelivered_.size());
    held_.clear();
    undelivered_.clear();
    conflicts_.clear();
    if (++source_.index == source_partitions_) {
      return Finish(absl::OkStatus());
    }
    Scan("0");
  }

  const std::shared_ptr<WaitStore> from_;
  const std::shared_ptr<WaitStore> to_;
  const DurableMoveOptions options_;
  const Callback callback_;
  const std::string id_;
  DurableMoveReport report_;
  int64_t source_partitions_ = 0;
  int64_t target_partitions_ = 0;
  int64_t source_time_us_ = 0;  // At the start of the move.
  int64_t clock_shift_us_ = 0;  // By which the other store's clock is ahead.

  // State of the partition.
  WaitPartition source_;
  std::string cursor_;
  bool pass_found_any_ = false;
  std::set<std::string> held_;
  std::set<std::string> undelivered_;
  std::set<std::string> conflicts_;

  // State of the claimed waits.
  std::map<std::string, int64_t> due_;  // Before they were notified.
  ClaimReply claimed_;
  std::map<int, std::vector<Taken>> groups_;  // By the other partition.
  WaitPartition target_;
  std::vector<bool> created_;
  std::vector<SettleItem> settles_;
};

}  // namespace

void MoveDurableWaits(
    std::shared_ptr<WaitStore> from, std::shared_ptr<WaitStore> to,
    const std::string& name, const DurableMoveOptions& options,
    std::function<void(absl::StatusOr<DurableMoveReport>)> callback) {
  absl::Status status = internal::CheckName(name);
  status.Update(internal::CheckSpace(options.space, options.partitions));
  if (!status.ok()) {
    from->RunAt(MonotonicTime(),
                [callback = std::move(callback), status] { callback(status); });
    return;
  }
  std::make_shared<Mover>(std::move(from), std::move(to), name, options,
                          std::move(callback))
      ->Begin();
}

}  // namespace waiter
