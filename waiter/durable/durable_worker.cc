// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

#include "waiter/durable/durable_worker.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "absl/types/span.h"
#include "waiter/budgets.h"
#include "waiter/clock.h"
#include "waiter/crc32c.h"
#include "waiter/durable/client.h"
#include "waiter/durable/durable_record.h"
#include "waiter/durable/store.h"
#include "waiter/durable/worker.h"
#include "waiter/engine/async_waiter.h"
#include "waiter/engine/batch_poller.h"
#include "waiter/internal/mutex.h"
#include "waiter/internal/string_views.h"
#include "waiter/loop.h"
#include "waiter/observer.h"
#include "waiter/options.h"
#include "waiter/policy.h"
#include "waiter/poll.h"
#include "waiter/redis/budget_member.h"
#include "waiter/result.h"
#include "waiter/token.h"
#include "waiter/waiter.h"

namespace waiter::internal {
namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::nanoseconds;
using std::chrono::seconds;

// Longest times between two looks into a partition, by the rank of a worker.
constexpr std::array<nanoseconds, 3> kLooks = {milliseconds(250), seconds(2),
                                               seconds(30)};
constexpr nanoseconds kLeastClaimGap = milliseconds(5);
constexpr nanoseconds kBeatGap = seconds(5);
constexpr nanoseconds kErrorGap = seconds(1);
// Somebody may empty the store, and divide the names in it anew.
constexpr nanoseconds kOpenGap = seconds(30);
constexpr nanoseconds kLeastStep = seconds(1);
// Batches of waits that may be due and not polled. Fewer if they wait for a
// limiter, as other workers may have more of the rate.
constexpr int64_t kBatchesAhead = 4;
constexpr int64_t kLimitedBatchesAhead = 1;
// Looks that begin when there is room again.
constexpr int kLooksAtOnce = 4;
// The room that sleeping waits leave, in batches and in parts of all.
constexpr int64_t kBatchesOfRoom = 10;
constexpr int64_t kPartOfRoom = 8;
// Settles wait so long for others, up to so many. Releases wait longer, until
// they are due: nobody waits for them, and many cost little more than one.
constexpr nanoseconds kFlushGap = milliseconds(5);
constexpr nanoseconds kReleaseGap = milliseconds(50);
constexpr size_t kFlushSize = 250;
constexpr nanoseconds kUnreadableDelay = seconds(30);
constexpr nanoseconds kOverlapDelay = seconds(1);
constexpr int64_t kSuspectCrashes = 2;
constexpr size_t kLongestValue = size_t{64} * 1024;

nanoseconds LookGap(int64_t rank) {
  return kLooks.at(std::min(static_cast<size_t>(rank), kLooks.size() - 1));
}

bool IsEmpty(const DurableAsker& asker) {
  if (const auto* const batches = std::get_if<DurableBatches>(&asker)) {
    return batches->call == nullptr;
  }
  if (const auto* const async = std::get_if<DurableAsyncFunction>(&asker)) {
    return *async == nullptr;
  }
  return std::get<DurableFunction>(asker) == nullptr;
}

int64_t MicrosOf(nanoseconds time) {
  return std::chrono::duration_cast<microseconds>(time).count();
}

}  // namespace

DurableWorker::DurableWorker(std::shared_ptr<WaitStore> store,
                             const DurableWaitsOptions& options)
    : store_(std::move(store)),
      clock_(store_->clock()),
      options_(options),
      id_(options.worker.empty() ? NewMember("").id : options.worker),
      lease_(absl::ToChronoNanoseconds(options.lease)),
      third_(lease_ / 3),
      delivery_(WaitPolicy::Make({.timeout = absl::InfiniteDuration(),
                                  .max_attempts = 1,
                                  .hooks = {.observer = Nobody()},
                                  .clock = &clock_})) {
  engine_.emplace(
      WaitEngineOptions{.threads = options.threads, .clock = &clock_});
}

absl::Status DurableWorker::Register(const std::string& name,
                                     WaitOptions policy, DurableAsker asker,
                                     DurableHandler handler,
                                     const DurableNameOptions& options) {
  if (absl::Status status = CheckName(name); !status.ok()) return status;
  const auto* const batches = std::get_if<DurableBatches>(&asker);
  if (IsEmpty(asker)) {
    return absl::InvalidArgumentError(
        absl::StrCat(name, ": the status function is null"));
  }
  if (absl::Status status = Validate(options); !status.ok()) return status;
  if (batches != nullptr) {
    if (absl::Status status = Validate(batches->options); !status.ok()) {
      return status;
    }
  }
  if (absl::Status status = Validate(policy); !status.ok()) return status;
  const MutexLock lock(mutex_);
  if (has_started_) {
    return absl::FailedPreconditionError(
        absl::StrCat(name, ": registered after the start"));
  }
  auto& entry = names_[name];
  if (entry != nullptr) {
    return absl::AlreadyExistsError(absl::StrCat(name, ": registered twice"));
  }
  entry = std::make_unique<Name>();
  entry->name = name;
  if (batches != nullptr) {
    entry->batches = std::make_unique<BatchPoller<DurableKey, std::string>>(
        *engine_,
        [this, &registered = *entry](absl::Span<const DurableKey> keys) {
          return PollMany(registered, keys);
        },
        batches->options);
  }
  entry->asker = std::move(asker);
  entry->handler = std::move(handler);
  entry->max_held = options.max_held;
  policy.clock = &clock_;
  WaitOptions first = policy;
  first.hooks.on_checkpoint = nullptr;
  first.hooks.on_failure = nullptr;
  // The wait has its hooks when a worker polls it.
  first.hooks.observer = Nobody();
  first.budgets.rate_limiter = nullptr;
  entry->first = WaitPolicy::Make(std::move(first));
  if (policy.hooks.on_failure != nullptr) {
    policy.hooks.on_failure =
        [this, &registered = *entry, then = std::move(policy.hooks.on_failure)](
            const WaitFailure& end) { OnGiveUp(registered, then, end); };
  }
  policy.hooks.on_checkpoint =
      [this, &registered = *entry,
       then = std::move(policy.hooks.on_checkpoint)](const WaitToken& token) {
        if (then != nullptr) then(token);
        OnCheckpoint(registered, token);
      };
  entry->policy = WaitPolicy::Make(std::move(policy));
  for (int i = 0; i < options_.partitions; ++i) {
    entry->partitions.push_back(std::make_unique<Partition>(
        Partition{.name = *entry,
                  .id = {.space = options_.space, .name = name, .index = i},
                  .number = partitions_++}));
  }
  return absl::OkStatus();
}

