// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// Waits that outlive their process: any process may ask for one
// (durable/client.h), and workers like this one poll them. If a worker dies,
// the others continue its waits:
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
// By its own clock, the store decides which worker may poll a wait for the time
// of a lease. Between two polls that are far apart, no worker holds the wait. A
// poll counts only if the worker still holds the wait when it ends, so each
// wait has one result, which is delivered at least once. docs/durable.md lists
// the guarantees, and the effects of failures.
//
// `DurableMetrics` gives metrics of workers and of names.

#ifndef WAITER_DURABLE_WORKER_H_
#define WAITER_DURABLE_WORKER_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "absl/types/span.h"
#include "waiter/clock.h"
#include "waiter/durable/client.h"
#include "waiter/durable/store.h"
#include "waiter/engine/async_waiter.h"
#include "waiter/engine/batch_poller.h"
#include "waiter/options.h"
#include "waiter/poll.h"

namespace waiter {

struct MetricFamily;

// A poll of one wait. The views and the context are valid only during the call.
struct DurablePoll {
  std::string_view name;
  std::string_view key;
  std::string_view args;  // As they were enqueued.
  const PollContext& context;
  // Fencing token, which grows with each holder of the wait. Pass it to the
  // system that the poll changes, so that the system can refuse a late poll of
  // an earlier holder.
  int64_t fence;
  // Holders that vanished since a holder last wrote to the store: killed in a
  // poll of this wait, killed for another reason, or cut off.
  int64_t crashes = 0;
};

// A status function that polls one wait at a time. Called on the worker's
// threads, possibly several at the same time. The value of a success is the
// result, at most 64 KiB.
//
//   [&](const waiter::DurablePoll& poll) -> waiter::Poll<std::string> {
//     return Ask(poll.key, poll.context);
//   }
using DurableFunction = std::function<Poll<std::string>(const DurablePoll&)>;

// A status function for many polls at a time: it must return soon, and answers
// by calling the completion (engine/async_waiter.h), on any thread, even before
// it returns. A poll without an answer ends with its wait, at the deadline or
// when the wait is cancelled.
//
//   [&](const waiter::DurablePoll& poll,
//       waiter::PollCompletion<std::string> done) {
//     client.AsyncAsk(std::string(poll.key), std::move(done));
//   }
using DurableAsyncFunction =
    std::function<void(const DurablePoll&, PollCompletion<std::string>)>;

// A wait in a `DurableBatchCall`. Equal if the keys are; keys of one call are
// distinct.
struct DurableKey {
  std::string key = {};
  std::string args = {};
  int64_t fence = 0;  // As in `DurablePoll`.

  friend bool operator==(const DurableKey& a, const DurableKey& b) {
    return a.key == b.key;
  }
  template <typename H>
  friend H AbslHashValue(H state, const DurableKey& wait) {
    return H::combine(std::move(state), wait.key);
  }
};

// One call for many waits. Returns the answers by key; see `BatchPoller::Call`
// (engine/batch_poller.h).
//
//   [&](absl::Span<const waiter::DurableKey> keys) { return AskForAll(keys); }
using DurableBatchCall =
    std::function<absl::StatusOr<BatchAnswer<std::string, std::string>>(
        absl::Span<const DurableKey>)>;

// Takes results. Called with each result until it returns OK: again after a
// crash, after an error (in 1 s, growing to 5 min), and if it is unknown
// whether the store recorded the delivery. It must be idempotent: each result
// has a unique idempotency key.
using DurableHandler = std::function<absl::Status(const DurableResult&)>;

namespace internal {
class DurableWorker;
}  // namespace internal

struct DurableWaitsOptions {
  // Separates the names of programs that share a store: 1 to 64 of the
  // characters A-Z, a-z, 0-9, `_`, `.` and `-`. Names have the same form.
  std::string space = "default";

  // Id of this worker, made of the same characters; empty for a random one. Ids
  // decide which worker claims most often from which partition. Workers with
  // the same id claim from the same partitions, which costs calls but is
  // harmless.
  std::string worker = {};

  // Threads that poll and deliver results. Zero: `RunDue` does both.
  int threads = 1;

  // Number of parts into which the waits of a name are divided; must be the
  // same for all workers and clients of a space. Within [1, 4096]. Up to
  // 100,000 waits in each are fine; an idle worker checks each part a few times
  // per second.
  int64_t partitions = 16;

  // How long a claim is valid. Within [2s, 10min]. Held waits are renewed every
  // third of it; a wait with a longer delay is given back; and no poll begins
  // in the last third.
  Duration lease = absl::Seconds(15);

  // Maximum number of waits that this worker holds, within [1, 1000000], and
  // that it claims in one call, within [1, 1000].
  int64_t max_held = 10'000;
  int64_t claim_batch = 250;

  // How long results are kept, so that `Get` finds them and an `Enqueue` with
  // the same key does not wait again. Within [0, 100 days].
  Duration retain = absl::Hours(24);

