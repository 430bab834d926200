// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// The functions of `DurableWaits`: the mutex, the timers, and the calls of the
// store and the engine. Other classes decide what to do:
//
//   LeasedWait    the meaning of an event for a wait
//   ClaimPacer    when to claim waits, and how many
//   Membership    heartbeats, and how often to claim from a partition
//   SettleQueue   what to write, and the meaning of a reply
//   SuspectLine   which suspect is polled
//   Registration  the program's functions, on the engine
//
// One mutex guards everything. The store and the engine are called under it,
// as neither blocks or calls back before it returns. The program's functions
// are called without it.

#ifndef WAITER_DURABLE_DURABLE_WORKER_H_
#define WAITER_DURABLE_DURABLE_WORKER_H_

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "waiter/clock.h"
#include "waiter/durable/claim_pacer.h"
#include "waiter/durable/leased_wait.h"
#include "waiter/durable/membership.h"
#include "waiter/durable/registration.h"
#include "waiter/durable/settle_queue.h"
#include "waiter/durable/store.h"
#include "waiter/durable/store_time.h"
#include "waiter/durable/suspect_line.h"
#include "waiter/durable/worker.h"
#include "waiter/engine/engine.h"
#include "waiter/engine/handle.h"
#include "waiter/internal/mutex.h"
#include "waiter/internal/thread.h"
#include "waiter/result.h"
#include "waiter/token.h"

namespace waiter::internal {

class DurableWorker : public std::enable_shared_from_this<DurableWorker> {
 public:
  DurableWorker(std::shared_ptr<WaitStore> store,
                const DurableWaitsOptions& options);

  absl::Status Register(Registration::Spec spec);
  void Start();
  bool Drain(absl::Duration limit);
  // Releases waits that are not being polled, and ends all. Callbacks of the
  // store that come later do nothing.
  void Stop();
  DurableWaitsState State() const;
  MonotonicTime RunDue() { return engine_->RunDue(); }
  // Returns whether this is a copy in a child process, which must not use it.
  bool IsCopy() const { return home_.IsLeft(); }

 private:
  using Nanoseconds = std::chrono::nanoseconds;
  using Event = LeasedWait::Event;

  struct NameState;
  // Whether the store knows of the end of this worker.
  enum class Departure { kNone, kSent, kRecorded };

  // A wait that this worker holds. Not erased while functions of it run.
  struct Entry {
    NameState& name;
    size_t partition;
    int64_t number;  // In the order of claims.
    std::shared_ptr<LeasedWait> wait;
    WaitHandle handle = {};
    MonotonicTime due_since = {};
  };

  struct NameState {
    std::unique_ptr<Registration> registration;
    size_t number = 0;  // `ClaimPacer`'s number.
    bool is_opening = false;
    absl::Status refusal = {};  // Why it is not open.
    MonotonicTime next_open = {};
    absl::flat_hash_map<std::string, std::unique_ptr<Entry>> entries = {};
  };

  struct Partition {
    NameState& name;
    WaitPartition id;
    int64_t polls = 0;  // Polls that the store does not know of.
  };

  // Called by the engine.
  std::optional<DurablePollInputs> BeginPoll(NameState& name,
                                             std::string_view key);
  void OnCheckpoint(NameState& name, const WaitToken& token);
  void OnEnd(Entry& entry, WaitResult<std::string> result);
  void OnSuspended(Entry& entry);
  void OnDelivered(Entry& entry, bool is_accepted);