void DurableWorker::Start() {
  const MutexLock lock(mutex_);
  if (has_started_) return;
  has_started_ = true;
  const MonotonicTime now = clock_.MonotonicNow();
  next_renewal_ = now + third_;
  Turn();
}

// Nobody may claim by another division than those who enqueue.
void DurableWorker::Open(Name& name, MonotonicTime now) {
  name.is_opening = true;
  name.next_open = now + kBeatGap;
  store_->Open(
      options_.space, name.name, options_.partitions,
      Reply<int64_t>(
          [&name](DurableWorker& self, const absl::StatusOr<int64_t>& count) {
            self.mutex_.AssertHeld();
            name.is_opening = false;
            name.is_open = count.ok() && *count == self.options_.partitions;
            name.refusal = count.status();
            if (count.ok() && !name.is_open) {
              name.refusal = absl::FailedPreconditionError(absl::StrCat(
                  name.name, " has ", *count, " partitions in the store, and ",
                  self.options_.partitions, " in the options"));
            }
            self.Note(name.refusal);
            if (!name.is_open) return;
            name.next_open = self.clock_.MonotonicNow() + kOpenGap;
            if (std::exchange(name.has_looks, true)) return;
            for (const auto& partition : name.partitions) {
              self.looks_.Set(*partition, {});
            }
          }));
}

void DurableWorker::Turn() {
  const MonotonicTime now = clock_.MonotonicNow();
  if (now >= next_beat_ && !is_draining_) Beat(now);
  if (now >= next_renewal_) Renew(now);
  for (const auto& [key, name] : names_) {
    if (!name->is_opening && now >= name->next_open) Open(*name, now);
  }
  while (Partition* const partition = flushes_.Due(now)) {
    Flush(*partition, now);
  }
  // Those due for longest come first, as there may be room for a few only.
  while (!is_draining_ && now >= looks_from_) {
    Partition* const partition = looks_.Due(now);
    if (partition == nullptr || !Look(*partition, now)) break;
  }
  Arm();
}

MonotonicTime DurableWorker::NextTime() const {
  MonotonicTime next = next_renewal_;
  next = std::min(next, flushes_.Next());
  for (const auto& [key, name] : names_) {
    if (!name->is_opening) next = std::min(next, name->next_open);
  }
  if (is_draining_) return next;
  return std::min({next, next_beat_, std::max(looks_.Next(), looks_from_)});
}

// Makes sure that a timer fires at the time of what is due next.
void DurableWorker::Arm() {
  const MonotonicTime time = NextTime();
  if (time >= armed_ || has_stopped_ || !has_started_) return;
  armed_ = time;
  store_->RunAt(time, [weak = weak_from_this()] {
    const std::shared_ptr<DurableWorker> self = weak.lock();
    if (self == nullptr) return;
    const MutexLock lock(self->mutex_);
    if (self->has_stopped_) return;
    // An earlier timer may have been set since this one was.
    if (self->clock_.MonotonicNow() >= self->armed_) {
      self->armed_ = MonotonicTime::max();
    }
    self->Turn();
  });
}

void DurableWorker::Beat(MonotonicTime now) {
  next_beat_ = now + kBeatGap;
  store_->Heartbeat(options_.space, id_,
               Reply<std::vector<std::string>>(
                   [](DurableWorker& self, const auto& workers) {
                     self.mutex_.AssertHeld();
                     self.OnBeat(workers);
                   }));
}

// The worker with the highest hash of its id and the partition comes first: few
// partitions change hands when workers come and go.
void DurableWorker::OnBeat(
    const absl::StatusOr<std::vector<std::string>>& workers) {
  Note(workers.status());
  if (!workers.ok()) return;
  const MonotonicTime now = clock_.MonotonicNow();
  for (const auto& [key, name] : names_) {
    for (const auto& partition : name->partitions) {
      const std::string place =
          absl::StrCat("/", name->name, "/", partition->id.index);
      const auto hash = [&place](const std::string& worker) {
        return Crc32c(absl::StrCat(worker, place));
      };
      const uint32_t own = hash(id_);
      const int64_t before = std::exchange(
          partition->rank, std::count_if(workers->begin(), workers->end(),
                                         [&hash, own](const auto& worker) {
                                           return hash(worker) > own;
                                         }));
      // The workers that looked more often are gone.
      if (partition->rank < before &&
          partition->next_look != MonotonicTime::max()) {
        looks_.Hasten(*partition, now + LookGap(partition->rank));
      }
    }
  }
}

