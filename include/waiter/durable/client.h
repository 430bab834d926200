// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// The side that asks for durable waits, in any process; workers
// (durable/worker.h) poll them:
//
//   auto client = waiter::DurableClient::Make(store, {.space = "prod"});
//   if (!client.ok()) return client.status();
//   (*client)->Enqueue("instance-running",
//                      {.key = "i-0abc", .args = "eu-west-1"},
//                      [](absl::StatusOr<bool> created) { ... });
//
// A wait has a name, which says how it is polled, and a key. An `Enqueue` with
// a known key joins the existing wait, or finds its result until that is
// forgotten; so an `Enqueue` whose outcome is unknown may be repeated.
//
// `DurableClient` also notifies, cancels, lists and counts waits.
// `CheckDurableWaits` finds and repairs damage in the store, and
// `MoveDurableWaits` moves waits to another store.

#ifndef WAITER_DURABLE_CLIENT_H_
#define WAITER_DURABLE_CLIENT_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "waiter/clock.h"
#include "waiter/durable/store.h"
#include "waiter/engine/async_waiter.h"
#include "waiter/result.h"

namespace waiter {

// How a durable wait ended:
//
//   absl::Status OnResult(const waiter::DurableResult& result) {
//     if (!result.value.ok()) {
//       return Escalate(result.key, result.value.status());
//     }
//     return Insert(result.idempotency_key, *result.value);
//   }
struct DurableResult {
  std::string name;
  std::string key;

  // The value of the success, or an error with the code of `reason`, as in a
  // `WaitResult`. Its message is cut to 1000 bytes.
  absl::StatusOr<std::string> value = absl::UnknownError("");
  StopReason reason = StopReason::kFailed;

  int64_t attempts = 0;
  // From the enqueue to the end, by the store's clock.
  absl::Duration elapsed;

  // Unique to this result, and equal in all its deliveries.
  std::string idempotency_key;
  // Ordinal of this delivery, from 1, as far as the store knows.
  int64_t delivery = 1;
};

namespace internal {
class DurableClientImpl;
}  // namespace internal

struct DurableClientOptions {
  // Same as the workers'.
  std::string space = "default";
  int64_t partitions = 16;

  // Maximum number of pending waits of a name; at least 1. Counted by
  // partition, so a partition that is much fuller than others refuses waits
  // earlier.
  int64_t max_pending = 10'000'000;
};

struct DurableRequest {
  std::string key;  // 1 to 128 bytes.
  // For the status function, at most 16 KiB. Stored unencrypted: no secrets.
  std::string args = {};
  // Replaces the policy's timeout; counts from the enqueue. Within [0, 100
  // years]; zero polls once.
  OptionalDuration timeout = std::nullopt;
  // Within [0, 100 years]. A delay beyond the timeout still applies; then the
  // first poll is also the last.
  Duration first_delay = absl::ZeroDuration();
};

// State of a wait.
struct DurableStatus {
  enum class Phase : uint8_t {
    kUnknown,  // Never enqueued, or forgotten.
    kPending,
    kEnded,      // Its result is being delivered.
    kDelivered,  // Its result is kept.
  };

