// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// A worker's calls to its store, and its handling of replies.

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "waiter/clock.h"
#include "waiter/durable/claim_pacer.h"
#include "waiter/durable/due_number.h"
#include "waiter/durable/durable_record.h"
#include "waiter/durable/durable_worker.h"
#include "waiter/durable/leased_wait.h"
#include "waiter/durable/membership.h"
#include "waiter/durable/registration.h"
#include "waiter/durable/settle_queue.h"
#include "waiter/durable/store.h"
#include "waiter/durable/suspect_line.h"
#include "waiter/internal/mutex.h"
#include "waiter/result.h"

namespace waiter::internal {
namespace {

using State = LeasedWait::State;
using std::chrono::microseconds;
using std::chrono::nanoseconds;
using std::chrono::seconds;

constexpr nanoseconds kFailedUnmarkGap = seconds(1);
// Names are opened again after this time: the store may have been emptied, and
// its names divided differently.
constexpr nanoseconds kOpenGap = seconds(30);
constexpr nanoseconds kUnreadableDelay = seconds(30);
constexpr nanoseconds kOverlapDelay = seconds(1);
constexpr int64_t kSuspectCrashes = 2;

int64_t MicrosOf(nanoseconds time) {
  return std::chrono::duration_cast<microseconds>(time).count();
}

WaitReport CrashReport(const std::string& name, const LeasedWait& wait) {
  WaitReport report;
  report.reason = StopReason::kFailed;
  report.attempts = wait.record().token.attempts();
  report.status = absl::AbortedError(absl::StrCat(
      name, " ", wait.key(), ": crashed its worker ", wait.marks(), " times"));
  return report;
}

}  // namespace

// Workers and clients must agree on the partitions.
void DurableWorker::Open(NameState& name, MonotonicTime now) {
  name.is_opening = true;
  name.next_open = now + Membership::kHeartbeatGap;
  store_->Open(options_.space, name.registration->name(), options_.partitions,
               Reply<int64_t>([&name](DurableWorker& self,
                                      const absl::StatusOr<int64_t>& count) {
                 self.mutex_.AssertHeld();
                 name.is_opening = false;
                 name.refusal = count.status();
                 if (count.ok() && *count != self.options_.partitions) {
                   name.refusal = absl::FailedPreconditionError(absl::StrCat(
                       name.registration->name(), " has ", *count,
                       " partitions in the store, and ",
                       self.options_.partitions, " in the options"));
                 }
                 self.state_.last_error = name.refusal;
                 if (!name.refusal.ok()) return;
                 name.next_open = self.clock_.MonotonicNow() + kOpenGap;
                 self.pacer_.Open(name.number);
               }));
}

void DurableWorker::SendHeartbeat(MonotonicTime now) {
  membership_.BeginHeartbeat(now);
  store_->Heartbeat(
      {.space = options_.space, .worker = membership_.id()},
      Reply<std::vector<std::string>>(
          [](DurableWorker& self, const auto& workers) {
            self.mutex_.AssertHeld();
            self.state_.last_error = workers.status();
            if (!workers.ok()) return;
            const MonotonicTime time = self.clock_.MonotonicNow();
            for (const size_t i : self.membership_.OnWorkers(*workers)) {
              self.pacer_.OnRank(i, self.membership_.rank(i), time);
            }
          }));
}

void DurableWorker::Leave() {
  departure_ = Departure::kSent;
  store_->Heartbeat(
      {.space = options_.space, .worker = membership_.id(), .leaves = true},
      Reply<std::vector<std::string>>(
          [](DurableWorker& self, const auto& workers) {
            self.mutex_.AssertHeld();
            self.departure_ =
                workers.ok() ? Departure::kRecorded : Departure::kNone;
            self.drained_.Notify();
          }));
}

void DurableWorker::SendClaim(const ClaimPacer::Claim& claim,
                              MonotonicTime now) {
  store_->Claim(
      {.partition = partitions_[claim.partition].id,
       .most = claim.max_waits,
       .lease_us = MicrosOf(lease_)},
      Reply<ClaimReply>([claim, now](DurableWorker& self, const auto& reply) {
        self.mutex_.AssertHeld();
        self.OnClaimed(claim, now, reply);
      }));
}

void DurableWorker::OnClaimed(const ClaimPacer::Claim& claim,
                              MonotonicTime sent,
                              const absl::StatusOr<ClaimReply>& reply) {
  state_.last_error = reply.status();
  const MonotonicTime now = clock_.MonotonicNow();
  std::optional<int64_t> count;
  std::optional<nanoseconds> next_due_in;
  if (reply.ok()) {
    store_time_.Observe(claim.partition, sent, now, reply->now_us);
    count = static_cast<int64_t>(reply->waits.size());
    state_.claimed += *count;
    if (reply->next_us.has_value()) {
      next_due_in = microseconds(*reply->next_us - reply->now_us);
    }
    for (const ClaimedWait& wait : reply->waits) {
      Adopt(claim.partition, wait, {DueNumber(reply->fence), sent + lease_},
            now);
    }
  }
  pacer_.OnReply(claim, count, next_due_in, membership_.rank(claim.partition),
                 now);
}

void DurableWorker::Adopt(size_t partition, const ClaimedWait& claimed,
                          const WaitLease& lease, MonotonicTime now) {
  NameState& name = partitions_[partition].name;
  const auto release = [&](nanoseconds delay) {
    mutex_.AssertHeld();
    if (claimed.is_notified) NotifyAgain(partition, claimed.key);
    settles_.AddRelease(partition,
                        {.key = claimed.key, .fence = lease.fence.value()},
                        now + delay, now);
  };
  absl::StatusOr<DurableRecord> record = ParseRecord(claimed.record);
  if (!record.ok() || record->phase == WaitPhase::kDelivered) {
    ++state_.unreadable;
    state_.last_error = record.status();
    return release(kUnreadableDelay);
  }
  auto& slot = name.entries[claimed.key];
  // A poll of this worker outlived the lease.
  if (slot != nullptr) return release(kOverlapDelay);
  slot =
      std::make_unique<Entry>(Entry{.name = name,
                                    .partition = partition,
                                    .number = ++claims_,
                                    .wait = std::make_shared<LeasedWait>(
                                        claimed, *std::move(record), lease)});
  pacer_.OnHeld(name.number);
  Entry& entry = *slot;
  const LeasedWait& wait = *entry.wait;
  if (wait.record().phase == WaitPhase::kEnded) {
    if (wait.record().reason != StopReason::kSuccess) {
      DeliverOrSkip(entry);
    } else {
      Apply(entry, Event::kFetch);
    }
  } else if (wait.marks() >= options_.max_crashes) {
    End(entry, CrashReport(name.registration->name(), wait), "");
  } else if (wait.crashes() >= kSuspectCrashes && !wait.is_cancelled()) {
    Apply(entry, Event::kSuspect);
    suspects_.Add({partition, wait.key()});
    MarkNextSuspect();
  } else {
    StartPolling(entry, now);
  }
}

// Keeps the notification of a wait that is released without a poll.
void DurableWorker::NotifyAgain(size_t partition, const std::string& key) {
  store_->Signal({.partition = partitions_[partition].id,
                  .keys = {key},
                  .signal = WaitSignal::kNotify},
                 [](const auto& /*waits*/) {});
}

void DurableWorker::DeliverOrSkip(Entry& entry) {
  if (entry.name.registration->has_handler()) {
    Apply(entry, Event::kDeliver);
  } else {
    entry.wait->EndDelivery(/*is_accepted=*/true, {});
    Apply(entry, Event::kSkip);
  }
}

void DurableWorker::FetchValue(Entry& entry) {
  store_->Get(
      partitions_[entry.partition].id, {entry.wait->key()},
      Reply<std::vector<StoredWait>>(
          [&name = entry.name, key = entry.wait->key(), number = entry.number](
              DurableWorker& self, const auto& rows) {
            self.mutex_.AssertHeld();
            Entry* const found = Find(name, key);
            // A late reply must not answer a later claim of the wait: a store
            // that lost its last writes may have another result by then.
            if (found == nullptr || found->number != number ||
                found->wait->state() != State::kFetching) {
              return;
            }
            if (!rows.ok() || rows->empty()) {
              self.Apply(*found, Event::kLose);
              return;
            }
            found->wait->SetValue(rows->front().value);
            self.DeliverOrSkip(*found);
          }));
}

// Renews all leases, with the newest records.
void DurableWorker::Renew(MonotonicTime now) {
  next_renewal_ = now + third_;
  ForEachEntry([this, now](Entry& entry) {
    mutex_.AssertHeld();
    if (!entry.wait->is_renewed()) return;
    if (now < entry.wait->lease().end) {
      QueueWrite(entry);
    } else {
      Apply(entry, Event::kLose);
    }
  });
}

void DurableWorker::QueueWrite(Entry& entry) {
  const MonotonicTime now = clock_.MonotonicNow();
  if (settles_.Add(entry.partition, entry.wait, now, is_draining_)) {
    Flush(entry.partition, now);
  }
}

bool DurableWorker::Flush(size_t partition, MonotonicTime now) {
  SettleQueue::Batch batch = settles_.Take(partition, now);
  if (batch.items.empty()) return false;
  store_->Settle(
      {.partition = partitions_[partition].id,
       .lease_us = MicrosOf(lease_),
       .retain_us = absl::ToInt64Microseconds(options_.retain),
       .polls = std::exchange(partitions_[partition].polls, 0),
       .items = std::move(batch.items)},
      Reply<SettleReply>([partition, now, sent = std::move(batch.sent)](
                             DurableWorker& self, const auto& reply) {
        self.mutex_.AssertHeld();
        self.OnSettled(partition, now, sent, reply);
      }));
  return true;
}

void DurableWorker::OnSettled(size_t partition, MonotonicTime sent,
                              const std::vector<SettleQueue::Sent>& items,
                              const absl::StatusOr<SettleReply>& reply) {
  state_.last_error = reply.status();
  NameState& name = partitions_[partition].name;
  const MonotonicTime now = clock_.MonotonicNow();
  std::vector<SettleQueue::Outcome> outcomes;
  if (reply.ok()) {
    store_time_.Observe(partition, sent, now, reply->now_us);
    state_.lost += static_cast<int64_t>(reply->lost.size());
    outcomes = settles_.OnReply(partition, items, *reply, sent + lease_, now);
  } else {
    outcomes = settles_.OnError(partition, items, now);
  }
  for (const auto& [wait, event, done] : outcomes) {
    if (done == SettleAction::kEnd || done == SettleAction::kEndUnheard) {
      ++state_.ended;
    } else if (done == SettleAction::kDelivered) {
      ++state_.delivered;
    } else if (done == SettleAction::kRelease) {
      pacer_.OnReleased(partition, wait->wake_up(), membership_.rank(partition),
                        now);
    }
    Apply(*Find(name, wait->key()), event);
  }
  if (!reply.ok()) return;
  for (const std::string& key : reply->cancelled) {
    Entry* const entry = Find(name, key);
    if (entry == nullptr) continue;
    entry->wait->RequestCancel();
    if (entry->wait->Allows(Event::kPoll)) entry->handle.Cancel();
  }
}

// Marks the next suspect in the store, and then allows its polls.
void DurableWorker::MarkNextSuspect() {
  while (const std::optional<Suspect> suspect = suspects_.Next()) {
    const Entry* const entry =
        Find(partitions_[suspect->partition].name, suspect->key);
    if (entry == nullptr || entry->wait->state() != State::kSuspected) {
      suspects_.Skip();
      continue;
    }
    store_->Mark(partitions_[suspect->partition].id, suspect->key,
                 /*begins=*/true,
                 Reply<int64_t>([suspect = *suspect](DurableWorker& self,
                                                     const auto& marks) {
                   self.mutex_.AssertHeld();
                   self.OnMarked(suspect, marks.ok());
                 }));
  }
}

void DurableWorker::OnMarked(const Suspect& suspect, bool is_ok) {
  Entry* const entry = Find(partitions_[suspect.partition].name, suspect.key);
  const bool is_wanted =
      entry != nullptr && entry->wait->state() == State::kSuspected;
  if (is_wanted && is_ok) {
    suspects_.OnMarked();
    return StartPolling(*entry, clock_.MonotonicNow());
  }
  // The wait was released in the meantime, or the store has not answered but
  // may have the mark. Without a poll, that must not count as a crash.
  suspects_.Skip();
  Unmark(suspect);
  if (is_wanted) Apply(*entry, Event::kLose);
  MarkNextSuspect();
}

// A mark that stays would count as a crash.
void DurableWorker::Unmark(const Suspect& suspect) {
  store_->Mark(
      partitions_[suspect.partition].id, suspect.key, /*begins=*/false,
      Reply<int64_t>([suspect](DurableWorker& self, const auto& reply) {
        self.mutex_.AssertHeld();
        self.state_.last_error = reply.status();
        if (reply.ok()) return;
        self.RunAt(self.clock_.MonotonicNow() + kFailedUnmarkGap,
                   [suspect](DurableWorker& worker) {
                     worker.mutex_.AssertHeld();
                     // A later poll clears its own mark, and with it this one.
                     if (worker.suspects_.IsCurrent(suspect)) return;
                     worker.Unmark(suspect);
                   });
      }));
}

void DurableWorker::EndSuspectPoll(const Entry& entry) {
  const Suspect suspect = {entry.partition, entry.wait->key()};
  if (!suspects_.EndPoll(suspect)) return;
  Unmark(suspect);
  MarkNextSuspect();
}

void DurableWorker::RunAt(MonotonicTime time,
                          std::function<void(DurableWorker&)> run) {
  store_->RunAt(time, [weak = weak_from_this(), run = std::move(run)] {
    const std::shared_ptr<DurableWorker> self = weak.lock();
    if (self == nullptr) return;
    const MutexLock lock(self->mutex_);
    if (!self->has_stopped_) run(*self);
  });
}

}  // namespace waiter::internal