// Returns false if this worker has no room at all.
bool DurableWorker::Look(Partition& partition, MonotonicTime now) {
  Name& name = partition.name;
  const int64_t room = options_.max_held - state_.held - asked_for_;
  if (room <= 0) {
    // Claims under way may find less than they asked for.
    looks_from_ = asked_for_ > 0 ? MonotonicTime::max() : now + kLooks[0];
    return false;
  }
  const int64_t most =
      std::min({options_.claim_batch, room, RoomAhead(name),
                name.max_held - static_cast<int64_t>(name.held.size()) -
                    name.asked_for});
  if (most <= 0) {
    name.parked.emplace_back(&partition, partition.next_look);
    looks_.Set(partition, MonotonicTime::max());
    return true;
  }
  looks_.Set(partition, MonotonicTime::max());
  // Most claims find little; a first one may find anything.
  const int64_t expected =
      std::min(most, partition.last_claimed.value_or(most));
  asked_for_ += most;
  name.asked_for += most;
  name.expected += expected;
  store_->Claim(
      {.partition = partition.id, .most = most, .lease_us = MicrosOf(lease_)},
      Reply<ClaimReply>([&partition, now, most, expected](DurableWorker& self,
                                                          const auto& reply) {
        self.mutex_.AssertHeld();
        self.asked_for_ -= most;
        partition.name.asked_for -= most;
        partition.name.expected -= expected;
        self.OnRoom(partition.name);
        self.OnClaim(partition, now, most, reply);
      }));
  return true;
}

bool DurableWorker::HasRoom() const {
  const int64_t room = std::min(kBatchesOfRoom * options_.claim_batch,
                                options_.max_held / kPartOfRoom);
  return options_.max_held - state_.held > room;
}

// Waits that a worker cannot poll soon are better left to others.
int64_t DurableWorker::MostAhead(const Name& name) const {
  const bool is_limited =
      name.policy->options().budgets.rate_limiter != nullptr;
  return options_.claim_batch *
         (is_limited ? kLimitedBatchesAhead : kBatchesAhead);
}

// Small claims cost as much as large ones, so there is none for less than half
// of the room.
int64_t DurableWorker::RoomAhead(const Name& name) const {
  const int64_t most = MostAhead(name);
  const int64_t left = most - name.unpolled - name.expected;
  return 2 * left >= most ? left : 0;
}

void DurableWorker::CountPolled(Held& held) {
  if (!std::exchange(held.is_unpolled, false)) return;
  Name& name = held.name;
  const bool had_room = RoomAhead(name) > 0;
  --name.unpolled;
  if (had_room || RoomAhead(name) == 0 || name.parked.empty()) return;
  OnRoom(name);
  Arm();
}

void DurableWorker::ObserveClock(Partition& partition, MonotonicTime sent,
                                 MonotonicTime now, int64_t now_us) {
  const nanoseconds ahead = microseconds(now_us) - now.time_since_epoch();
  const nanoseconds step = ahead - partition.ahead.value_or(ahead);
  const nanoseconds trip = now - sent;
  // A reply that took long may be read long after the server wrote it.
  if (step > kLeastStep + trip || step < -kLeastStep - trip) {
    state_.clock_step = absl::FromChrono(step);
    store_clock_ = StoreClock();
  }
  partition.ahead = ahead;
  store_clock_.Observe(sent, now, microseconds(now_us));
}

void DurableWorker::OnRoom(Name& name) {
  looks_from_ = {};
  // The replies to these looks let others follow.
  for (int i = 0; i < kLooksAtOnce && !name.parked.empty(); ++i) {
    const auto [partition, time] = name.parked.front();
    name.parked.pop_front();
    looks_.Set(*partition, time);
  }
}

void DurableWorker::OnClaim(Partition& partition, MonotonicTime sent,
                            int64_t most,
                            const absl::StatusOr<ClaimReply>& reply) {
  Note(reply.status());
  const MonotonicTime now = clock_.MonotonicNow();
  if (!reply.ok()) {
    return looks_.Set(partition, now + kErrorGap);
  }
  ObserveClock(partition, sent, now, reply->now_us);
  state_.claimed += static_cast<int64_t>(reply->waits.size());
  partition.last_claimed = static_cast<int64_t>(reply->waits.size());
  for (const ClaimedWait& wait : reply->waits) {
    Adopt(partition, wait, reply->fence, sent + lease_, now);
  }
  nanoseconds gap = LookGap(partition.rank);
  if (static_cast<int64_t>(reply->waits.size()) == most) {
    gap = nanoseconds::zero();
  } else if (reply->next_us.has_value()) {
    const nanoseconds left = microseconds(*reply->next_us - reply->now_us);
    gap = std::min(gap, std::max(left, kLeastClaimGap));
  }
  looks_.Set(partition, now + gap);
}

