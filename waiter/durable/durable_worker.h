// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// The functions of `DurableWaits`. One mutex guards everything; the store and
// the engine are called under it, as neither blocks nor calls back at once.
// Functions of users are called without it.
//
// A wait goes through these states, and out of them only by a reply of the
// store or because it is dropped, which is always right: it then comes due at
// the end of its lease.
//
//   claimed -> kSuspected -> kPolling -> kReleasing -> released
//                               |-> kEnding -> kDelivering -> kEnding -> gone

#ifndef WAITER_DURABLE_DURABLE_WORKER_H_
#define WAITER_DURABLE_DURABLE_WORKER_H_

#include <chrono>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "absl/types/span.h"
#include "waiter/clock.h"
#include "waiter/durable/client.h"
#include "waiter/durable/durable_record.h"
#include "waiter/durable/store.h"
#include "waiter/durable/worker.h"
#include "waiter/engine/batch_poller.h"
#include "waiter/engine/engine.h"
#include "waiter/engine/handle.h"
#include "waiter/internal/mutex.h"
#include "waiter/options.h"
#include "waiter/policy.h"
#include "waiter/poll.h"
#include "waiter/redis/store_clock.h"
#include "waiter/result.h"
#include "waiter/token.h"

namespace waiter::internal {

struct DurableBatches {
  DurableBatchCall call;
  BatchOptions options;
};

// What asks whether a wait is over.
using DurableAsker =
    std::variant<DurableFunction, DurableAsyncFunction, DurableBatches>;

class DurableWorker : public std::enable_shared_from_this<DurableWorker> {
 public:
  DurableWorker(std::shared_ptr<WaitStore> store,
                const DurableWaitsOptions& options);

  absl::Status Register(const std::string& name, WaitOptions policy,
                        DurableAsker asker, DurableHandler handler,
                        const DurableNameOptions& options);
  void Start();
  bool Drain(absl::Duration limit);
  // Gives back what nobody polls, and ends all waits. Callbacks that come later
  // do nothing.
  void Stop();
  DurableWaitsState State() const;
  MonotonicTime RunDue() { return engine_->RunDue(); }

 private:
  using Nanoseconds = std::chrono::nanoseconds;

  struct Partition;
  struct Held;

  // A name and what is registered for it.
  struct Name {
    std::string name;
    std::shared_ptr<const WaitPolicy> policy;
    // The same without what the engine asks and calls, for `FirstToken`.
    std::shared_ptr<const WaitPolicy> first;
    DurableAsker asker;
    std::unique_ptr<BatchPoller<DurableKey, std::string>> batches;
    DurableHandler handler;
    int64_t max_held;
    std::vector<std::unique_ptr<Partition>> partitions;
    bool is_open = false;
    bool is_opening = false;
    absl::Status refusal;    // Why it is not open.
    bool has_looks = false;  // It was open before.
    MonotonicTime next_open = {};
    // The waits that this worker holds, by key.
    absl::flat_hash_map<std::string, std::unique_ptr<Held>> held;
    int64_t asked_for = 0;  // By claims under way.
    int64_t expected = 0;   // From claims under way.
    int64_t unpolled = 0;   // Waits that are due, and not polled since a claim.
    // For which there was no room, with the times of their looks.
    std::deque<std::pair<Partition*, MonotonicTime>> parked;
  };

  struct QueuedItem {
    SettleItem item = {};
    MonotonicTime wake_up = {};  // Of `SettleAction::kRelease`.
    int64_t holding = 0;         // `Held::holding`.
  };

  struct Partition {
    Name& name;
    WaitPartition id;
    int64_t number = 0;  // Of all of this worker.
    int64_t rank = 0;    // Of this worker among the live ones.
    std::vector<QueuedItem> items = {};
    std::optional<int64_t> last_claimed = {};  // By the claim before.
    int64_t polls = 0;  // Of which the store does not know.
    // The server's clock minus that of this process, when last seen.
    std::optional<Nanoseconds> ahead = {};
    // In `looks_`, but while it is claimed from, and in `flushes_`.
    MonotonicTime next_look = MonotonicTime::max();
    MonotonicTime flush_at = MonotonicTime::max();
  };

  // Partitions by the time of one of their members, but those without one,
  // which is max().
  class Agenda {
   public:
    explicit Agenda(MonotonicTime Partition::*time) : time_(time) {}

