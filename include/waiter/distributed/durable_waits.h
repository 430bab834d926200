// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// Waits that outlive their process: any process may ask for one
// (distributed/durable_client.h), and workers like this one poll them. If a
// worker dies, the others go on with its waits:
//
//   auto waits = waiter::DurableWaits::Make(store, {.space = "prod"});
//   if (!waits.ok()) return waits.status();
//   absl::Status status = (*waits)->Register(
//       "instance-running", {.timeout = absl::Minutes(40)},
//       [&](const waiter::DurablePoll& poll) -> waiter::Poll<std::string> {
//         return Ask(poll.key, poll.context);
//       },
//       [&](const waiter::DurableResult& result) -> absl::Status {
//         return Publish(result.key, result.value);  // Not OK: again, later.
//       });
//   if (!status.ok()) return status;
//   (*waits)->Start();
//
// The store decides who may poll a wait, by its own clock, for the time of a
// lease. Between two polls that are far apart nobody holds the wait. What a
// worker finds counts only if it still holds the wait then; so each wait has
// one result, which is delivered at least once. docs/durable.md lists what
// holds, and what happens when something breaks.

#ifndef WAITER_DISTRIBUTED_DURABLE_WAITS_H_
#define WAITER_DISTRIBUTED_DURABLE_WAITS_H_

#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "waiter/batch_options.h"
#include "waiter/clock.h"
#include "waiter/distributed/durable_function.h"
#include "waiter/distributed/wait_store.h"
#include "waiter/options.h"

namespace waiter {

namespace internal {
class DurableWorker;
}  // namespace internal

struct DurableWaitsOptions {
  // Separates the names of programs that share a store: 1 to 64 of the
  // characters A-Z, a-z, 0-9, `_`, `.` and `-`. So are names.
  std::string space = "default";

  // Id of this worker, of the same characters; empty for a random one. Ids
  // decide which worker looks most often into which partition. Workers with the
  // same one look into the same, which costs calls and breaks nothing.
  std::string worker = {};

  // Threads that poll, and deliver results. Zero: those happen in `RunDue`.
  int threads = 1;

  // Parts into which the waits of a name are divided, for all workers and
  // clients of a space alike. Within [1, 4096]. At most 100,000 waits in each
  // are fine; an idle worker asks for each of them a few times per second.
  int64_t partitions = 16;

  // Time for which a claim counts. Within [2s, 10min]. Its third is how long a
  // delay must be for the wait to be given back, how often held waits are
  // renewed, and how early before its end polls stop.
  absl::Duration lease = absl::Seconds(15);

  // Waits that this worker holds at most, and claims at once. The first within
  // [1, 1000000], the second within [1, 1000].
  int64_t max_held = 10'000;
  int64_t claim_batch = 250;

  // Time for which results are kept, so that `Get` finds them and an equal
  // `Enqueue` does not wait again. Within [0, 100 days].
  absl::Duration retain = absl::Hours(24);

  // Polls that killed their process after which a wait has failed. Within [1,
  // 100].
  int64_t max_crashes = 3;
};

// Returns OK, or kInvalidArgument with the field, its value and its range.
absl::Status Validate(const DurableWaitsOptions& options);

// Of one name.
struct DurableNameOptions {
  // Waits of the name that this worker holds at most, so that it neither makes
  // more polls and deliveries of the name at once nor leaves no thread to
  // others. The rest stays in the store, for all workers. Within [1, 1000000].
  int64_t max_held = 1'000'000;
};

// Returns OK, or kInvalidArgument with the field, its value and its range.
absl::Status Validate(const DurableNameOptions& options);

// Snapshot of a worker, for metrics, logs and tests. Counts are since its
// start.
struct DurableWaitsState {
  int64_t held = 0;
  int64_t claimed = 0;
  int64_t polls = 0;
  int64_t ended = 0;       // Results that were recorded.
  int64_t delivered = 0;   // Results of which the store knows it.
  int64_t lost = 0;        // Waits that others held by then.
  int64_t unreadable = 0;  // Records of newer builds, or damaged.
  // Last jump of a server's clock by more than a second. Deadlines, and the
  // times at which waits are due, move by as much.
  absl::Duration clock_step = absl::ZeroDuration();
  // Of the last call of the store. While a name cannot be worked on, why:
  // kFailedPrecondition if the store divides it otherwise, or may delete waits.
  absl::Status last_error;
};

// Thread-safe, but for `RunDue`.
class DurableWaits {
 public:
  // Returns a worker without names, or the error of `Validate`.
  static absl::StatusOr<std::unique_ptr<DurableWaits>> Make(
      std::shared_ptr<WaitStore> store, const DurableWaitsOptions& options);

  // Waits for the polls that are under way, and gives all waits back, but does
  // not wait until the store knows: of what it does not hear, leases have to
  // end first. `Drain` does better.
  ~DurableWaits();

  DurableWaits(const DurableWaits&) = delete;
  DurableWaits& operator=(const DurableWaits&) = delete;

  // Adds a name, before `Start`. Without a handler, results are only kept for
  // `Get`. `policy` is that of all waits of the name: a new one applies to
  // waits that are pending, except for their deadlines. Its rate limiter holds
  // for all of them. Its observer sees a wait each time that this worker holds
  // it, from `OnStart` to `OnDone`: with the attempts and the time of the whole
  // wait, and with the reason `kCancelled` if the worker gives it back. Returns
  // kInvalidArgument for what is not valid, and kAlreadyExists for a name that
  // was added before.
  absl::Status Register(const std::string& name, WaitOptions policy,
                        DurableFunction function,
                        DurableHandler handler = nullptr,
                        const DurableNameOptions& options = {});

  // The same, with polls that occupy no thread while they are under way.
  absl::Status RegisterAsync(const std::string& name, WaitOptions policy,
                             DurableAsyncFunction function,
                             DurableHandler handler = nullptr,
                             const DurableNameOptions& options = {});

  // The same, with calls that ask for many waits at once, as those of a
  // `BatchPoller` (batch_poller.h) do.
  absl::Status RegisterBatch(const std::string& name, WaitOptions policy,
                             DurableBatchCall call,
                             const BatchOptions& batches = {},
                             DurableHandler handler = nullptr,
                             const DurableNameOptions& options = {});

  // Begins to claim waits.
  void Start();

  // Claims no more and gives all waits back, each after the poll or delivery
  // that is under way. Returns whether nothing is held any more, at the latest
  // after `limit`. With no thread, call `RunDue` meanwhile elsewhere, or pass
  // zero and call it afterwards.
  bool Drain(absl::Duration limit);

  DurableWaitsState State() const;

  // As `WaitEngine::RunDue`, without threads.
  MonotonicTime RunDue();

 private:
  explicit DurableWaits(std::shared_ptr<internal::DurableWorker> worker);

  const std::shared_ptr<internal::DurableWorker> worker_;
};

}  // namespace waiter

#endif  // WAITER_DISTRIBUTED_DURABLE_WAITS_H_