void DurableWorker::Adopt(Partition& partition, const ClaimedWait& wait,
                          int64_t fence, MonotonicTime lease_end,
                          MonotonicTime now) {
  Name& name = partition.name;
  const auto give_back = [&](nanoseconds delay) {
    mutex_.AssertHeld();
    partition.items.push_back({.item = {.key = wait.key,
                                        .fence = fence,
                                        .action = SettleAction::kRelease},
                               .wake_up = now + delay});
    flushes_.Hasten(partition, now + kFlushGap);
  };
  absl::StatusOr<DurableRecord> record = ParseRecord(wait.record);
  if (!record.ok() || record->phase == WaitPhase::kDelivered) {
    ++state_.unreadable;
    Note(record.status());
    return give_back(kUnreadableDelay);
  }
  auto& entry = name.held[wait.key];
  // A poll of ours outlived the lease.
  if (entry != nullptr) return give_back(kOverlapDelay);
  entry = std::make_unique<Held>(Held{.name = name,
                                      .partition = partition,
                                      .holding = ++holdings_,
                                      .key = wait.key,
                                      .args = wait.args,
                                      .fence = fence,
                                      .lease_end = lease_end,
                                      .record = *std::move(record),
                                      .is_cancelled = wait.is_cancelled,
                                      .crashes = wait.crashes});
  ++state_.held;
  Held& held = *entry;
  if (held.record.phase == WaitPhase::kEnded) {
    held.phase = Phase::kDelivering;
    if (held.record.reason != StopReason::kSuccess) return Deliver(held);
    store_->Get(
        partition.id, {held.key},
        Reply<std::vector<StoredWait>>(
            [&name, key = held.key](DurableWorker& self, const auto& rows) {
              self.mutex_.AssertHeld();
              Held* const found = Find(name, key);
              if (found == nullptr || found->runs ||
                  found->phase != Phase::kDelivering) {
                return;
              }
              if (!rows.ok() || rows->empty()) {
                return self.Drop(*found);
              }
              found->value = rows->front().value;
              self.Deliver(*found);
            }));
    return;
  }
  if (wait.marks >= options_.max_crashes) {
    return End(held, StopReason::kFailed,
               absl::AbortedError(absl::StrCat(name.name, " ", held.key,
                                               ": crashed its worker ",
                                               wait.marks, " times")),
               held.record.token.attempts(), "");
  }
  if (wait.crashes >= kSuspectCrashes && !held.is_cancelled) {
    held.phase = Phase::kSuspected;
    suspects_.emplace_back(&name, held.key);
    return NextSuspect();
  }
  BeginPolling(held, now);
}

// Lets the next suspect be polled, once the store has noted that.
void DurableWorker::NextSuspect() {
  while (!has_suspect_ && !suspects_.empty()) {
    Name& name = *suspects_.front().first;
    const std::string key = std::move(suspects_.front().second);
    suspects_.pop_front();
    Held* const held = Find(name, key);
    if (held == nullptr || held->phase != Phase::kSuspected) continue;
    has_suspect_ = true;
    held->is_marked = true;
    store_->Mark(held->partition.id, key, /*begins=*/true,
                 Reply<int64_t>([&name, &partition = held->partition, key](
                                    DurableWorker& self, const auto& marks) {
                   self.mutex_.AssertHeld();
                   self.OnMarked(name, partition, key, marks.ok());
                 }));
  }
}

void DurableWorker::OnMarked(Name& name, const Partition& partition,
                             const std::string& key, bool is_ok) {
  Held* const held = Find(name, key);
  const bool is_wanted = held != nullptr && held->phase == Phase::kSuspected;
  if (is_wanted && is_ok) {
    // The one that was to be marked may have been lost and claimed again.
    held->is_marked = true;
    return BeginPolling(*held, clock_.MonotonicNow());
  }
  has_suspect_ = false;
  // The wait was given back meanwhile, or the store may have noted the poll
  // without an answer. Without a poll, nothing may count as a crash.
  if (held != nullptr) held->is_marked = false;
  Unmark(partition, key);
  if (is_wanted) Drop(*held);
  NextSuspect();
}

void DurableWorker::Unmark(const Partition& partition, const std::string& key) {
  store_->Mark(
      partition.id, key, /*begins=*/false,
      Reply<int64_t>([&partition, key](DurableWorker& self, const auto& reply) {
        self.mutex_.AssertHeld();
        self.Note(reply.status());
        if (!reply.ok()) self.UnmarkLater(partition, key);
      }));
}

// A mark that stays would count as a crash.
void DurableWorker::UnmarkLater(const Partition& partition,
                                const std::string& key) {
  store_->RunAt(clock_.MonotonicNow() + kErrorGap,
                [weak = weak_from_this(), &partition, key] {
                  const std::shared_ptr<DurableWorker> self = weak.lock();
                  if (self == nullptr) return;
                  const MutexLock lock(self->mutex_);
                  if (self->has_stopped_) return;
                  // A later poll clears its own mark, and with it this one.
                  const Held* const held = Find(partition.name, key);
                  if (held == nullptr || !held->is_marked) {
                    self->Unmark(partition, key);
                  }
                });
}

void DurableWorker::ClearMark(Held& held) {
  if (!std::exchange(held.is_marked, false)) return;
  has_suspect_ = false;
  Unmark(held.partition, held.key);
  NextSuspect();
}

int64_t DurableWorker::StoreTime(MonotonicTime now) const {
  return store_clock_.At(now).value_or(microseconds(0)).count();
}

nanoseconds DurableWorker::WallAhead(MonotonicTime now) const {
  return absl::ToChronoNanoseconds(clock_.TimeNow() -
                                   absl::FromUnixMicros(StoreTime(now)));
}

// Returns the token of a wait that nobody has polled, or nullopt if it ended at
// once. The wait begins at its enqueue.
std::optional<WaitToken> DurableWorker::FirstToken(Held& held,
                                                   MonotonicTime now) {
  const int64_t store_now = StoreTime(now);
  const MonotonicTime start =
      now - microseconds(std::max<int64_t>(0, store_now - held.record.born_us));
  const WaitPolicy& policy = *held.name.first;
  MonotonicTime deadline = policy.DeadlineFrom(start);
  if (held.record.timeout_us.has_value()) {
    deadline = SaturatingAdd(start, microseconds(*held.record.timeout_us));
  }
  WaitReport report;
  WaitLoop loop(policy, report);
  loop.set_name(held.key);
  const NextStep step = loop.Start(start, deadline, [] { return false; });
  if (step.action() == NextStep::Action::kSleep) held.wake_up = step.wake_up();
  if (step.action() == NextStep::Action::kFinish) {
    End(held, report.reason, report.status, report.attempts, "");
    return std::nullopt;
  }
  return SaveWait(
      loop.state(), report, held.key,
      step.action() == NextStep::Action::kSleep ? step.wake_up() : now,
      {now, absl::FromUnixMicros(store_now)});
}

