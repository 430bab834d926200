// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// `WaitStore`, the interface between durable waits and a store. Implement it to
// add a store, or to run all workers and their store in one simulation; other
// programs do not need it. Requests and replies are plain values:
//
//   store->Claim({.partition = {.name = "job"}, .most = 10, .lease_us = 1000},
//                [](const absl::StatusOr<ClaimReply>& reply) { ... });
//
// Waits of the same name are divided into partitions, by their keys. A pending
// wait has a number, its due time, after which any worker may claim it. While a
// worker holds the wait, the due time is the end of the worker's lease, so a
// dead worker's waits become due on their own. The number is also the fencing
// token: only a worker that knows it can modify the wait.
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

// One partition of the waits of a name. A `space` separates programs that use
// one server.
struct WaitPartition {
  std::string space = {};
  std::string name = {};
  int index = 0;
};

// The first byte of a record, and the only part that a store reads.
enum class WaitPhase : char {
  kPending = '0',    // Being polled.
  kEnded = '1',      // Its result is recorded, but not delivered yet.
  kDelivered = '2',  // Its result is delivered, and kept for a while.
};

// A wait that a worker claimed.
struct ClaimedWait {
  std::string key = {};
  // The phase, the time of the enqueue in decimal digits, a space, and the
  // bytes that `Enqueue` or the last holder wrote.
  std::string record = {};
  std::string args = {};
  // Numbers of holders that vanished since a holder last wrote the record, and
  // of polls that began with `Mark` and never ended.
  int64_t crashes = 0;
  int64_t marks = 0;
  bool is_cancelled = false;
  bool is_notified = false;
};

struct ClaimRequest {
  WaitPartition partition = {};
  int64_t most = 0;      // Maximum number of waits, at least 1.
  int64_t lease_us = 0;  // At least 1000.
};

struct ClaimReply {
  int64_t now_us = 0;
  // The fencing token of these waits. Odd, and higher than all earlier ones in
  // the partition.
  int64_t fence = 0;
  // When the first of the remaining waits can be claimed. Unset if no others
  // exist, or if `most` were claimed and more may be due.
  std::optional<int64_t> next_us = {};
  std::vector<ClaimedWait> waits = {};  // The longest overdue first.
};

enum class SettleAction : char {
  // Given back: any worker may claim it after `delay_us`, or immediately if it
  // was signaled.
  kRelease = 'r',
  kHold = 'h',        // Held for another lease, with the new fence.
  kEnd = 'f',         // Ended, and held until its result is delivered.
  kDelivered = 'k',   // Its result was delivered.
  kEndUnheard = 'e',  // Ended, and counts as delivered: it has no handler.
};

// A change that a holder makes to one of its waits.
struct SettleItem {
  std::string key = {};
  int64_t fence = 0;
  SettleAction action = SettleAction::kRelease;
  int64_t delay_us = 0;
  // Empty to leave the record as it is.
  std::string record = {};
  std::string value = {};   // Of a success, with `kEnd` and `kEndUnheard`.
  std::string reason = {};  // With `kEnd` and `kEndUnheard`; for `Stats`.
};

struct SettleRequest {
  WaitPartition partition = {};
  int64_t lease_us = 0;
  // How long a delivered result is kept. Zero: not at all.
  int64_t retain_us = 0;
  // Number of polls that the caller has made in the partition since its last
  // request, for `Stats`.
  int64_t polls = 0;
  std::vector<SettleItem> items = {};  // Their keys are distinct.
};

struct SettleReply {
  int64_t now_us = 0;
  int64_t fence = 0;  // The new fence of the waits that the caller still holds.
  // Keys of waits that the caller no longer holds. The request did not change
  // these waits.
  std::vector<std::string> lost = {};
  // Keys of waits that the caller still holds and should cancel.
  std::vector<std::string> cancelled = {};
};

struct EnqueueItem {
  std::string key = {};
  int64_t delay_us = 0;
  std::string record = {};  // The bytes after the phase and the time.
  std::string args = {};
  int64_t age_us = 0;  // Time since another store enqueued it, if one did.
};

struct EnqueueRequest {
  WaitPartition partition = {};
  int64_t most_pending = 0;  // Limit for the partition; more waits are refused.
  std::vector<EnqueueItem> items = {};
};

struct EnqueueReply {
  int64_t now_us = 0;
  // In the order of the items: whether the wait is new. A wait that exists is
  // not changed, even if it has ended and is not forgotten yet.
  std::vector<bool> created = {};
};

// Requests that any process may make about a wait.
enum class WaitSignal : char {
  kCancel = 'c',  // End it as cancelled. Stored until the wait ends.
  kNotify = 'n',  // Poll it immediately, once.
  kForget = 'f',  // Forget it, if its result was delivered.
};

// `kCancel` and `kNotify` have no effect on waits that are not pending. A wait
// that no worker holds becomes due immediately, and a held one as soon as it is
// released. The next claim passes the signal to its worker, and if that worker
// vanishes, later claims pass it on.
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
  // The due time; odd while the wait is held. Unset once the result was
  // delivered.
  std::optional<int64_t> due_us = {};
  bool is_cancelled = false;

  bool exists() const { return !record.empty(); }
};

struct HeartbeatRequest {
  std::string space = {};
  std::string worker = {};
  bool leaves = false;  // This is the worker's last heartbeat.
};

