// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// Waits that share calls: one call polls many keys, as the Describe calls of
// cloud services do.
//
//   waiter::BatchPoller<std::string, Instance> instances(
//       engine,
//       [&](absl::Span<const std::string> ids)
//           -> absl::StatusOr<waiter::BatchAnswer<std::string, Instance>> {
//         absl::StatusOr<std::vector<Instance>> got = client.Describe(ids);
//         if (!got.ok()) return got.status();
//         waiter::BatchAnswer<std::string, Instance> answer;
//         for (Instance& instance : *got) {
//           if (instance.state != "RUNNING") continue;  // Not ready.
//           answer.emplace(instance.id, waiter::Success(instance));
//         }
//         return answer;
//       },
//       {.max_batch = 100, .window = absl::Milliseconds(200)});
//
//   waiter::WaitHandle wait = instances.Start("i-0abc", policy, Use);
//
// In a coroutine (engine/coroutine.h):
//
//   waiter::AsyncWaiter key = instances.Prepare("i-0abc", policy);
//   auto got = co_await waiter::Await(engine, std::move(key));
//
// Each key is a separate wait, with its own delays, limits and `retry_after`,
// and starts and ends independently of the others. Only the calls are shared.
// `BatchOptions` says which keys a call holds.

#ifndef WAITER_ENGINE_BATCH_POLLER_H_
#define WAITER_ENGINE_BATCH_POLLER_H_

#include <concepts>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/time/time.h"
#include "absl/types/span.h"
#include "waiter/clock.h"
#include "waiter/engine/async_waiter.h"
#include "waiter/engine/engine.h"
#include "waiter/engine/handle.h"
#include "waiter/engine/internal/batch_call.h"
#include "waiter/engine/internal/batch_state.h"
#include "waiter/engine/internal/batched_key.h"
#include "waiter/options.h"
#include "waiter/policy.h"
#include "waiter/poll.h"
#include "waiter/version.h"

namespace waiter {

// The answer of one call of a `BatchPoller`:
//
//   waiter::BatchAnswer<std::string, Instance> answer;
//   for (const Description& found : response.instances()) {
//     if (found.state == "RUNNING") {
//       answer.emplace(found.id, waiter::Success(ToInstance(found)));
//     } else if (found.state == "TERMINATED") {
//       answer.emplace(found.id, waiter::Failed("terminated"));
//     } else {
//       answer.emplace(found.id, waiter::NotReady(found.state));
//     }
//   }
//   return answer;
//
// A call that needs no value uses the default type:
//
//   waiter::BatchAnswer<std::string> answer;
//   answer.emplace("i-0abc", waiter::PollStatus::kSuccess);
//
// A map from a key to the answer of its poll. Each entry counts as one poll of
// every wait for that key, with its own status, value, error and `retry_after`:
// one key may be throttled while another one succeeds.
//
// A key of the call without an entry is not ready, so an answer may list only
// the keys about which the server said something. Entries for keys that were
// not in the call are ignored. An error that concerns all keys is not an
// answer: the call returns it as an `absl::Status` instead.
//
// The order of the entries has no meaning. If a key is emplaced twice, the
// first entry stays.
//
// `Key` must be copyable, comparable by `==` and hashable by `absl::Hash`.
// Waits for equal keys get copies of the entry, so `T` must be copyable.
template <typename Key, typename T = void>
using BatchAnswer = absl::flat_hash_map<Key, Poll<T>>;

// Returns an answer with `poll` for each of `keys`. Use it when an
// `absl::Status` for the whole call cannot say enough, such as a server's
// `retry_after`:
//
//   if (response.code == 429) {
//     return waiter::AnswerForAll<Instance>(
//         ids, waiter::Throttled("429", response.retry_after));
//   }
//
// `T` must be given, unless it is void.
template <typename T = void, typename Key>
BatchAnswer<Key, T> AnswerForAll(absl::Span<const Key> keys,
                                 const Poll<T>& poll) {
  BatchAnswer<Key, T> answer;
  answer.reserve(keys.size());
  for (const Key& key : keys) answer.emplace(key, poll);
  return answer;
}

class RateLimiter;

// Options of a `BatchPoller`. Set `max_batch` to the limit of the server, and
// `window` to the delay that you accept for fewer calls. Invalid options end
// every wait of the poller with kInvalidArgument.
//
// Waits that stay in step, for example because they start together without
// jitter, need no window: a call holds the keys that are due at the same
// moment.
//
//   waiter::BatchOptions{.max_batch = 100};
//
// Waits that start at different times need a window: a fraction of the usual
// delay between two polls of a key. With delays of 2 s, this window lengthens
// the time between two polls by up to a tenth, and a call holds the keys that
// become due within 200 ms, about a tenth of all:
//
//   waiter::BatchOptions{.max_batch = 100, .window = absl::Milliseconds(200)};
//
// Servers limit the number of calls, not of keys. A limiter of the poller
// counts calls:
//
//   waiter::BatchOptions{.max_batch = 100, .rate_limiter = limiter};
struct BatchOptions {
  // Maximum number of keys in one call. At least 1. A full batch is polled
  // immediately. Further keys go into the next call, which may run at the same
  // time on an engine with several threads.
  int64_t max_batch = 100;

  // How long the first key of a batch waits for others. Finite, zero or more. A
  // longer window means fewer calls and later answers. Each poll takes up to
  // this much longer, as if the server were that slow; reports count the time
  // as the poll's. A key whose deadline is before the end of the window ends
  // the window immediately.
  Duration window = absl::ZeroDuration();