void DurableWorker::BeginPolling(Held& held, MonotonicTime now) {
  if (held.record.token.empty()) {
    std::optional<WaitToken> token = FirstToken(held, now);
    if (!token.has_value()) return ClearMark(held);
    held.record.token = *std::move(token);
  }
  held.phase = Phase::kPolling;
  held.runs = true;
  held.is_unpolled = held.wake_up <= now;
  if (held.is_unpolled) ++held.name.unpolled;
  WaitToken token = ShiftWallClock(held.record.token, WallAhead(now));
  if (held.is_cancelled) return ResumeCancelled(held, std::move(token));
  held.handle = Resume(held, std::move(token));
}

// A thread of the engine begins with a wait that it resumes itself only after
// this function, so that the wait is cancelled by then and never polled.
void DurableWorker::ResumeCancelled(Held& held, WaitToken token) {
  const auto resume = [this, &held, token = std::move(token)] {
    const MutexLock lock(mutex_);
    if (held.phase == Phase::kDropped) {
      held.runs = false;
      Erase(held);
      Arm();
    } else {
      held.handle = Resume(held, token);
      held.handle.Cancel();
    }
    return Success();
  };
  engine_
      ->Start(Waiter(resume, delivery_),
              [this, &held](const WaitResult<>& result) {
                if (result.ok()) return;
                // The engine shuts down.
                const MutexLock lock(mutex_);
                held.runs = false;
                if (held.phase == Phase::kDropped) return Erase(held);
                Release(held, {});
              })
      .Detach();
}

WaitHandle DurableWorker::Resume(Held& held, WaitToken token) {
  const Name& name = held.name;
  const auto on_end = [this, &held](WaitResult<std::string> result) {
    OnEnd(held, std::move(result));
  };
  if (const auto* const function = std::get_if<DurableFunction>(&name.asker)) {
    const auto poll_one =
        [this, &held,
         function](const PollContext& context) -> waiter::Poll<std::string> {
      const std::optional<DurablePoll> poll = BeginPoll(held, context);
      if (!poll.has_value()) return NotReady();
      return (*function)(*poll);
    };
    return engine_->Start(Waiter(poll_one, name.policy), on_end,
                          {.name = held.key, .resume = std::move(token)});
  }
  if (const auto* const async =
          std::get_if<DurableAsyncFunction>(&name.asker)) {
    const auto poll_one = [this, &held, async](
                              const PollContext& context,
                              PollCompletion<std::string> done) {
      const std::optional<DurablePoll> poll = BeginPoll(held, context);
      if (!poll.has_value()) return done(NotReady());
      (*async)(*poll, std::move(done));
    };
    return engine_->Start(AsyncWaiter(poll_one, name.policy), on_end,
                          {.name = held.key, .resume = std::move(token)});
  }
  return engine_->Start(name.batches->Prepare({.key = held.key}, name.policy),
                        on_end, {.name = held.key, .resume = std::move(token)});
}

std::optional<int64_t> DurableWorker::BeginPoll(Held& held) {
  // A poll that began now might reach beyond the lease.
  if (held.phase == Phase::kPolling &&
      clock_.MonotonicNow() >= held.lease_end - third_) {
    Drop(held);
  }
  if (held.phase != Phase::kPolling) return std::nullopt;
  held.is_asleep = false;
  CountPolled(held);
  ++state_.polls;
  ++held.partition.polls;
  return held.fence;
}

std::optional<DurablePoll> DurableWorker::BeginPoll(
    Held& held, const PollContext& context) {
  const MutexLock lock(mutex_);
  const std::optional<int64_t> fence = BeginPoll(held);
  if (!fence.has_value()) return std::nullopt;
  return DurablePoll{.name = held.name.name,
                     .key = held.key,
                     .args = held.args,
                     .context = context,
                     .fence = *fence,
                     .crashes = held.crashes};
}

absl::StatusOr<BatchAnswer<DurableKey, std::string>> DurableWorker::PollMany(
    Name& name, absl::Span<const DurableKey> keys) {
  std::vector<DurableKey> asked;
  {
    const MutexLock lock(mutex_);
    for (const DurableKey& key : keys) {
      Held* const held = Find(name, key.key);
      if (held == nullptr) continue;
      const std::optional<int64_t> fence = BeginPoll(*held);
      if (!fence.has_value()) continue;
      asked.push_back({.key = key.key, .args = held->args, .fence = *fence});
    }
  }
  BatchAnswer<DurableKey, std::string> answers;
  if (asked.empty()) return answers;
  absl::StatusOr<BatchAnswer<std::string, std::string>> found =
      std::get<DurableBatches>(name.asker).call(asked);
  if (!found.ok()) return found.status();
  for (auto& [key, answer] : *found) {
    answers.emplace(DurableKey{.key = key}, std::move(answer));
  }
  return answers;
}

