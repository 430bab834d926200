// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// The functions that a program registers for its durable waits
// (distributed/durable_waits.h): one that asks whether a wait is over, in one
// of three forms, and one that takes results.
//
//   // One wait at a time, on a thread of the worker.
//   [&](const waiter::DurablePoll& poll) -> waiter::Poll<std::string> {
//     return Ask(poll.key, poll.context);
//   }
//
//   // Many at once: the answer comes later, on any thread.
//   [&](const waiter::DurablePoll& poll,
//       waiter::PollCompletion<std::string> done) {
//     client.AsyncAsk(std::string(poll.key), std::move(done));
//   }
//
//   // One call for many waits.
//   [&](absl::Span<const waiter::DurableKey> keys) {
//     return AskForAll(keys);
//   }

#ifndef WAITER_DISTRIBUTED_DURABLE_FUNCTION_H_
#define WAITER_DISTRIBUTED_DURABLE_FUNCTION_H_

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "waiter/batch_answer.h"
#include "waiter/distributed/durable_result.h"
#include "waiter/poll.h"
#include "waiter/poll_completion.h"
#include "waiter/poll_context.h"

namespace waiter {

// A poll of one wait. The views, and the context, are valid during the call.
struct DurablePoll {
  std::string_view name;
  std::string_view key;
  std::string_view args;  // As they were enqueued.
  const PollContext& context;
  // Grows with each holder of the wait. Hand it to whatever the poll changes,
  // so that a poll of an earlier holder that comes late can be refused there.
  int64_t fence;
  // Holders that vanished since the store last heard of one: killed in a poll
  // of this wait, killed for another reason, or cut off.
  int64_t crashes = 0;
};

// Called on threads of the worker, also several at once. A success carries the
// bytes that are the result, at most 64 KiB.
using DurableFunction = std::function<Poll<std::string>(const DurablePoll&)>;

// Called as `DurableFunction`, but must return soon. Answers by the completion
// (poll_completion.h), on any thread, also before it returns. A poll without an
// answer ends with its wait, at the deadline or when it is cancelled.
using DurableAsyncFunction =
    std::function<void(const DurablePoll&, PollCompletion<std::string>)>;

// One wait of a call for many. Equal if the keys are, which they are never
// within one call.
struct DurableKey {
  std::string key = {};
  std::string args = {};
  int64_t fence = 0;  // As that of `DurablePoll`.

  friend bool operator==(const DurableKey& a, const DurableKey& b) {
    return a.key == b.key;
  }
  template <typename H>
  friend H AbslHashValue(H state, const DurableKey& wait) {
    return H::combine(std::move(state), wait.key);
  }
};

// Returns what it found by key; the rest as `BatchPoller::Call` says.
using DurableBatchCall =
    std::function<absl::StatusOr<BatchAnswer<std::string, std::string>>(
        absl::Span<const DurableKey>)>;

// Called with each result at least once, until it returns OK for it: again
// after a crash, after an error (1 s later, at most 5 min), and if it is not
// known whether the store was told. Equal results have equal idempotency keys.
using DurableHandler = std::function<absl::Status(const DurableResult&)>;

}  // namespace waiter

#endif  // WAITER_DISTRIBUTED_DURABLE_FUNCTION_H_