    void Set(Partition& partition, MonotonicTime time) {
      partitions_.erase({partition.*time_, partition.number});
      partition.*time_ = time;
      if (time == MonotonicTime::max()) return;
      partitions_.emplace(std::pair(time, partition.number), &partition);
    }

    void Hasten(Partition& partition, MonotonicTime time) {
      if (time < partition.*time_) Set(partition, time);
    }

    MonotonicTime Next() const {
      return partitions_.empty() ? MonotonicTime::max()
                                 : partitions_.begin()->first.first;
    }

    // Returns the one that is due for longest; null if none is.
    Partition* Due(MonotonicTime now) const {
      return Next() > now ? nullptr : partitions_.begin()->second;
    }

   private:
    MonotonicTime Partition::*const time_;
    std::map<std::pair<MonotonicTime, int64_t>, Partition*> partitions_;
  };

  enum class Phase : uint8_t {
    kSuspected,   // Waits for its turn to be polled alone.
    kPolling,     // On the engine, which polls it or sleeps.
    kReleasing,   // To be given back; from here on the store has to answer.
    kEnding,      // The same, for a result and for its delivery.
    kDelivering,  // Its result is being delivered.
    kDropped,     // Not ours any more; its functions are still running.
  };

  struct Held {
    Name& name;
    Partition& partition;
    int64_t holding;  // A number of its own, from 1.
    std::string key;
    std::string args;
    int64_t fence = 0;
    MonotonicTime lease_end;
    Phase phase = Phase::kPolling;

    DurableRecord record;   // `token` is by the store's clock.
    bool is_dirty = false;  // The store has an older record.
    bool is_asleep = true;
    MonotonicTime wake_up = {};
    bool is_cancelled = false;
    bool is_marked = false;
    bool is_unpolled = false;  // It counts in `Name::unpolled`.
    int64_t crashes = 0;
    bool runs = false;  // The engine has functions of it.
    // The store is asked. Until it answers, the fence is not known for sure,
    // so nothing else is asked for.
    bool is_settling = false;
    int64_t queued = 0;  // Items in `Partition::items`.

    std::string value = {};  // Of a success.
    WaitHandle handle = {};
  };

  // An item of a settle that is under way.
  struct SentItem {
    std::string key;
    int64_t fence;
    SettleAction action;
    MonotonicTime wake_up;
  };

  // Those of waits on the engine's threads.
  WaitHandle Resume(Held& held, WaitToken token);
  // Returns the fence, or nullopt if there must be no poll.
  std::optional<int64_t> BeginPoll(Held& held)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  std::optional<DurablePoll> BeginPoll(Held& held, const PollContext& context);
  absl::StatusOr<BatchAnswer<DurableKey, std::string>> PollMany(
      Name& name, absl::Span<const DurableKey> keys);
  void OnCheckpoint(Name& name, const WaitToken& token);
  void OnGiveUp(Name& name, const FailureFunction& then,
                const WaitFailure& end);
  void GiveBackAtEnd(Held& held);
  void PayAgain(Held& held);
  void OnEnd(Held& held, WaitResult<std::string> result);
  Poll<> DeliverOne(Held& held);
  void OnDelivered(Held& held, bool is_ok);