void DurableWorker::OnCheckpoint(Name& name, const WaitToken& token) {
  // Of its own scale, only the distance to `wake_up` counts.
  const SavedWait saved = RestoreWait(token, {{}, absl::InfinitePast()});
  const nanoseconds delay = saved.wake_up.time_since_epoch();
  const MutexLock lock(mutex_);
  Held* const held = Find(name, saved.name);
  if (held == nullptr || held->phase != Phase::kPolling) return;
  const MonotonicTime now = clock_.MonotonicNow();
  ClearMark(*held);
  held->record.token = ShiftWallClock(token, -WallAhead(now));
  held->is_dirty = true;
  held->is_asleep = true;
  held->wake_up = SaturatingAdd(now, delay);
  // With no room for others, they would never have their turn.
  const bool is_full =
      !HasRoom() || static_cast<int64_t>(name.held.size()) >= name.max_held ||
      (!held->is_unpolled && 2 * name.unpolled > MostAhead(name));
  if (delay < third_ && !is_draining_ && !is_full) return;
  held->phase = Phase::kReleasing;
  held->handle.Cancel();
}

// A wait that is given back, or is another worker's, has not ended.
void DurableWorker::OnGiveUp(Name& name, const FailureFunction& then,
                             const WaitFailure& end) {
  const StopReason reason = end.report.reason;
  {
    const MutexLock lock(mutex_);
    const Held* const held = Find(name, std::string(end.name));
    if (held == nullptr || held->phase == Phase::kDropped ||
        reason == StopReason::kShutDown ||
        (held->phase == Phase::kReleasing &&
         reason == StopReason::kCancelled)) {
      return;
    }
  }
  then(end);
}

// The record of a wait that sleeps is the newest one.
void DurableWorker::GiveBackAtEnd(Held& held) {
  const MutexLock lock(mutex_);
  if (held.phase == Phase::kPolling && held.is_asleep) {
    held.phase = Phase::kReleasing;
  }
}

// The engine gave back what the wait paid for its next poll, as for one that
// ends; but that poll will come, and its token says that it was paid for.
void DurableWorker::PayAgain(Held& held) {
  RetryQuota* const quota =
      held.name.policy->options().budgets.retry_quota.get();
  if (quota == nullptr) return;
  std::optional<SavedWait> saved;
  {
    const MutexLock lock(mutex_);
    if (held.phase != Phase::kReleasing) return;
    saved = RestoreWait(held.record.token, {{}, absl::InfinitePast()});
  }
  QuotaToken token;
  const uint8_t use = saved->state.quota_token.ToByte();
  if (!saved->state.poll_is_booked || use == token.ToByte()) return;
  (void)quota->Acquire(static_cast<QuotaUse>(use), clock_.MonotonicNow(),
                       token);
}

void DurableWorker::OnEnd(Held& held, WaitResult<std::string> result) {
  const bool is_shut_down = result.reason() == StopReason::kShutDown;
  if (is_shut_down) GiveBackAtEnd(held);
  if (is_shut_down || result.reason() == StopReason::kCancelled) PayAgain(held);
  const MutexLock lock(mutex_);
  held.runs = false;
  CountPolled(held);
  ClearMark(held);
  if (held.phase == Phase::kDropped ||
      (is_shut_down && held.phase != Phase::kReleasing)) {
    Erase(held);
    return Arm();
  }
  if (held.phase == Phase::kReleasing &&
      (is_shut_down || result.reason() == StopReason::kCancelled)) {
    return Release(held, held.wake_up);
  }
  const WaitReport& report = result.report();
  std::string value;
  if (result.ok()) value = *std::move(result);
  if (value.size() > kLongestValue) {
    End(held, StopReason::kFailed,
        absl::InvalidArgumentError(
            absl::StrCat(held.name.name, " ", held.key, ": the result has ",
                         value.size(), " bytes; ", kLongestValue, " may be")),
        report.attempts, "");
  } else {
    End(held, report.reason, report.status, report.attempts, std::move(value));
  }
  Arm();
}

void DurableWorker::Release(Held& held, MonotonicTime wake_up) {
  held.phase = Phase::kReleasing;
  Settle(held, SettleAction::kRelease, wake_up);
}

void DurableWorker::End(Held& held, StopReason reason,
                        const absl::Status& status, int64_t attempts,
                        std::string value) {
  held.phase = Phase::kEnding;
  DurableRecord& record = held.record;
  record.phase =
      held.name.handler == nullptr ? WaitPhase::kDelivered : WaitPhase::kEnded;
  record.reason = reason;
  record.code = status.code();
  record.message = CutMessage(ToStd(status.message()));
  record.attempts = attempts;
  record.elapsed_us = StoreTime(clock_.MonotonicNow()) - held.record.born_us;
  held.value = std::move(value);
  held.is_dirty = true;
  Settle(held, held.name.handler == nullptr ? SettleAction::kEndUnheard
                                            : SettleAction::kEnd);
}

void DurableWorker::AddItem(Held& held, SettleAction action,
                            MonotonicTime wake_up) {
  SettleItem& item =
      held.partition.items
          .emplace_back(QueuedItem{.wake_up = wake_up, .holding = held.holding})
          .item;
  item.key = held.key;
  item.action = action;
  ++held.queued;
  if (action == SettleAction::kEnd || action == SettleAction::kEndUnheard) {
    item.value = held.value;
    item.reason = std::string(StopReasonName(held.record.reason));
  }
}

MonotonicTime DurableWorker::FlushTime(SettleAction action,
                                       MonotonicTime wake_up,
                                       MonotonicTime now) const {
  const MonotonicTime soon = now + kFlushGap;
  if (action != SettleAction::kRelease || is_draining_) return soon;
  return std::clamp(wake_up, soon, now + kReleaseGap);
}

