// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// One wait that a worker holds, from its claim until the worker releases it,
// records its delivery or loses it. Has no lock, clock, store or engine:
//
//   LeasedWait wait(claimed, record, {fence, lease_end});
//   if (wait.Apply(LeasedWait::Event::kStart)) ...  // Start it on the engine.
//   ...
//   wait.Save(token, wall_ahead, wake_up);
//   if (wait.Apply(LeasedWait::Event::kGiveBack)) ...  // Suspend it there.
//
// `Next` is the whole life of a wait. An event without a row for the state came
// too late and changes nothing.

#ifndef WAITER_DURABLE_LEASED_WAIT_H_
#define WAITER_DURABLE_LEASED_WAIT_H_

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "waiter/clock.h"
#include "waiter/durable/due_number.h"
#include "waiter/durable/durable_record.h"
#include "waiter/durable/store.h"
#include "waiter/result.h"
#include "waiter/token.h"

namespace waiter::internal {

// While it lasts, the store keeps a wait for its holder.
struct WaitLease {
  DueNumber fence;
  MonotonicTime end;
};

// Thread-compatible. Invariants:
//   - A wait that `runs` is never gone, as the engine's functions refer to it.
//   - At most one write is in flight, because its reply may change the fence.
//   - A wait whose lease is lost writes nothing.
class LeasedWait {
 public:
  enum class State : uint8_t {
    kClaimed,
    kSuspected,   // Polled alone, once the suspects before it have been.
    kDue,         // On the engine, due, not polled under this lease.
    kSleeping,    // On the engine, between polls. The saved token is current.
    kPolling,     // On the engine, in a poll.
    kLeaving,     // Being suspended on the engine, to be released.
    kReleasing,   // The store is to release it.
    kEnding,      // The store is to record its result.
    kFetching,    // The store is to return the value of its result.
    kDelivering,  // Its handler runs on the engine.
    kDelivered,   // The store is to record the delivery.
    kDropped,     // Its lease is lost; its functions still run.
    kGone,
  };
  enum class Event : uint8_t {
    kSuspect,    // Earlier holders vanished.
    kStart,      // The engine gets it, to sleep first.
    kStartDue,   // The engine gets it, to poll now.
    kPoll,       // A poll begins.
    kSleep,      // It was saved before a sleep.
    kGiveBack,   // The worker has no use for it until its next poll.
    kSuspended,  // The engine gave it back before its end.
    kEnd,        // It ended, by a poll, a limit or a cancel.
    kFetch,      // An earlier holder recorded its result.
    kDeliver,    // Its result can be delivered.
    kSkip,       // Its result can be delivered, and there is no handler.
    kAccepted,   // The handler took the result.
    kRefused,    // The handler did not take it, or was not called.
    kWritten,    // The store did the write that the state needs.
    kLose,       // Another worker may hold it.
  };

  // Returns the state after an event; nullopt if the event changes nothing.
  static std::optional<State> Next(State state, Event event);
  // Whether functions of the wait are on the engine.
  static bool Runs(State state);

  LeasedWait(const ClaimedWait& claimed, DurableRecord record,
             const WaitLease& lease);

  State state() const { return state_; }
  // Returns whether the event changed the state or renewed it.
  bool Apply(Event event);
  bool Allows(Event event) const { return Next(state_, event).has_value(); }
  bool is_lost() const { return !write().has_value(); }
  // Whether a renewal of the lease is useful.
  bool is_renewed() const;

  const std::string& key() const { return key_; }
  const std::string& args() const { return args_; }
  const DurableRecord& record() const { return record_; }
  const std::string& value() const { return value_; }
  const WaitLease& lease() const { return lease_; }
  int64_t marks() const { return marks_; }
  // Holders that vanished since a holder last wrote.
  int64_t crashes() const { return crashes_; }
  bool is_cancelled() const { return is_cancelled_; }
  // Whether a poll is to begin immediately, and none has begun since.
  bool is_notified() const { return is_notified_; }
  MonotonicTime wake_up() const { return wake_up_; }

  void RequestCancel() { is_cancelled_ = true; }
  // Sets the state from which the engine starts. The wall clock that `token`
  // uses is `wall_ahead` ahead of the store's.
  void Begin(WaitToken token, std::chrono::nanoseconds wall_ahead,
             MonotonicTime wake_up);
  // Sets a newer state, for the next write to the store.
  void Save(WaitToken token, std::chrono::nanoseconds wall_ahead,
            MonotonicTime wake_up);
  // Sets the result. Without a handler it needs no delivery.
  void End(StopReason reason, const absl::Status& status, int64_t attempts,
           int64_t now_us, bool has_handler, std::string value);
  void SetValue(std::string value) { value_ = std::move(value); }
  // Ends a delivery. A refused result is due again at `retry`.
  void EndDelivery(bool is_accepted, MonotonicTime retry);

  // Writes, for `SettleQueue`.

  // Returns the write that this state needs; nullopt if the lease is lost.
  std::optional<SettleAction> write() const;
  bool wants_write() const { return wants_write_; }
  bool is_writing() const { return is_writing_; }
  void SetWantsWrite(bool wants) { wants_write_ = wants; }
  // Returns what to send. Requires `write()`, and no write in flight.
  SettleItem BeginWrite();
  // The store did a write. Returns the event that this is.
  std::optional<Event> OnWritten(SettleAction action, const WaitLease& lease);
  // The store may have done a write.
  void OnWriteFailed();

 private:
  const std::string key_;
  const std::string args_;
  const int64_t marks_;
  DurableRecord record_;
  std::string value_;  // The value of a success.
  WaitLease lease_;
  MonotonicTime wake_up_ = {};
  // The wall clock that `record_.token` uses minus the store's.
  std::chrono::nanoseconds wall_ahead_{};
  int64_t crashes_;
  State state_ = State::kClaimed;
  bool is_cancelled_;
  bool is_notified_;
  bool is_dirty_ = false;  // The store has an older record.
  bool wants_write_ = false;
  bool is_writing_ = false;
};

}  // namespace waiter::internal

#endif  // WAITER_DURABLE_LEASED_WAIT_H_
