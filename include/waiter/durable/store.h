// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// The interface between durable waits and a store, for your own stores, and for
// tests, which can put all workers and the store into one simulation. Programs
// do not need it. It has `WaitStore`, with its requests and replies, which are
// plain values:
//
//   store->Claim({.partition = {.name = "job"}, .most = 10, .lease_us = 1000},
//                [](const absl::StatusOr<ClaimReply>& reply) { ... });
//
// The waits of one name are divided into partitions, by their keys. A pending
// wait has one number: the time from which any worker may claim it. While a
// worker holds it, that is the end of the worker's lease, so the waits of a
// worker that died become due without further action. The number is also the
// fencing token: a worker without it cannot modify the wait.
//
// All times are on the store's clock, in microseconds since 1970.

#ifndef WAITER_DURABLE_STORE_H_
#define WAITER_DURABLE_STORE_H_

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "waiter/clock.h"
#include "waiter/version.h"

namespace waiter {

// One of the parts of the waits of a name.
struct WaitPartition {
  std::string space = {};
  std::string name = {};
  int index = 0;
};

// The first byte of a record. A store reads nothing else of it.
enum class WaitPhase : char {
  kPending = '0',    // Polled.
  kEnded = '1',      // Its result is recorded, and to be delivered.
  kDelivered = '2',  // Kept until it may be forgotten.
};

// A wait that a worker claimed.
struct ClaimedWait {
  std::string key = {};
  // The phase, the time of its enqueue in decimal digits, a space, and what
  // `Enqueue` or the last holder wrote.
  std::string record = {};
  std::string args = {};
  // Holders that vanished since a holder last wrote, and polls under `Mark`
  // that were never cleared.
  int64_t crashes = 0;
  int64_t marks = 0;
  bool is_cancelled = false;
  bool is_notified = false;
};

struct ClaimRequest {
  WaitPartition partition = {};
  int64_t most = 0;      // Waits, at least 1.
  int64_t lease_us = 0;  // At least 1000.
};

struct ClaimReply {
  int64_t now_us = 0;
  // The fencing token of these waits. Odd, and higher than all before in the
  // partition.
  int64_t fence = 0;
  // When the first of the others can be claimed; unset if no other waits exist,
  // or if `most` were claimed and more may be due.
  std::optional<int64_t> next_us = {};
  std::vector<ClaimedWait> waits = {};  // The longest overdue come first.
};

enum class SettleAction : char {
  // Due again after `delay_us`, for any worker; immediately after a signal.
  kRelease = 'r',
  kHold = 'h',  // Held for another lease, under the new fence.
  kEnd = 'f',   // Ended, held until its result is delivered.
  kDelivered = 'k',
  kEndUnheard = 'e',  // Ended and delivered, as there is no handler.
};

// A change by a holder to one of its waits.
struct SettleItem {
  std::string key = {};
  int64_t fence = 0;
  SettleAction action = SettleAction::kRelease;
  int64_t delay_us = 0;
  // Empty for the present record.
  std::string record = {};
  std::string value = {};   // With `kEnd` and `kEndUnheard` of a success.
  std::string reason = {};  // With the same; counted for `Stats`.
};

struct SettleRequest {
  WaitPartition partition = {};
  int64_t lease_us = 0;
  // How long a delivered result is kept; zero: not at all.
  int64_t retain_us = 0;
  // Polls that the caller has made in the partition since its last request;
  // counted for `Stats`.
  int64_t polls = 0;
  std::vector<SettleItem> items = {};  // With distinct keys.
};

struct SettleReply {
  int64_t now_us = 0;
  int64_t fence = 0;  // The fence of the waits that are still held.
  // Keys of waits that the caller no longer holds. They are unchanged.
  std::vector<std::string> lost = {};
  // Keys of waits that are still held and are to be cancelled.
  std::vector<std::string> cancelled = {};
};

struct EnqueueItem {
  std::string key = {};
  int64_t delay_us = 0;
  std::string record = {};  // The bytes after the phase and the time.
  std::string args = {};
  int64_t age_us = 0;  // Since it was enqueued in another store.
};

struct EnqueueRequest {
  WaitPartition partition = {};
  int64_t most_pending = 0;  // In the partition; more are refused.
  std::vector<EnqueueItem> items = {};
};

struct EnqueueReply {
  int64_t now_us = 0;
  // In the order of the items: whether the wait is new. One that was there is
  // left alone, even if it has ended and is not forgotten yet.
  std::vector<bool> created = {};
};

// Requests that any process may make about a wait.
enum class WaitSignal : char {
  kCancel = 'c',  // To end as cancelled. Kept until it ends.
  kNotify = 'n',  // To be polled immediately, once.
  kForget = 'f',  // To be forgotten, if its result was delivered.
};

// Waits that are not pending ignore the first two. An unheld wait is due
// immediately, and a held one as soon as it is released. The next claim tells
// the holder; if that vanishes, later claims tell the next one.
struct SignalRequest {
  WaitPartition partition = {};
  std::vector<std::string> keys = {};
  WaitSignal signal = WaitSignal::kCancel;
};

// State of a wait in the store.
struct StoredWait {
  std::string key = {};
  std::string record = {};  // Empty if there is no such wait.
  std::string args = {};
  std::string value = {};
  // Its number: odd while it is held. Unset once its result was delivered.
  std::optional<int64_t> due_us = {};
  bool is_cancelled = false;

