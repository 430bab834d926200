// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// Requests to a `WaitStore` (distributed/wait_store.h), its replies, and what
// they consist of. All are plain values.
//
//   store->Claim({.partition = {.name = "job"}, .most = 10, .lease_us = 1000},
//                [](const absl::StatusOr<ClaimReply>& reply) { ... });
//
// All times are those of the store's clock, in microseconds since 1970.

#ifndef WAITER_DISTRIBUTED_WAIT_STORE_MESSAGES_H_
#define WAITER_DISTRIBUTED_WAIT_STORE_MESSAGES_H_

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "waiter/version.h"

namespace waiter {

// One of the parts of the waits of a name.
struct WaitPartition {
  std::string space = {};
  std::string name = {};
  int index = 0;
};

// The first byte of a record, which is all that a store reads of it.
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
  // Holders that vanished since one last wrote, and polls under `Mark` that
  // were never cleared.
  int64_t crashes = 0;
  int64_t marks = 0;
  bool is_cancelled = false;
};

struct ClaimRequest {
  WaitPartition partition = {};
  int64_t most = 0;      // Waits, at least 1.
  int64_t lease_us = 0;  // At least 1000.
};

struct ClaimReply {
  int64_t now_us = 0;
  // What the holder of these waits has to show. Odd, and higher than all
  // before in the partition.
  int64_t fence = 0;
  // When the first of the others can be claimed; unset if there is none, or if
  // `most` were claimed and more may be due.
  std::optional<int64_t> next_us = {};
  std::vector<ClaimedWait> waits = {};  // Those due for longest come first.
};

enum class SettleAction : char {
  kRelease = 'r',  // Due again after `delay_us`, for anybody.
  kHold = 'h',     // Held for another lease, under the new fence.
  kEnd = 'f',      // Ended, held until its result is delivered.
  kDelivered = 'k',
  kEndUnheard = 'e',  // Ended and delivered at once, as nobody listens.
};

// What a holder does with one of its waits.
struct SettleItem {
  std::string key = {};
  int64_t fence = 0;
  SettleAction action = SettleAction::kRelease;
  int64_t delay_us = 0;
  // Empty for the record that is there.
  std::string record = {};
  std::string value = {};   // Of a success, with `kEnd` and `kEndUnheard`.
  std::string reason = {};  // With the same; counted for `Stats`.
};

struct SettleRequest {
  WaitPartition partition = {};
  int64_t lease_us = 0;
  // Time for which a delivered result is kept; zero: not at all.
  int64_t retain_us = 0;
  // Polls that the caller has made in the partition since its last request;
  // counted for `Stats`.
  int64_t polls = 0;
  std::vector<SettleItem> items = {};  // With distinct keys.
};

struct SettleReply {
  int64_t now_us = 0;
  int64_t fence = 0;  // Of the waits that are held on.
  // Keys of waits that the caller does not hold any more. Nothing was done.
  std::vector<std::string> lost = {};
  // Keys of waits that are held on and are to be cancelled.
  std::vector<std::string> cancelled = {};
};

struct EnqueueItem {
  std::string key = {};
  int64_t delay_us = 0;
  std::string record = {};  // What follows the phase and the time.
  std::string args = {};
};

struct EnqueueRequest {
  WaitPartition partition = {};
  int64_t most_pending = 0;  // In the partition; more are refused.
  std::vector<EnqueueItem> items = {};
};

struct EnqueueReply {
  int64_t now_us = 0;
  // In the order of the items: whether the wait is new. One that was there is
  // left alone, also if it has ended and is not forgotten yet.
  std::vector<bool> created = {};
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

struct WaitStats {
  int64_t now_us = 0;
  int64_t pending = 0;                  // Without results that were delivered.
  int64_t overdue = 0;                  // For more than 2 s.
  std::optional<int64_t> next_us = {};  // Least number of all.
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
  std::vector<std::string> workers = {};  // Workers that `Beat` returns.
};

}  // namespace waiter

#endif  // WAITER_DISTRIBUTED_WAIT_STORE_MESSAGES_H_