void DurableWorker::Settle(Held& held, SettleAction action,
                           MonotonicTime wake_up) {
  AddItem(held, action, wake_up);
  Partition& partition = held.partition;
  const MonotonicTime now = clock_.MonotonicNow();
  if (partition.items.size() >= kFlushSize) return Flush(partition, now);
  flushes_.Hasten(partition, FlushTime(action, wake_up, now));
  Arm();
}

void DurableWorker::Flush(Partition& partition, MonotonicTime now) {
  flushes_.Set(partition, MonotonicTime::max());
  std::vector<SettleItem> items;
  std::vector<QueuedItem> later;
  std::vector<SentItem> sent;
  items.reserve(partition.items.size());
  sent.reserve(partition.items.size());
  for (QueuedItem& queued : partition.items) {
    SettleItem& item = queued.item;
    Held* const held = Find(partition.name, item.key);
    // An item without a fence is of a wait that is held. It must not be done to
    // a later holding of the same wait.
    if (item.fence == 0) {
      if (held == nullptr || held->holding != queued.holding ||
          held->phase == Phase::kDropped) {
        continue;
      }
      if (held->is_settling) {
        later.push_back(std::move(queued));
        continue;
      }
      --held->queued;
      // A later item of the wait renews the lease as well, or gives it back.
      // Nor may a renewal write a result, which only its end counts.
      if (item.action == SettleAction::kHold && held->queued > 0) continue;
      held->is_settling = true;
      item.fence = held->fence;
      if (std::exchange(held->is_dirty, false)) {
        item.record = held->record.Encode();
      }
      sent.push_back({.key = item.key,
                      .fence = item.fence,
                      .action = item.action,
                      .wake_up = queued.wake_up});
    }
    if (item.action == SettleAction::kRelease) {
      item.delay_us = MicrosOf(std::max<nanoseconds>(queued.wake_up - now, {}));
    }
    items.push_back(std::move(item));
  }
  partition.items = std::move(later);
  if (items.empty()) return;
  SettleRequest request = {
      .partition = partition.id,
      .lease_us = MicrosOf(lease_),
      .retain_us = absl::ToInt64Microseconds(options_.retain),
      .polls = std::exchange(partition.polls, 0),
      .items = std::move(items)};
  store_->Settle(
      std::move(request),
      Reply<SettleReply>([&partition, now, sent = std::move(sent)](
                             DurableWorker& self, const auto& reply) {
        self.mutex_.AssertHeld();
        self.OnSettled(partition, now, sent, reply);
      }));
}

void DurableWorker::OnSettled(Partition& partition, MonotonicTime sent,
                              const std::vector<SentItem>& items,
                              const absl::StatusOr<SettleReply>& reply) {
  Note(reply.status());
  Name& name = partition.name;
  const MonotonicTime now = clock_.MonotonicNow();
  if (!reply.ok()) return OnSettleFailed(partition, now, items);
  ObserveClock(partition, sent, now, reply->now_us);
  const absl::flat_hash_set<absl::string_view> lost(reply->lost.begin(),
                                                    reply->lost.end());
  state_.lost += static_cast<int64_t>(lost.size());
  for (const SentItem& item : items) {
    Held* const held = Find(name, item.key);
    if (held == nullptr || held->fence != item.fence) continue;
    if (lost.contains(item.key)) {
      Drop(*held);
      continue;
    }
    held->is_settling = false;
    OnItemSettled(*held, item, reply->fence, sent + lease_);
  }
  if (!partition.items.empty()) flushes_.Set(partition, now);
  for (const std::string& key : reply->cancelled) {
    Held* const held = Find(name, key);
    if (held == nullptr) continue;
    held->is_cancelled = true;
    if (held->phase == Phase::kPolling) held->handle.Cancel();
  }
}

// Asked again, the store says "lost" of what it had done.
void DurableWorker::OnSettleFailed(Partition& partition, MonotonicTime now,
                                   const std::vector<SentItem>& items) {
  for (const SentItem& item : items) {
    Held* const held = Find(partition.name, item.key);
    if (held == nullptr || held->fence != item.fence) continue;
    held->is_settling = false;
    held->is_dirty = true;
    if (item.action == SettleAction::kHold) continue;
    if (now < held->lease_end) {
      AddItem(*held, item.action, item.wake_up);
    } else {
      Drop(*held);
    }
  }
  if (!partition.items.empty()) {
    flushes_.Hasten(partition, now + kErrorGap);
  }
}

void DurableWorker::OnItemSettled(Held& held, const SentItem& item,
                                  int64_t fence, MonotonicTime lease_end) {
  switch (item.action) {
    case SettleAction::kHold:
      held.fence = fence;
      held.lease_end = lease_end;
      held.crashes = 0;
      return;
    case SettleAction::kRelease:
      OnReleased(held.partition, item.wake_up);
      return Erase(held);
    case SettleAction::kEnd:
      ++state_.ended;
      held.fence = fence;
      held.lease_end = lease_end;
      return Deliver(held);
    case SettleAction::kEndUnheard:
      ++state_.ended;
      return Erase(held);
    case SettleAction::kDelivered:
      ++state_.delivered;
      return Erase(held);
  }
}

// A claim before the release did not tell of it.
void DurableWorker::OnReleased(Partition& partition, MonotonicTime wake_up) {
  if (partition.rank > 0 || partition.next_look == MonotonicTime::max()) return;
  looks_.Hasten(partition,
                std::max(wake_up, clock_.MonotonicNow() + kLeastClaimGap));
}

