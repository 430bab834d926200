// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// Requests by which `CheckDurableWaits` (distributed/durable_check.h) looks for
// damage in a `WaitStore` (distributed/wait_store.h), and their replies. All
// are plain values.

#ifndef WAITER_DISTRIBUTED_WAIT_CHECK_MESSAGES_H_
#define WAITER_DISTRIBUTED_WAIT_CHECK_MESSAGES_H_

#include <cstdint>
#include <string>
#include <vector>

#include "waiter/distributed/wait_store_messages.h"

namespace waiter {

// Damage to a wait, or to the remains of one.
enum class WaitFault : char {
  kNoRecord = 'n',      // Pending, but without a record: nobody can poll it.
  kAdrift = 'a',        // A record that is neither pending nor kept.
  kStillPending = 'p',  // Pending, although its result was delivered.
  kNotDelivered = 'd',  // Kept as delivered, although it was not.
  kKeptNothing = 'k',   // Kept as delivered, but without a record.
  kLeftover = 'l',      // Args, values or marks of a wait that is not there.
  kMiscounted = 'c',    // The counters of a partition do not sum up.
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
  int64_t orphans = 0;  // Waits that were dropped for want of a record.
};

struct ExamineRequest {
  WaitPartition partition = {};
  std::vector<std::string> keys = {};
  // Removes what cannot be a wait, and lets all others be claimed at once.
  bool repairs = false;
  // Waits to be counted as orphans, or, below zero, as enqueued.
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
  // What endangers waits, each as a sentence that says what to do.
  std::vector<std::string> faults = {};
  // Whether the other calls can work there at all.
  bool is_usable = true;
};

}  // namespace waiter

#endif  // WAITER_DISTRIBUTED_WAIT_CHECK_MESSAGES_H_