  // After two crashes, a wait is polled alone. It fails after this number of
  // such polls that killed their process. Within [1, 100].
  int64_t max_crashes = 3;
};

// Returns OK, or kInvalidArgument with the field, its value and its range.
absl::Status Validate(const DurableWaitsOptions& options);

// Options of one name.
struct DurableNameOptions {
  // Maximum number of waits of the name that this worker holds, which limits
  // its concurrent polls and deliveries and leaves threads to other names. The
  // rest stays in the store, for all workers. Within [1, 1000000].
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
  int64_t delivered = 0;   // Results whose delivery was recorded.
  int64_t lost = 0;        // Waits that were no longer held when written.
  int64_t unreadable = 0;  // Records that are damaged or of newer builds.
  // Last jump of a server's clock by more than a second. It moves deadlines and
  // due times by as much.
  Duration clock_step = absl::ZeroDuration();
  // Error of the last call of the store. While this worker cannot poll a name,
  // the reason: kFailedPrecondition if the store has a different number of
  // partitions, or may delete waits.
  absl::Status last_error;
};

// A worker. Thread-safe, except for `RunDue`.
//
// A child of fork(2) may only destroy its copy, for example by exit(3); this
// gives back none of the parent's waits. The same applies to copies of stores
// and clients.
class DurableWaits {
 public:
  // Returns a worker without names, or the error of `Validate`.
  static absl::StatusOr<std::unique_ptr<DurableWaits>> Make(
      std::shared_ptr<WaitStore> store, const DurableWaitsOptions& options);

  // Waits for polls in flight and gives all waits back, but does not wait for
  // the store to confirm: until it does, or their leases end, no worker can
  // claim them. To avoid that, call `Drain` first.
  ~DurableWaits();

  DurableWaits(const DurableWaits&) = delete;
  DurableWaits& operator=(const DurableWaits&) = delete;

  // Adds a name; call it before `Start`. Without a handler, results are only
  // kept for `Get`. `policy` applies to all waits of the name, which share its
  // rate limiter. A new policy also applies to pending waits, except for their
  // deadlines. Each time that this worker holds a wait, the observer sees it
  // from `OnStart` to `OnDone`, with the attempts and time of the whole wait,
  // and the reason `kCancelled` if the worker gives it back. Returns
  // kInvalidArgument for invalid arguments, and kAlreadyExists for a name that
  // was added before.
  absl::Status Register(const std::string& name, WaitOptions policy,
                        DurableFunction function,
                        DurableHandler handler = nullptr,
                        const DurableNameOptions& options = {});

  // The same, with polls that occupy no thread while they are in flight.
  absl::Status RegisterAsync(const std::string& name, WaitOptions policy,
                             DurableAsyncFunction function,
                             DurableHandler handler = nullptr,
                             const DurableNameOptions& options = {});

  // The same, with calls for many waits, as with a `BatchPoller`.
  absl::Status RegisterBatch(const std::string& name, WaitOptions policy,
                             DurableBatchCall call,
                             const BatchOptions& batches = {},
                             DurableHandler handler = nullptr,
                             const DurableNameOptions& options = {});

  // Begins to claim waits.
  void Start();

  // Stops claiming and gives all waits back, each after its poll or delivery in
  // flight. Then waits until the store no longer counts this worker. Returns
  // within `limit`, with true if the worker holds no waits. Without threads,
  // call `RunDue` elsewhere at the same time, or pass zero and call it
  // afterwards.
  bool Drain(Duration limit);

  DurableWaitsState State() const;

  // As `WaitEngine::RunDue`, for a worker without threads.
  MonotonicTime RunDue();

 private:
  explicit DurableWaits(std::shared_ptr<internal::DurableWorker> worker);

  const std::shared_ptr<internal::DurableWorker> worker_;
};

// Returns the metrics of workers, with the label `worker`, for a page of
// Prometheus (telemetry/metrics.h):
//
//   page = waiter::PrometheusText(*metrics) +
//          waiter::PrometheusText(
//              waiter::DurableMetrics({{"pod-7", waits->State()}}));
//
// Each family appears once, so give all workers of a page in one call.
//
//   waiter.durable.worker.held
//   waiter.durable.worker.claimed, .polls, .ended, .delivered, .lost,
//     .unreadable        counters since the start of the worker
//   waiter.durable.worker.clock_step   seconds
//   waiter.durable.worker.failing      1 if `last_error` is not OK, else 0
std::vector<MetricFamily> DurableMetrics(
    const std::vector<std::pair<std::string, DurableWaitsState>>& workers);

// Returns the metrics of names, with the label `name`. Any process can ask the
// store for the values; one is enough:
//
//   client->Stats("jobs", [&](absl::StatusOr<waiter::DurableStats> stats) {
//     if (stats.ok()) {
//       Keep(waiter::PrometheusText(
//           waiter::DurableMetrics({{"jobs", *std::move(stats)}})));
//     }
//   });
//
//   waiter.durable.pending, .overdue, .undelivered, .kept
//   waiter.durable.oldest   seconds by which a wait is overdue
//   waiter.durable.polls, .enqueued
//   waiter.durable.ended    with the label `reason`
std::vector<MetricFamily> DurableMetrics(
    const std::vector<std::pair<std::string, DurableStats>>& names);

}  // namespace waiter

#endif  // WAITER_DURABLE_WORKER_H_