struct WaitStats {
  int64_t now_us = 0;
  int64_t pending = 0;                  // Waits with no delivered result.
  int64_t overdue = 0;                  // Of these, due for more than 2 s.
  std::optional<int64_t> next_us = {};  // The earliest due time.
  int64_t kept = 0;                     // Delivered results that are kept.
  int64_t polls = 0;                    // Since the partition was created.
  // Counts since the partition's creation: "enqueued", "orphans" (waits whose
  // record was lost), and each reason for an end.
  std::vector<std::pair<std::string, int64_t>> counters = {};
};

// Names and workers of a space.
struct WaitSpace {
  // Names that were opened, each with its number of partitions.
  std::vector<std::pair<std::string, int64_t>> names = {};
  std::vector<std::string> workers = {};  // As `Heartbeat` returns them.
};

// Damage to a wait, or to what is left of one, that `CheckDurableWaits`
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

// One step of a check, which walks through the structures of a partition.
struct CheckReply {
  std::string cursor = {};             // Empty after the last step.
  std::vector<std::string> keys = {};  // Keys for `Examine` to look at.
  int64_t records = 0;                 // Records that this step has seen.
  int64_t pending = 0;                 // Records of waits without a result.
  bool sees_records = false;           // Whether this step looked at records.

  // Figures of the whole partition. `fence` and `enqueued` are equal in two
  // steps if no wait was added, ended or forgotten in between.
  int64_t due = 0;
  int64_t fence = 0;
  int64_t enqueued = 0;
  int64_t ended = 0;
  int64_t orphans = 0;  // Waits dropped because they had no record.
};

struct ExamineRequest {
  WaitPartition partition = {};
  std::vector<std::string> keys = {};
  // If true, removes everything that cannot be a wait, and makes the other
  // faulty waits due immediately.
  bool repairs = false;
  // With `repairs`: corrects the counters. A positive number is added to the
  // orphans, the absolute value of a negative one to the enqueued waits.
  int64_t missing = 0;
};

struct FaultyWait {
  std::string key = {};
  WaitFault fault = WaitFault::kNoRecord;
};

// The server that stores a partition.
struct WaitServer {
  std::string id = {};
  std::string description = {};  // "Redis 7.0.15, noeviction, ...".
  // Settings that endanger waits, each as a sentence that says what to do.
  std::vector<std::string> faults = {};
  // Whether the server can answer other calls.
  bool is_usable = true;
};

// Thread-safe. Requests never block, and each is answered exactly once, even if
// the store is unreachable or is destroyed. Callbacks and timers run one at a
// time, without a lock, and never before the function that they were passed to
// has returned. They must return soon.
//
// The error kUnavailable means that the outcome is not known. All other errors
// mean that the request had no effect.
class WaitStore {
 public:
  template <typename T>
  using Callback = std::function<void(absl::StatusOr<T>)>;

  virtual ~WaitStore() = default;

  virtual void Claim(ClaimRequest request, Callback<ClaimReply> callback) = 0;
  virtual void Settle(SettleRequest request,
                      Callback<SettleReply> callback) = 0;

  // Returns kResourceExhausted if the partition or the store is full.
  virtual void Enqueue(EnqueueRequest request,
                       Callback<EnqueueReply> callback) = 0;

  // Returns the waits as they are after the signal.
  virtual void Signal(SignalRequest request,
                      Callback<std::vector<StoredWait>> callback) = 0;
  virtual void Get(WaitPartition partition, std::vector<std::string> keys,
                   Callback<std::vector<StoredWait>> callback) = 0;

  // One step through all waits. Begin with the cursor "0", pass each returned
  // cursor to the next step, and stop when it is "0". A wait may appear twice.
  struct ScanReply {
    std::string cursor = {};
    std::vector<StoredWait> waits = {};
  };
  virtual void Scan(WaitPartition partition, std::string cursor,
                    Callback<ScanReply> callback) = 0;

  virtual void Stats(WaitPartition partition, Callback<WaitStats> callback) = 0;

  // For a wait whose polls may kill their worker. If `begins`, returns the
  // number of polls that began and never ended, including this one. Otherwise
  // sets this number and the wait's `crashes` to zero, and returns zero.
  virtual void Mark(WaitPartition partition, std::string key, bool begins,
                    Callback<int64_t> callback) = 0;

  // Returns the number of partitions of a name, which is `partitions` if the
  // name was not opened before. Returns kFailedPrecondition if the store's
  // settings allow it to delete waits.
  virtual void Open(std::string space, std::string name, int64_t partitions,
                    Callback<int64_t> callback) = 0;

  // Returns the workers of the space that have not left and whose last
  // heartbeat is at most 10 s old.
  virtual void Heartbeat(HeartbeatRequest request,
                         Callback<std::vector<std::string>> callback) = 0;

  virtual void Describe(std::string space, Callback<WaitSpace> callback) = 0;

  // For `CheckDurableWaits`. Begin with an empty cursor. A wait that changes
  // between two steps may be missing, or appear twice.
  virtual void Check(WaitPartition partition, std::string cursor,
                     Callback<CheckReply> callback) = 0;
  // Returns the faults of these keys, as they were before any repair.
  virtual void Examine(ExamineRequest request,
                       Callback<std::vector<FaultyWait>> callback) = 0;
  virtual void Inspect(WaitPartition partition,
                       Callback<WaitServer> callback) = 0;

  // Calls `timer` once, at `time` or soon after, unless the store is destroyed
  // first.
  virtual void RunAt(MonotonicTime time, std::function<void()> timer) = 0;

  // The clock of `RunAt`. The waits must use the same clock.
  virtual Clock& clock() = 0;
};

}  // namespace waiter

#endif  // WAITER_DURABLE_STORE_H_