  bool exists() const { return !record.empty(); }
};

struct HeartbeatRequest {
  std::string space = {};
  std::string worker = {};
  bool leaves = false;  // The last one of the worker.
};

struct WaitStats {
  int64_t now_us = 0;
  int64_t pending = 0;                  // Without results that were delivered.
  int64_t overdue = 0;                  // For more than 2 s.
  std::optional<int64_t> next_us = {};  // Minimum number of all.
  int64_t kept = 0;                     // Results that were delivered.
  int64_t polls = 0;                    // Since the partition exists.
  // Counts since then: "enqueued", "orphans" (waits whose record was lost), and
  // the reasons of ends.
  std::vector<std::pair<std::string, int64_t>> counters = {};
};

// Names and workers of a space.
struct WaitSpace {
  // Names that were opened, and the number of partitions of each.
  std::vector<std::pair<std::string, int64_t>> names = {};
  std::vector<std::string> workers = {};  // Workers that `Heartbeat` returns.
};

// Damage to a wait, or to the remains of one, that `CheckDurableWaits`
// (durable/client.h) finds.
enum class WaitFault : char {
  kNoRecord = 'n',      // Pending, but without a record: cannot be polled.
  kAdrift = 'a',        // A record that is neither pending nor kept.
  kStillPending = 'p',  // Pending, although its result was delivered.
  kNotDelivered = 'd',  // Kept as delivered, although it was not.
  kKeptNothing = 'k',   // Kept as delivered, but without a record.
  kLeftover = 'l',      // Args, values or marks of a wait that is gone.
  kMiscounted = 'c',    // The counters of a partition do not add up.
};

// One step through the structures of a partition.
struct CheckReply {
  std::string cursor = {};             // Empty after the last step.
  std::vector<std::string> keys = {};  // Keys for `Examine` to look at.
  int64_t records = 0;                 // Records that this step has seen.
  int64_t pending = 0;                 // Records of waits without a result.
  bool sees_records = false;           // Whether this step looked at records.