  // Does everything that is due.
  void Turn() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Arm() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  MonotonicTime NextTime() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Open(Name& name, MonotonicTime now)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  bool Look(Partition& partition, MonotonicTime now)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Returns whether sleeping waits leave room to those that are due.
  bool HasRoom() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Returns how many waits of the name may be due and not polled, and how many
  // more.
  int64_t MostAhead(const Name& name) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  int64_t RoomAhead(const Name& name) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Notes that a wait was, or never will be, polled under this lease.
  void CountPolled(Held& held) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void ObserveClock(Partition& partition, MonotonicTime sent, MonotonicTime now,
                    int64_t now_us) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void OnRoom(Name& name) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Beat(MonotonicTime now) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void OnBeat(const absl::StatusOr<std::vector<std::string>>& workers)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Renew(MonotonicTime now) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void OnClaim(Partition& partition, MonotonicTime sent, int64_t most,
               const absl::StatusOr<ClaimReply>& reply)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Adopt(Partition& partition, const ClaimedWait& wait, int64_t fence,
             MonotonicTime lease_end, MonotonicTime now)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void BeginPolling(Held& held, MonotonicTime now)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void ResumeCancelled(Held& held, WaitToken token)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  std::optional<WaitToken> FirstToken(Held& held, MonotonicTime now)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void NextSuspect() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void OnMarked(Name& name, const Partition& partition, const std::string& key,
                bool is_ok) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Unmark(const Partition& partition, const std::string& key)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void UnmarkLater(const Partition& partition, const std::string& key)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void ClearMark(Held& held) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Release(Held& held, MonotonicTime wake_up)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void End(Held& held, StopReason reason, const absl::Status& status,
           int64_t attempts, std::string value)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void OnReleased(Partition& partition, MonotonicTime wake_up)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Deliver(Held& held) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  static void AddItem(Held& held, SettleAction action, MonotonicTime wake_up);
  // Returns the time by which an item that is added now is to be sent.
  MonotonicTime FlushTime(SettleAction action, MonotonicTime wake_up,
                          MonotonicTime now) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Settle(Held& held, SettleAction action, MonotonicTime wake_up = {})
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Flush(Partition& partition, MonotonicTime now)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void OnSettled(Partition& partition, MonotonicTime sent,
                 const std::vector<SentItem>& items,
                 const absl::StatusOr<SettleReply>& reply)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void OnSettleFailed(Partition& partition, MonotonicTime now,
                      const std::vector<SentItem>& items)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void OnItemSettled(Held& held, const SentItem& item, int64_t fence,
                     MonotonicTime lease_end)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Forgets a wait that another worker may hold. Its functions may go on.
  void Drop(Held& held) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Erase(Held& held) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  static Held* Find(const Name& name, const std::string& key);
  // Returns the waits that are held, so that a run with a seed repeats itself.
  static std::vector<Held*> InOrderOfClaims(const Name& name);
  // Removes what would extend leases and was not sent yet.
  static void DropQueuedHolds(Name& name);
  void Note(const absl::Status& status) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  int64_t StoreTime(MonotonicTime now) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // The wall clock minus that of the store.
  Nanoseconds WallAhead(MonotonicTime now) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

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

  const std::shared_ptr<WaitStore> store_;
  Clock& clock_;
  const DurableWaitsOptions options_;
  const std::string id_;
  const Nanoseconds lease_;
  const Nanoseconds third_;  // Of the lease.
  const std::shared_ptr<const WaitPolicy> delivery_;

  mutable Mutex mutex_;
  Condition gave_back_{mutex_};
  std::map<std::string, std::unique_ptr<Name>> names_ ABSL_GUARDED_BY(mutex_);
  bool has_started_ ABSL_GUARDED_BY(mutex_) = false;
  bool is_draining_ ABSL_GUARDED_BY(mutex_) = false;
  bool has_stopped_ ABSL_GUARDED_BY(mutex_) = false;
  MonotonicTime armed_ ABSL_GUARDED_BY(mutex_) = MonotonicTime::max();
  MonotonicTime next_beat_ ABSL_GUARDED_BY(mutex_) = {};
  MonotonicTime next_renewal_ ABSL_GUARDED_BY(mutex_) = {};
  StoreClock store_clock_ ABSL_GUARDED_BY(mutex_);
  Agenda looks_ ABSL_GUARDED_BY(mutex_){&Partition::next_look};
  Agenda flushes_ ABSL_GUARDED_BY(mutex_){&Partition::flush_at};
  int64_t partitions_ ABSL_GUARDED_BY(mutex_) = 0;         // Of all names.
  MonotonicTime looks_from_ ABSL_GUARDED_BY(mutex_) = {};  // If no room before.
  std::deque<std::pair<Name*, std::string>> suspects_ ABSL_GUARDED_BY(mutex_);
  int64_t holdings_ ABSL_GUARDED_BY(mutex_) = 0;      // Since the start.
  bool has_suspect_ ABSL_GUARDED_BY(mutex_) = false;  // That is being polled.
  int64_t asked_for_ ABSL_GUARDED_BY(mutex_) = 0;     // By claims under way.
  DurableWaitsState state_ ABSL_GUARDED_BY(mutex_);

  // Destroyed first, by `Stop`.
  std::optional<WaitEngine> engine_;
};

}  // namespace waiter::internal

#endif  // WAITER_DURABLE_DURABLE_WORKER_H_