  std::string key;
  Phase phase = Phase::kUnknown;
  bool is_held = false;  // A worker polls it, or delivers its result.
  bool is_cancelled = false;
  absl::Time enqueued = absl::InfinitePast();
  // When a pending wait is due, or when the lease of its holder ends.
  absl::Time due = absl::InfiniteFuture();
  int64_t attempts = 0;
  std::string args = {};
  // Text of the last poll of a pending wait, for people.
  std::string last_poll = {};
  std::optional<DurableResult> result = std::nullopt;
};

// Returns "unknown", "pending", "ended" or "delivered".
std::string_view ToString(DurableStatus::Phase phase);

// Counts over all partitions of a name.
struct DurableStats {
  int64_t pending = 0;      // Including waits whose result is undelivered.
  int64_t undelivered = 0;  // The pending ones that have a result.
  int64_t overdue = 0;      // Due for more than 2 s.
  absl::Duration oldest = absl::ZeroDuration();  // Longest time overdue.
  int64_t kept = 0;                              // Results that were delivered.
  int64_t polls = 0;  // Since the name was created; workers report late.
  // "enqueued", and every reason for an end: "success", "deadline" and so on.
  std::vector<std::pair<std::string, int64_t>> counters;
};

// Names and workers of a space.
struct DurableSpace {
  // Names that clients or workers have used, each with its number of
  // partitions.
  std::vector<std::pair<std::string, int64_t>> names;
  int64_t workers = 0;  // Live workers of all names.
};

// Thread-safe. No call blocks. Callbacks run exactly once, on the thread of the
// store, never before the call has returned, and must return soon. Errors are
// the store's, kInvalidArgument for invalid names, keys and options,
// kResourceExhausted from `Enqueue` if there is no room, and
// kFailedPrecondition if the store may delete waits or has a different number
// of partitions for the name.
class DurableClient {
 public:
  template <typename T>
  using Callback = std::function<void(absl::StatusOr<T>)>;

  // Returns a client, or kInvalidArgument.
  static absl::StatusOr<std::unique_ptr<DurableClient>> Make(
      std::shared_ptr<WaitStore> store, const DurableClientOptions& options);
  ~DurableClient();

  DurableClient(const DurableClient&) = delete;
  DurableClient& operator=(const DurableClient&) = delete;

  // Passes `callback` whether the wait is new.
  void Enqueue(const std::string& name, DurableRequest request,
               Callback<bool> callback);
  // Passes `callback` the number of new waits. On an error, some may have been
  // enqueued.
  void EnqueueMany(const std::string& name,
                   std::vector<DurableRequest> requests,
                   Callback<int64_t> callback);

  // Asks that the wait end as cancelled. It ends within a third of a lease, or
  // after the poll in flight. Passes its state to `callback`.
  void Cancel(const std::string& name, const std::string& key,
              Callback<DurableStatus> callback);

  // Polls a pending wait immediately, because something has changed: a webhook
  // came, or another wait ended. The poll begins within about a second, or when
  // the poll in flight has ended. The regular polls continue, so a lost
  // notification costs only time. Passes its state to `callback`.
  void Notify(const std::string& name, const std::string& key,
              Callback<DurableStatus> callback);
  // Forgets a delivered result, so that an `Enqueue` with its key waits again.
  // Has no effect before the delivery. Passes the new state to `callback`.
  void Forget(const std::string& name, const std::string& key,
              Callback<DurableStatus> callback);
  void Get(const std::string& name, const std::string& key,
           Callback<DurableStatus> callback);

  // Returns a status function that succeeds with the result of the wait:
  //
  //   engine.Start(
  //       waiter::AsyncWaiter(client->Result("instance-running", "i-0abc"),
  //                           {.timeout = absl::Minutes(40)}),
  //       [](waiter::WaitResult<waiter::DurableResult> result) { ... });
  //
  // It also succeeds if the wait has failed: `DurableResult::value` says so. It
  // fails if the wait does not exist or is forgotten. Each poll is a call of
  // the store, so choose delays of a second or more. May outlive the client.
  std::function<void(PollCompletion<DurableResult>)> Result(
      const std::string& name, const std::string& key);

  // One step through the waits of a name, pending and kept, in no particular
  // order. Begin with an empty cursor; stop when an empty one is returned. A
  // wait may appear twice. Any other cursor causes kInvalidArgument or an error
  // of the store.
  struct Listed {
    std::vector<DurableStatus> waits;
    std::string cursor;
  };
  void List(const std::string& name, const std::string& cursor,
            Callback<Listed> callback);

  void Stats(const std::string& name, Callback<DurableStats> callback);
  void Describe(Callback<DurableSpace> callback);

 private:
  explicit DurableClient(std::shared_ptr<internal::DurableClientImpl> impl);

  const std::shared_ptr<internal::DurableClientImpl> impl_;
};

struct DurableCheckOptions {
  // Same as the workers'.
  std::string space = "default";
  int64_t partitions = 16;