  // Timers.
  void RunTimers() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Arm() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  MonotonicTime NextTime() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  // Waits.
  void StartPolling(Entry& entry, MonotonicTime now)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void End(Entry& entry, const WaitReport& report, std::string value)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Applies an event, and makes the call that the new state needs, which may
  // erase `entry`. Returns whether the state allowed the event.
  bool Apply(Entry& entry, Event event) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Suspend(Entry& entry) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  static Entry* Find(const NameState& name, std::string_view key);
  // Calls `visit` for all waits in the order of claims, so that runs with the
  // same seed are equal.
  void ForEachEntry(const std::function<void(Entry&)>& visit)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // The wall clock minus the store's.
  Nanoseconds WallAhead(MonotonicTime now) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  // Calls of the store: durable_worker_store.cc.
  void Open(NameState& name, MonotonicTime now)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void SendHeartbeat(MonotonicTime now) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Tells the store that this worker is gone.
  void Leave() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void SendClaim(const ClaimPacer::Claim& claim, MonotonicTime now)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void OnClaimed(const ClaimPacer::Claim& claim, MonotonicTime sent,
                 const absl::StatusOr<ClaimReply>& reply)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Adopt(size_t partition, const ClaimedWait& claimed,
             const WaitLease& lease, MonotonicTime now)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void NotifyAgain(size_t partition, const std::string& key)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void DeliverOrSkip(Entry& entry) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void FetchValue(Entry& entry) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Renew(MonotonicTime now) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void QueueWrite(Entry& entry) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Returns whether there was something to be sent.
  bool Flush(size_t partition, MonotonicTime now)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void OnSettled(size_t partition, MonotonicTime sent,
                 const std::vector<SettleQueue::Sent>& items,
                 const absl::StatusOr<SettleReply>& reply)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void MarkNextSuspect() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void OnMarked(const Suspect& suspect, bool is_ok)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Unmark(const Suspect& suspect) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void EndSuspectPoll(const Entry& entry) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  // Calls `run` under the mutex at `time`, unless this has stopped.
  void RunAt(MonotonicTime time, std::function<void(DurableWorker&)> run);
  // Returns a callback of the store that calls `handle` under the mutex, unless
  // this has stopped.
  template <typename T, typename Handle>
  std::function<void(absl::StatusOr<T>)> Reply(Handle handle) {
    return [weak = weak_from_this(),
            handle = std::move(handle)](const absl::StatusOr<T>& reply) {
      const std::shared_ptr<DurableWorker> self = weak.lock();
      if (self == nullptr) return;
      const MutexLock lock(self->mutex_);
      if (self->has_stopped_) return;
      handle(*self, reply);
      self->Arm();
    };
  }

  const HomeProcess home_ = HomeProcess::Current();
  const std::shared_ptr<WaitStore> store_;
  Clock& clock_;
  const DurableWaitsOptions options_;
  const Nanoseconds lease_;
  const Nanoseconds third_;  // A third of the lease.

  mutable Mutex mutex_;
  Condition drained_{mutex_};  // Nothing is held, or the departure changed.
  std::map<std::string, std::unique_ptr<NameState>> names_
      ABSL_GUARDED_BY(mutex_);
  // All parts number the partitions alike.
  std::vector<Partition> partitions_ ABSL_GUARDED_BY(mutex_);
  ClaimPacer pacer_ ABSL_GUARDED_BY(mutex_);
  Membership membership_ ABSL_GUARDED_BY(mutex_);
  SettleQueue settles_ ABSL_GUARDED_BY(mutex_);
  SuspectLine suspects_ ABSL_GUARDED_BY(mutex_);
  StoreTime store_time_ ABSL_GUARDED_BY(mutex_);
  bool has_started_ ABSL_GUARDED_BY(mutex_) = false;
  bool is_draining_ ABSL_GUARDED_BY(mutex_) = false;
  Departure departure_ ABSL_GUARDED_BY(mutex_) = Departure::kNone;
  bool has_stopped_ ABSL_GUARDED_BY(mutex_) = false;
  MonotonicTime armed_ ABSL_GUARDED_BY(mutex_) = MonotonicTime::max();
  MonotonicTime next_renewal_ ABSL_GUARDED_BY(mutex_) = {};
  int64_t claims_ ABSL_GUARDED_BY(mutex_) = 0;  // Waits, since the start.
  DurableWaitsState state_ ABSL_GUARDED_BY(mutex_);

  // Destroyed first, by `Stop`.
  std::optional<WaitEngine> engine_;
};

}  // namespace waiter::internal

#endif  // WAITER_DURABLE_DURABLE_WORKER_H_