  // The partition as a whole. `fence` and `enqueued` are the same after two
  // steps if no wait was added, ended or forgotten between them.
  int64_t due = 0;
  int64_t fence = 0;
  int64_t enqueued = 0;
  int64_t ended = 0;
  int64_t orphans = 0;  // Waits that were dropped without a record.
};

struct ExamineRequest {
  WaitPartition partition = {};
  std::vector<std::string> keys = {};
  // Removes what cannot be a wait, and makes all others claimable immediately.
  bool repairs = false;
  // Counts missing waits as orphans, and surplus waits (below zero) as
  // enqueued.
  int64_t missing = 0;
};

struct FaultyWait {
  std::string key = {};
  WaitFault fault = WaitFault::kNoRecord;
};

// The server that has a partition.
struct WaitServer {
  std::string id = {};
  std::string description = {};  // "Redis 7.0.15, noeviction, ...".
  // Settings that endanger waits, each as a sentence that says what to do.
  std::vector<std::string> faults = {};
  // Whether the other calls can work there at all.
  bool is_usable = true;
};

// Thread-safe. Requests never block, and each is answered exactly once, even if
// the store is unreachable or is destroyed. Callbacks and timers run one at a
// time, under no lock, and never before the function that takes them has
// returned; they must return soon.
//
// An error kUnavailable means that the outcome is not known. All others mean
// that the request had no effect.
class WaitStore {
 public:
  template <typename T>
  using Callback = std::function<void(absl::StatusOr<T>)>;

  virtual ~WaitStore() = default;

  virtual void Claim(ClaimRequest request, Callback<ClaimReply> callback) = 0;
  virtual void Settle(SettleRequest request,
                      Callback<SettleReply> callback) = 0;

  // kResourceExhausted if the partition or the store is full.
  virtual void Enqueue(EnqueueRequest request,
                       Callback<EnqueueReply> callback) = 0;

  // Returns the waits as they are afterwards.
  virtual void Signal(SignalRequest request,
                      Callback<std::vector<StoredWait>> callback) = 0;
  virtual void Get(WaitPartition partition, std::vector<std::string> keys,
                   Callback<std::vector<StoredWait>> callback) = 0;

  // One step through all waits. Starts with the cursor "0" and ends when it
  // returns that; a wait may come twice.
  struct ScanReply {
    std::string cursor = {};
    std::vector<StoredWait> waits = {};
  };
  virtual void Scan(WaitPartition partition, std::string cursor,
                    Callback<ScanReply> callback) = 0;

  virtual void Stats(WaitPartition partition, Callback<WaitStats> callback) = 0;

  // Records that a poll of a wait that may kill its worker begins, or that it
  // has ended. Returns the number of such polls that never ended.
  virtual void Mark(WaitPartition partition, std::string key, bool begins,
                    Callback<int64_t> callback) = 0;

  // Returns the number of partitions of a name, which is `partitions` if the
  // name was not opened before. kFailedPrecondition if the store is set up so
  // that it may delete waits.
  virtual void Open(std::string space, std::string name, int64_t partitions,
                    Callback<int64_t> callback) = 0;

  // Returns the workers of the space that have not left and whose last
  // heartbeat is at most 10 s old.
  virtual void Heartbeat(HeartbeatRequest request,
                         Callback<std::vector<std::string>> callback) = 0;

  virtual void Describe(std::string space, Callback<WaitSpace> callback) = 0;

  // For `CheckDurableWaits`. Begins with an empty cursor. A wait that changes
  // between two steps may be missing, or come twice.
  virtual void Check(WaitPartition partition, std::string cursor,
                     Callback<CheckReply> callback) = 0;
  // Returns the faults of these keys, as before a repair.
  virtual void Examine(ExamineRequest request,
                       Callback<std::vector<FaultyWait>> callback) = 0;
  virtual void Inspect(WaitPartition partition,
                       Callback<WaitServer> callback) = 0;

  // Calls `timer` once, at `time` or soon after, unless this is destroyed
  // first.
  virtual void RunAt(MonotonicTime time, std::function<void()> timer) = 0;

  // The clock of the timers, which the waits must also use.
  virtual Clock& clock() = 0;
};

}  // namespace waiter

#endif  // WAITER_DURABLE_STORE_H_
