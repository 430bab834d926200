// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

#include "waiter/durable/durable_worker.h"

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "waiter/clock.h"
#include "waiter/durable/claim_pacer.h"
#include "waiter/durable/client.h"
#include "waiter/durable/durable_record.h"
#include "waiter/durable/leased_wait.h"
#include "waiter/durable/membership.h"
#include "waiter/durable/registration.h"
#include "waiter/durable/store.h"
#include "waiter/durable/suspect_line.h"
#include "waiter/durable/worker.h"
#include "waiter/internal/mutex.h"
#include "waiter/internal/string_views.h"
#include "waiter/loop.h"
#include "waiter/redis/budget_member.h"
#include "waiter/result.h"
#include "waiter/token.h"

namespace waiter::internal {
namespace {

using State = LeasedWait::State;
using std::chrono::minutes;
using std::chrono::nanoseconds;
using std::chrono::seconds;

constexpr size_t kMaxValue = size_t{64} * 1024;

nanoseconds DeliveryBackoff(int64_t failed) {
  return std::min<nanoseconds>(
      minutes(5), seconds(1) * (int64_t{1} << std::min<int64_t>(failed, 10)));
}

}  // namespace

DurableWorker::DurableWorker(std::shared_ptr<WaitStore> store,
                             const DurableWaitsOptions& options)
    : store_(std::move(store)),
      clock_(store_->clock()),
      options_(options),
      lease_(absl::ToChronoNanoseconds(options.lease)),
      third_(lease_ / 3),
      pacer_(options.max_held, options.claim_batch),
      membership_(options.worker.empty() ? NewMember("").id : options.worker) {
  engine_.emplace(
      WaitEngineOptions{.threads = options.threads, .clock = &clock_});
}

absl::Status DurableWorker::Register(Registration::Spec spec) {
  auto owned = std::make_unique<NameState>();
  NameState& name = *owned;
  auto registration = Registration::Make(
      std::move(spec), *engine_, clock_,
      {.begin_poll =
           [this, &name](std::string_view key) { return BeginPoll(name, key); },
       .on_checkpoint =
           [this, &name](const WaitToken& token) {
             OnCheckpoint(name, token);
           }});
  if (!registration.ok()) return registration.status();
  name.registration = *std::move(registration);
  const std::string& text = name.registration->name();
  const MutexLock lock(mutex_);
  if (has_started_) {
    return absl::FailedPreconditionError(
        absl::StrCat(text, ": registered after the start"));
  }
  if (!names_.try_emplace(text, std::move(owned)).second) {
    return absl::AlreadyExistsError(absl::StrCat(text, ": registered twice"));
  }
  ClaimPacer::Name pace = {
      .max_held = name.registration->max_held(),
      .is_limited = name.registration->is_limited(),
      .partitions = static_cast<size_t>(options_.partitions)};
  if (const BatchOptions* const batches = name.registration->batches()) {
    pace.max_batch = static_cast<int64_t>(batches->max_batch);
    pace.window = absl::ToChronoNanoseconds(batches->window);
  }
  name.number = pacer_.AddName(pace);
  for (int i = 0; i < options_.partitions; ++i) {
    partitions_.push_back(
        {.name = name,
         .id = {.space = options_.space, .name = text, .index = i}});
    membership_.AddPartition(text, i);
  }
  settles_.Resize(partitions_.size());
  store_time_.Resize(partitions_.size());
  return absl::OkStatus();
}

void DurableWorker::Start() {
  const MutexLock lock(mutex_);
  if (has_started_) return;
  has_started_ = true;
  next_renewal_ = clock_.MonotonicNow() + third_;
  RunTimers();
}

bool DurableWorker::Drain(absl::Duration limit) {
  const MonotonicTime end =
      SaturatingAdd(clock_.MonotonicNow(), absl::ToChronoNanoseconds(limit));
  const MutexLock lock(mutex_);
  is_draining_ = true;
  ForEachEntry([this](Entry& entry) {
    mutex_.AssertHeld();
    Apply(entry, Event::kGiveBack);
  });
  while (pacer_.held() > 0 && clock_.MonotonicNow() < end) {
    drained_.WaitUntil(end);
  }
  if (pacer_.held() > 0) return false;
  if (has_started_ && departure_ == Departure::kNone) Leave();
  while (departure_ == Departure::kSent && clock_.MonotonicNow() < end) {
    drained_.WaitUntil(end);
  }
  return true;
}

void DurableWorker::Stop() {
  {
    const MutexLock lock(mutex_);
    has_stopped_ = true;
    // A wait could not be released after a renewal whose reply is ignored.
    settles_.DropRenewals();
    ForEachEntry([this](Entry& entry) {
      mutex_.AssertHeld();
      const Suspect suspect = {entry.partition, entry.wait->key()};
      const bool is_marked = entry.wait->state() == State::kSuspected &&
                             suspects_.IsCurrent(suspect);
      Apply(entry, Event::kGiveBack);
      if (is_marked) Unmark(suspect);
      if (entry.wait->state() == State::kPolling) Suspend(entry);
    });
  }
  engine_.reset();
  const MutexLock lock(mutex_);
  const MonotonicTime now = clock_.MonotonicNow();
  for (size_t i = 0; i < partitions_.size(); ++i) {
    while (Flush(i, now)) {
    }
  }
  if (has_started_ && departure_ != Departure::kRecorded) Leave();
}

DurableWaitsState DurableWorker::State() const {
  const MutexLock lock(mutex_);
  DurableWaitsState state = state_;
  state.held = pacer_.held();
  state.clock_step = absl::FromChrono(store_time_.last_step());
  for (const auto& [key, name] : names_) state.last_error.Update(name->refusal);
  return state;
}

// Called by the engine.

std::optional<DurablePollInputs> DurableWorker::BeginPoll(
    NameState& name, std::string_view key) {
  const MutexLock lock(mutex_);
  Entry* const entry = Find(name, key);
  if (entry == nullptr || !entry->wait->Allows(Event::kPoll)) {
    return std::nullopt;
  }
  const LeasedWait& wait = *entry->wait;
  // A poll that began now might outlast the lease.
  if (clock_.MonotonicNow() >= wait.lease().end - third_) {
    Apply(*entry, Event::kLose);
    return std::nullopt;
  }
  Apply(*entry, Event::kPoll);
  ++state_.polls;
  ++partitions_[entry->partition].polls;
  return DurablePollInputs{
      .args = std::shared_ptr<const std::string>(entry->wait, &wait.args()),
      .fence = wait.lease().fence.value(),
      .crashes = wait.crashes()};
}

void DurableWorker::OnCheckpoint(NameState& name, const WaitToken& token) {
  // Restored at time zero, `wake_up` is the delay.
  const SavedWait saved = RestoreWait(token, {{}, absl::InfinitePast()});
  const nanoseconds delay = saved.wake_up.time_since_epoch();
  const MutexLock lock(mutex_);
  Entry* const entry = Find(name, saved.name);
  if (entry == nullptr || !entry->wait->Allows(Event::kSleep)) return;
  const MonotonicTime now = clock_.MonotonicNow();
  EndSuspectPoll(*entry);
  entry->wait->Save(token, WallAhead(now), SaturatingAdd(now, delay));
  Apply(*entry, Event::kSleep);
  // A notification has already asked for the end of this sleep.
  if (entry->wait->is_notified() && !is_draining_) return;
  // If there were no room for other waits, they would never be polled.
  if (delay >= third_ || is_draining_ ||
      pacer_.IsFull(name.number, entry->wait->state() == State::kDue)) {
    Apply(*entry, Event::kGiveBack);
  }
}

void DurableWorker::OnEnd(Entry& entry, WaitResult<std::string> result) {
  if (result.reason() == StopReason::kShutDown) return OnSuspended(entry);
  {
    const MutexLock lock(mutex_);
    EndSuspectPoll(entry);
    if (entry.wait->is_lost()) {
      Apply(entry, Event::kEnd);
      return;
    }
  }
  const Registration& registration = *entry.name.registration;
  registration.OnFailure(entry.wait->key(), result.report());
  WaitReport report = result.report();
  std::string value;
  if (result.ok()) value = *std::move(result);
  if (value.size() > kMaxValue) {
    report.reason = StopReason::kFailed;
    report.status = absl::InvalidArgumentError(absl::StrCat(
        registration.name(), " ", entry.wait->key(), ": the result is ",
        value.size(), " bytes; the limit is ", kMaxValue));
    value.clear();
  }
  const MutexLock lock(mutex_);
  End(entry, report, std::move(value));
}

void DurableWorker::OnSuspended(Entry& entry) {
  const MutexLock lock(mutex_);
  EndSuspectPoll(entry);
  Apply(entry, Event::kSuspended);
}

void DurableWorker::OnDelivered(Entry& entry, bool is_accepted) {
  const MutexLock lock(mutex_);
  entry.wait->EndDelivery(
      is_accepted,
      clock_.MonotonicNow() + DeliveryBackoff(entry.wait->record().deliveries));
  Apply(entry, is_accepted ? Event::kAccepted : Event::kRefused);
}

// Timers.

void DurableWorker::RunTimers() {
  const MonotonicTime now = clock_.MonotonicNow();
  if (now >= membership_.next_heartbeat() && !is_draining_) SendHeartbeat(now);
  if (now >= next_renewal_) Renew(now);
  for (const auto& [key, name] : names_) {
    if (!name->is_opening && now >= name->next_open) Open(*name, now);
  }
  while (const std::optional<size_t> partition = settles_.Due(now)) {
    Flush(*partition, now);
  }
  while (!is_draining_) {
    const std::optional<ClaimPacer::Claim> claim = pacer_.Next(now);
    if (!claim.has_value()) break;
    SendClaim(*claim, now);
  }
  Arm();
}

MonotonicTime DurableWorker::NextTime() const {
  MonotonicTime next = std::min(next_renewal_, settles_.next_time());
  for (const auto& [key, name] : names_) {
    if (!name->is_opening) next = std::min(next, name->next_open);
  }
  if (is_draining_) return next;
  return std::min({next, membership_.next_heartbeat(), pacer_.next_time()});
}

// Makes sure that a timer fires when something is next due.
void DurableWorker::Arm() {
  const MonotonicTime time = NextTime();
  if (time >= armed_ || has_stopped_ || !has_started_) return;
  armed_ = time;
  RunAt(time, [](DurableWorker& self) {
    self.mutex_.AssertHeld();
    // An earlier timer may have been set since this one was.
    if (self.clock_.MonotonicNow() >= self.armed_) {
      self.armed_ = MonotonicTime::max();
    }
    self.RunTimers();
  });
}

// Waits.

void DurableWorker::StartPolling(Entry& entry, MonotonicTime now) {
  LeasedWait& wait = *entry.wait;
  const Registration& registration = *entry.name.registration;
  const nanoseconds ahead = WallAhead(now);
  if (wait.record().token.empty()) {
    // The wait began at its enqueue.
    const absl::Duration age = std::max(
        absl::ZeroDuration(),
        store_time_.At(now) - absl::FromUnixMicros(wait.record().born_us));
    Registration::Beginning first = registration.Begin(
        wait.key(), wait.record(), absl::ToChronoNanoseconds(age),
        {now, clock_.TimeNow()});
    if (first.token.empty()) {
      End(entry, first.report, "");
      return EndSuspectPoll(entry);
    }
    wait.Begin(std::move(first.token), ahead, first.wake_up);
  } else {
    wait.Begin(ShiftWallClock(wait.record().token, ahead), ahead, {});
  }
  const bool is_due = wait.is_notified() || wait.wake_up() <= now;
  Apply(entry, is_due ? Event::kStartDue : Event::kStart);
  entry.handle =
      registration.Resume(wait.key(), wait.record().token, wait.is_cancelled(),
                          [this, &entry](WaitResult<std::string> result) {
                            OnEnd(entry, std::move(result));
                          });
  if (wait.is_notified()) entry.handle.PollNow();
}

void DurableWorker::End(Entry& entry, const WaitReport& report,
                        std::string value) {
  const absl::Time store_now = store_time_.At(clock_.MonotonicNow());
  entry.wait->End(report.reason, report.status, report.attempts,
                  absl::ToUnixMicros(store_now),
                  entry.name.registration->has_handler(), std::move(value));
  Apply(entry, Event::kEnd);
}

bool DurableWorker::Apply(Entry& entry, Event event) {
  LeasedWait& wait = *entry.wait;
  NameState& name = entry.name;
  const bool was_due = wait.state() == State::kDue;
  if (!wait.Apply(event)) return false;
  const bool is_due = wait.state() == State::kDue;
  if (was_due && !is_due) {
    pacer_.OnPolled(name.number, entry.due_since, clock_.MonotonicNow());
  } else if (!was_due && is_due) {
    entry.due_since = clock_.MonotonicNow();
    pacer_.OnDue(name.number);
  }
  switch (wait.state()) {
    case State::kLeaving:
    case State::kDropped:
      Suspend(entry);
      break;
    case State::kReleasing:
      if (wait.is_notified()) NotifyAgain(entry.partition, wait.key());
      QueueWrite(entry);
      break;
    case State::kEnding:
    case State::kDelivered:
      QueueWrite(entry);
      break;
    case State::kFetching:
      FetchValue(entry);
      break;
    case State::kDelivering:
      entry.handle = name.registration->Deliver(
          ToResult(options_.space, name.registration->name(), wait.key(),
                   wait.record(), wait.value()),
          [this, &entry](bool is_accepted) {
            OnDelivered(entry, is_accepted);
          });
      break;
    case State::kGone:
      name.entries.erase(std::string(wait.key()));
      pacer_.OnGone(name.number);
      if (pacer_.held() == 0) drained_.Notify();
      break;
    default:
      break;
  }
  Arm();
  return true;
}

// The token is from the last checkpoint, or the one that was resumed.
void DurableWorker::Suspend(Entry& entry) {
  entry.handle.Suspend(
      [this, &entry](const WaitToken& /*token*/) { OnSuspended(entry); });
}

DurableWorker::Entry* DurableWorker::Find(const NameState& name,
                                          std::string_view key) {
  const auto it = name.entries.find(ToAbsl(key));
  return it == name.entries.end() ? nullptr : it->second.get();
}

void DurableWorker::ForEachEntry(const std::function<void(Entry&)>& visit) {
  for (const auto& [key, name] : names_) {
    std::vector<Entry*> waits;
    waits.reserve(name->entries.size());
    for (const auto& [wait, entry] : name->entries) {
      waits.push_back(entry.get());
    }
    std::sort(waits.begin(), waits.end(), [](const Entry* a, const Entry* b) {
      return a->number < b->number;
    });
    for (Entry* const entry : waits) visit(*entry);
  }
}

nanoseconds DurableWorker::WallAhead(MonotonicTime now) const {
  return absl::ToChronoNanoseconds(clock_.TimeNow() - store_time_.At(now));
}

}  // namespace waiter::internal