void DurableWorker::Deliver(Held& held) {
  held.phase = Phase::kDelivering;
  if (held.name.handler == nullptr) {
    held.record.phase = WaitPhase::kDelivered;
    held.is_dirty = true;
    held.phase = Phase::kEnding;
    return Settle(held, SettleAction::kDelivered);
  }
  held.runs = true;
  held.handle = engine_->Start(
      Waiter([this, &held] { return DeliverOne(held); }, delivery_),
      [this, &held](const WaitResult<>& result) {
        OnDelivered(held, result.ok());
      });
}

Poll<> DurableWorker::DeliverOne(Held& held) {
  DurableResult result;
  {
    const MutexLock lock(mutex_);
    if (held.phase != Phase::kDelivering) return NotReady();
    result = ToResult(options_.space, held.name.name, held.key, held.record,
                      held.value);
  }
  return held.name.handler(result).ok() ? Success() : Poll<>(NotReady());
}

void DurableWorker::OnDelivered(Held& held, bool is_ok) {
  const MutexLock lock(mutex_);
  held.runs = false;
  if (held.phase != Phase::kDelivering) {
    Erase(held);
    return Arm();
  }
  held.is_dirty = true;
  held.phase = Phase::kEnding;
  if (is_ok) {
    held.record.phase = WaitPhase::kDelivered;
    return Settle(held, SettleAction::kDelivered);
  }
  const int64_t failed = held.record.deliveries++;
  Settle(held, SettleAction::kRelease,
         clock_.MonotonicNow() +
             std::min<nanoseconds>(
                 minutes(5),
                 seconds(1) * (int64_t{1} << std::min<int64_t>(failed, 10))));
}

// Holds everything for another lease, with the newest records.
void DurableWorker::Renew(MonotonicTime now) {
  next_renewal_ = now + third_;
  for (const auto& [key, name] : names_) {
    for (Held* const held : InOrderOfClaims(*name)) {
      switch (held->phase) {
        case Phase::kSuspected:
        case Phase::kPolling:
        case Phase::kDelivering:
          if (now < held->lease_end) {
            Settle(*held, SettleAction::kHold);
          } else {
            Drop(*held);
          }
          break;
        case Phase::kReleasing:
        case Phase::kEnding:
        case Phase::kDropped:
          break;
      }
    }
  }
}

void DurableWorker::Drop(Held& held) {
  switch (held.phase) {
    case Phase::kPolling:
    case Phase::kDelivering:
    case Phase::kReleasing:
    case Phase::kSuspected:
    case Phase::kEnding:
      if (!held.runs) return Erase(held);
      held.phase = Phase::kDropped;
      held.handle.Cancel();
      return;
    case Phase::kDropped:
      return;
  }
}

void DurableWorker::Erase(Held& held) {
  --state_.held;
  Name& name = held.name;
  CountPolled(held);
  name.held.erase(held.key);
  OnRoom(name);
  if (state_.held == 0) gave_back_.Notify();
}

DurableWorker::Held* DurableWorker::Find(const Name& name,
                                         const std::string& key) {
  const auto it = name.held.find(key);
  return it == name.held.end() ? nullptr : it->second.get();
}

std::vector<DurableWorker::Held*> DurableWorker::InOrderOfClaims(
    const Name& name) {
  std::vector<Held*> waits;
  waits.reserve(name.held.size());
  for (const auto& [key, held] : name.held) waits.push_back(held.get());
  std::sort(waits.begin(), waits.end(), [](const Held* a, const Held* b) {
    return a->holding < b->holding;
  });
  return waits;
}

void DurableWorker::Note(const absl::Status& status) {
  state_.last_error = status;
}

bool DurableWorker::Drain(absl::Duration limit) {
  const MonotonicTime end =
      SaturatingAdd(clock_.MonotonicNow(), absl::ToChronoNanoseconds(limit));
  const MutexLock lock(mutex_);
  is_draining_ = true;
  for (const auto& [key, name] : names_) {
    for (Held* const held : InOrderOfClaims(*name)) {
      if (held->phase == Phase::kPolling && held->is_asleep) {
        held->phase = Phase::kReleasing;
        held->handle.Cancel();
      } else if (held->phase == Phase::kSuspected) {
        Release(*held, {});
      }
    }
  }
  while (state_.held > 0 && clock_.MonotonicNow() < end) {
    gave_back_.WaitUntil(end);
  }
  return state_.held == 0;
}

void DurableWorker::DropQueuedHolds(Name& name) {
  const auto drop = [&name](const QueuedItem& queued) {
    if (queued.item.action != SettleAction::kHold) return false;
    Held* const held = Find(name, queued.item.key);
    if (held != nullptr && held->holding == queued.holding) --held->queued;
    return true;
  };
  for (const auto& partition : name.partitions) {
    std::erase_if(partition->items, drop);
  }
}

void DurableWorker::Stop() {
  {
    const MutexLock lock(mutex_);
    has_stopped_ = true;
    // A wait that is given back is not held on before.
    for (const auto& [key, name] : names_) DropQueuedHolds(*name);
  }
  engine_.reset();
  const MutexLock lock(mutex_);
  const MonotonicTime now = clock_.MonotonicNow();
  for (const auto& [key, name] : names_) {
    for (Held* const held : InOrderOfClaims(*name)) {
      if (held->phase != Phase::kSuspected) continue;
      if (held->is_marked) Unmark(held->partition, held->key);
      Release(*held, {});
    }
    for (const auto& partition : name->partitions) {
      if (!partition->items.empty()) Flush(*partition, now);
    }
  }
}

DurableWaitsState DurableWorker::State() const {
  const MutexLock lock(mutex_);
  DurableWaitsState state = state_;
  for (const auto& [key, name] : names_) state.last_error.Update(name->refusal);
  return state;
}

}  // namespace waiter::internal