  // Removes leftovers of waits that are gone. A record that is neither pending
  // nor kept becomes due immediately: its wait is polled again, or its result
  // delivered again. A result that was already delivered is kept for another
  // day. Counters are corrected.
  bool repairs = false;
};

// Something that is wrong with a wait.
struct DurableFinding {
  WaitFault fault = WaitFault::kNoRecord;
  int partition = 0;
  std::string key = {};  // Empty for `kMiscounted`.
  // For `kMiscounted`, the number of missing waits; negative: surplus waits.
  int64_t missing = 0;
};

struct DurableCheckReport {
  // The servers of the partitions, each once.
  std::vector<WaitServer> servers;

  int64_t records = 0;  // Records that were examined.

  // The first thousand findings, and the number of all findings. `repairs`
  // covers all.
  std::vector<DurableFinding> findings;
  int64_t found = 0;

  // Partitions that changed while they were counted. Of their counters, only
  // gross errors are found.
  int64_t uncounted = 0;

  bool is_clean() const;
};

// Returns "no-record" and so on, for programs.
std::string_view ToString(WaitFault fault);
// Returns one line for people: the fault and its meaning. The key is not
// escaped.
std::string ToString(const DurableFinding& finding);

// Looks for damage to the durable waits of a name and for dangerous server
// settings, and can repair the damage:
//
//   waiter::CheckDurableWaits(
//       store, "instance-running", {.space = "prod", .repairs = true},
//       [](absl::StatusOr<waiter::DurableCheckReport> report) {
//         if (!report.ok()) return Complain(report.status());
//         for (const waiter::DurableFinding& finding : report->findings) {
//           LOG(ERROR) << waiter::ToString(finding);
//         }
//       });
//
// The store keeps each wait in several structures, which change together. They
// disagree only if another program wrote to them, or if part of them was
// evicted or lost. Workers and clients may continue during the check: the
// structures of a wait are compared at one moment, and again before damage is
// reported or repaired. `waiter durable check` does this on the command line.
//
// Calls back once, as the functions of `DurableClient` do, with the same
// errors. However, server settings that endanger waits are faults in the
// report, not errors; if the server is unusable, the report ends there. Makes
// one call to the store at a time. The calls take the server about 3 ms for
// each 1000 waits.
void CheckDurableWaits(
    std::shared_ptr<WaitStore> store, const std::string& name,
    const DurableCheckOptions& options,
    std::function<void(absl::StatusOr<DurableCheckReport>)> callback);

struct DurableMoveOptions {
  // Same as the workers'.
  std::string space = "default";
  // For a name that is new in the other store.
  int64_t partitions = 16;
};

struct DurableMoveReport {
  int64_t moved = 0;
  // Waits that stay. Move held waits again once the leases of the workers that
  // died have ended; let a worker deliver the undelivered ones.
  int64_t held = 0;
  int64_t undelivered = 0;
  // Keys, at most 1000, of waits that stay because the other store has a wait
  // with the same key but different args.
  std::vector<std::string> conflicts;
};

// Moves the pending waits of a name to another store, with their attempts,
// delays, deadlines, and requests to cancel:
//
//   waiter::MoveDurableWaits(redis, postgres, "instance-running",
//                            {.space = "prod"}, [](auto report) { ... });
//
// `from` must have no live workers; `to` may. An interrupted move leaves each
// wait in one store or both, and the next move completes it; in between,
// workers of `from` would poll some waits early. Delivered results and
// notifications are not moved.
//
// Calls back once, as the functions of `DurableClient` do, with the same
// errors, kFailedPrecondition if `from` has workers, kNotFound for an unknown
// name, and kInvalidArgument if both stores are the same.
void MoveDurableWaits(
    std::shared_ptr<WaitStore> from, std::shared_ptr<WaitStore> to,
    const std::string& name, const DurableMoveOptions& options,
    std::function<void(absl::StatusOr<DurableMoveReport>)> callback);

}  // namespace waiter

#endif  // WAITER_DURABLE_CLIENT_H_
