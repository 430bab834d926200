// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// The side that asks for durable waits (distributed/durable_waits.h), in any
// process:
//
//   auto client = waiter::DurableClient::Make(store, {.space = "prod"});
//   if (!client.ok()) return client.status();
//   (*client)->Enqueue("instance-running",
//                      {.key = "i-0abc", .args = "eu-west-1"},
//                      [](absl::StatusOr<bool> created) { ... });
//
// A wait has a name, which says how it is polled, and a key. An equal key joins
// the wait that is there, or finds its result until that is forgotten; so an
// `Enqueue` whose outcome is not known may be repeated.

#ifndef WAITER_DISTRIBUTED_DURABLE_CLIENT_H_
#define WAITER_DISTRIBUTED_DURABLE_CLIENT_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "waiter/distributed/durable_result.h"
#include "waiter/distributed/wait_store.h"
#include "waiter/poll_completion.h"

namespace waiter {

namespace internal {
class DurableDesk;
}  // namespace internal

struct DurableClientOptions {
  // As of the workers.
  std::string space = "default";
  int64_t partitions = 16;

  // Pending waits of one name; more are refused. At least 1. Counted by
  // partition, so that one that is much fuller than others refuses earlier.
  int64_t max_pending = 10'000'000;
};

struct DurableRequest {
  std::string key;  // 1 to 128 bytes.
  // For the status function, at most 16 KiB. Stored as they are: no secrets.
  std::string args = {};
  // In place of that of the policy; counts from the enqueue. Within [0, 100
  // years]; zero polls once.
  std::optional<absl::Duration> timeout = std::nullopt;
  // Within [0, 100 years]. One beyond the timeout still delays the first poll,
  // which is then the last one.
  absl::Duration first_delay = absl::ZeroDuration();
};

// What is known of a wait.
struct DurableStatus {
  enum class Phase : uint8_t {
    kUnknown,  // Never enqueued, or forgotten.
    kPending,
    kEnded,      // Its result is being delivered.
    kDelivered,  // And kept.
  };

  std::string key;
  Phase phase = Phase::kUnknown;
  bool is_held = false;  // A worker polls it, or delivers its result.
  bool is_cancelled = false;
  absl::Time enqueued = absl::InfinitePast();
  // Of a pending wait: when it is due, or when the lease of its holder ends.
  absl::Time due = absl::InfiniteFuture();
  int64_t attempts = 0;
  std::string args = {};
  // What the last poll of a pending wait found, for people.
  std::string last_poll = {};
  std::optional<DurableResult> result = std::nullopt;
};

// "unknown", "pending", "ended" or "delivered".
std::string_view ToString(DurableStatus::Phase phase);

// Of all partitions of a name.
struct DurableStats {
  int64_t pending = 0;      // Also those whose result is not delivered yet.
  int64_t undelivered = 0;  // Those of them that have a result.
  int64_t overdue = 0;      // For more than 2 s.
  absl::Duration oldest = absl::ZeroDuration();  // By which one is overdue.
  int64_t kept = 0;                              // Results that were delivered.
  int64_t polls = 0;  // Since the name exists; workers tell the store late.
  // "enqueued", and the reasons of ends, "success", "deadline" and so on.
  std::vector<std::pair<std::string, int64_t>> counters;
};

// Names and workers of a space.
struct DurableSpace {
  // Those that clients or workers have used, with their partitions.
  std::vector<std::pair<std::string, int64_t>> names;
  int64_t workers = 0;  // That live, of all names.
};

// Thread-safe. No call blocks. Callbacks come exactly once, on the thread of
// the store, never before the call has returned, and must return soon. Errors:
// those of the store; kInvalidArgument for names, keys and options;
// kResourceExhausted from `Enqueue` if there is no room; kFailedPrecondition if
// the name has another number of partitions in the store, or if the store may
// delete waits.
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

  // Passes on whether the wait is new.
  void Enqueue(const std::string& name, DurableRequest request,
               Callback<bool> callback);
  // The number of those that are new. On an error, some may have been enqueued.
  void EnqueueMany(const std::string& name,
                   std::vector<DurableRequest> requests,
                   Callback<int64_t> callback);

  // Asks that the wait ends as cancelled, which it does at the end of the poll
  // that is under way, or a third of a lease later. Passes on how it stands.
  void Cancel(const std::string& name, const std::string& key,
              Callback<DurableStatus> callback);
  void Get(const std::string& name, const std::string& key,
           Callback<DurableStatus> callback);

  // Returns a status function that succeeds with the result of the wait, for
  // anyone who waits for it:
  //
  //   engine.Start(
  //       waiter::AsyncWaiter(client->Result("instance-running", "i-0abc"),
  //                           {.timeout = absl::Minutes(40)}),
  //       [](waiter::WaitResult<waiter::DurableResult> result) { ... });
  //
  // It also succeeds if the wait has failed: `DurableResult::value` says so. It
  // fails if there is no such wait, or none any more. Each poll is a call of
  // the store, so choose delays of a second or more. May outlive the client.
  std::function<void(PollCompletion<DurableResult>)> Result(
      const std::string& name, const std::string& key);

  // One step through the waits of a name, pending and kept, in no order. Begin
  // with an empty cursor; an empty one comes back at the end. A wait may come
  // twice. A cursor that did not come from here is kInvalidArgument, or an
  // error of the store.
  struct Listed {
    std::vector<DurableStatus> waits;
    std::string cursor;
  };
  void List(const std::string& name, const std::string& cursor,
            Callback<Listed> callback);

  void Stats(const std::string& name, Callback<DurableStats> callback);
  void Describe(Callback<DurableSpace> callback);

 private:
  explicit DurableClient(std::shared_ptr<internal::DurableDesk> desk);

  const std::shared_ptr<internal::DurableDesk> desk_;
};

}  // namespace waiter

#endif  // WAITER_DISTRIBUTED_DURABLE_CLIENT_H_