  // Every call passes this limiter once, with any number of keys. Null: no
  // limit. Other pollers, and waits of other policies
  // (`BudgetOptions::rate_limiter`), may share it. A wait of this poller with
  // the same limiter, which would also count its keys, ends with
  // kInvalidArgument.
  //
  // While a call waits for its turn, further keys join it until it is full.
  // Calls begin in the order in which they were due, and may be in flight at
  // the same time. The time until a call begins counts toward its polls. A key
  // may leave the call before then: a stop ends its wait immediately, and so
  // does its deadline, as if the server did not answer. A poll that begins at
  // the deadline has `PollContext::timeout` for its call to begin.
  //
  // After each call, the poller updates the limiter once, as throttled if the
  // call returns kResourceExhausted or throttles a key. A `retry_after` delays
  // only the key whose answer has it; the limiter delays all calls that follow.
  std::shared_ptr<RateLimiter> rate_limiter = nullptr;
};

// Returns OK, or kInvalidArgument with the field, its value and its range.
absl::Status Validate(const BatchOptions& options);

// Starts waits that share calls. `Key` and `T` must meet `BatchAnswer`'s
// requirements. Thread-safe. Several pollers may share an engine.
template <typename Key, typename T = void>
class BatchPoller {
 public:
  // `std::function<absl::StatusOr<BatchAnswer<Key, T>>(absl::Span<const Key>)>`
  //
  // Polls the keys of its argument, which are distinct, at least one and at
  // most `max_batch`. The span is valid during the call. A key that is missing
  // from the answer is not ready. An entry for a key that was not in the call
  // is ignored.
  //
  // An error that the call returns counts for its keys as throttled if it is
  // kResourceExhausted, otherwise as a server error. An exception is also a
  // server error. So a failed call does not end its waits, unless the error is
  // the limit of another wait (`LimitOf`). If the call can never succeed,
  // answer `Failed(error)` for its keys instead.
  //
  // Runs on a thread of the engine or on its executor, as synchronous status
  // functions do. If there are several threads, it must be safe to call
  // concurrently.
  using Call = internal::BatchCall<Key, T>;

  // `engine` must outlive calls to `Start`. Never fails: if `options` are
  // invalid or `call` is empty, every wait ends with kInvalidArgument.
  BatchPoller(WaitEngine& engine, Call call, BatchOptions options = {})
      : engine_(engine),
        state_(std::make_shared<internal::BatchState<Key, T>>(
            engine, std::move(call), options)) {}

  // Blocks until the calls in flight have returned, except for a call that
  // itself destroys this. Makes no call afterwards: pending waits fail with
  // kCancelled at their next poll (`StopReason::kFailed`). To avoid their
  // callbacks, destroy their handles first. Terminates the program if memory
  // runs out.
  ~BatchPoller() { state_->Close(); }

  BatchPoller(const BatchPoller&) = delete;
  BatchPoller& operator=(const BatchPoller&) = delete;

  // Starts a wait for `key`, as `WaitEngine::Start` does. If `absl::StrCat`
  // takes a `Key`, the name of the wait is the name of the policy and the key,
  // unless `options` has a name.
  //
  // A poll of this wait joins the next call. It lasts from then to the end of
  // the call, and the wait awaits it even beyond the deadline, except while a
  // `BatchOptions::rate_limiter` holds the call up. If the deadline is before
  // the end of the window, the call is made immediately. A wait that ends
  // before the call leaves it. Waits for equal keys appear in a call once and
  // get equal answers.
  template <typename Callback>
  requires WaitCallback<Callback, T> WaitHandle
  Start(Key key, WaitOptions policy, Callback callback,
        StartOptions options = {}) {
    return Start(std::move(key), WaitPolicy::Make(std::move(policy)),
                 std::move(callback), std::move(options));
  }

  // Takes a policy that waits can share. `policy` must not be null.
  template <std::same_as<std::shared_ptr<const WaitPolicy>> Policy,
            typename Callback>
  requires WaitCallback<Callback, T> WaitHandle
  Start(Key key, Policy policy, Callback callback, StartOptions options = {}) {
    if constexpr (internal::TextualKey<Key>) {
      if (options.name.empty()) {
        options.name = internal::NameOfKey(policy->options().name, key);
      }
    }
    return engine_.Start(Prepare(std::move(key), std::move(policy)),
                         std::move(callback), std::move(options));
  }

  // Returns a wait for `key` that is not started yet, for a coroutine or a
  // group on the same engine. Start it soon: to decide whether the wait can
  // await the end of a window, the poller counts the deadline from this call.
  // The wait can be moved but not copied. `policy` must not be null.
  AsyncWaiter<internal::BatchedKey<Key, T>> Prepare(
      Key key, std::shared_ptr<const WaitPolicy> policy) {
    absl::Status status = state_->StatusFor(*policy);
    policy = WaitPolicy::Checked(std::move(policy), std::move(status));
    internal::BatchedKey<Key, T> status_function(state_, std::move(key),
                                                 *policy);
    return {std::move(status_function), std::move(policy)};
  }

 private:
  WaitEngine& engine_;
  std::shared_ptr<internal::BatchState<Key, T>> state_;
};

}  // namespace waiter

#endif  // WAITER_ENGINE_BATCH_POLLER_H_
