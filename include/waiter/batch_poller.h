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
// In a coroutine (coroutine.h):
//
//   waiter::AsyncWaiter key = instances.Prepare("i-0abc", policy);
//   auto got = co_await waiter::Await(engine, std::move(key));
//
// Each key is a wait of its own: it has its own delays, limits and hints, and
// starts and ends while others go on. Only the calls are shared.
// batch_options.h says which keys a call holds.

#ifndef WAITER_BATCH_POLLER_H_
#define WAITER_BATCH_POLLER_H_

#include <concepts>
#include <memory>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "waiter/async_waiter.h"
#include "waiter/batch_answer.h"
#include "waiter/batch_options.h"
#include "waiter/internal/batch_call.h"
#include "waiter/internal/batch_state.h"
#include "waiter/internal/batched_key.h"
#include "waiter/options.h"
#include "waiter/wait_engine.h"
#include "waiter/wait_handle.h"
#include "waiter/wait_policy.h"

namespace waiter {

// `Key` must be copyable, comparable by `==` and hashable by `absl::Hash`. `T`
// is the type of the value of a success, copyable, or void. Thread-safe.
// Several pollers may share an engine.
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
  // An error that the call returns is throttling for each of its keys if the
  // code is kResourceExhausted, otherwise a server error. An exception is a
  // server error, too. So a failed call does not end its waits, unless the
  // error is the limit of another wait (`LimitOf`). If the call can never
  // succeed, answer `Failed(error)` for its keys instead.
  //
  // Runs on a thread of the engine or on its executor, as synchronous status
  // functions do. If there are several threads, it must be safe to call
  // concurrently.
  using Call = internal::BatchCall<Key, T>;

  // `engine` must outlive the calls of `Start`. Never fails: if `options` are
  // invalid or `call` is empty, every wait ends with kInvalidArgument.
  BatchPoller(WaitEngine& engine, Call call, BatchOptions options = {})
      : engine_(engine),
        state_(std::make_shared<internal::BatchState<Key, T>>(
            engine, std::move(call), options)) {}

  // Blocks until the calls under way have returned, except a call that destroys
  // this itself. Makes no call afterwards: pending waits fail with kCancelled
  // at their next poll (`StopReason::kFailed`). To avoid their callbacks,
  // destroy their handles first. Terminates the program if memory runs out.
  ~BatchPoller() { state_->Close(); }

  BatchPoller(const BatchPoller&) = delete;
  BatchPoller& operator=(const BatchPoller&) = delete;

  // Starts a wait for `key`, as `WaitEngine::Start` does. If `absl::StrCat`
  // takes a `Key`, the name of the wait is that of the options and the key.
  //
  // A poll of this wait joins the next call. It lasts from then to the end of
  // the call, and the wait awaits it even beyond the deadline, except while a
  // `BatchOptions::rate_limiter` holds the call up. If the deadline is before
  // the end of the window, the call is made at once. A wait that ends before
  // the call leaves it. Waits for equal keys appear in a call once and get
  // equal answers.
  template <typename Callback>
  requires WaitCallback<Callback, T> WaitHandle Start(Key key,
                                                      WaitOptions options,
                                                      Callback callback) {
    return Start(std::move(key), WaitPolicy::Make(std::move(options)),
                 std::move(callback));
  }

  // The same with a policy that other waits share. `policy` must not be null.
  template <std::same_as<std::shared_ptr<const WaitPolicy>> Policy,
            typename Callback>
  requires WaitCallback<Callback, T> WaitHandle Start(Key key, Policy policy,
                                                      Callback callback) {
    if constexpr (internal::TextualKey<Key>) {
      std::string name = internal::NameOfKey(policy->options().name, key);
      return engine_.Start(std::move(name),
                           Prepare(std::move(key), std::move(policy)),
                           std::move(callback));
    } else {
      return engine_.Start(Prepare(std::move(key), std::move(policy)),
                           std::move(callback));
    }
  }

  // Returns a wait for `key` that is not started yet, for a coroutine or a
  // group on the same engine. Start it soon: to decide whether the wait can
  // await the end of a window, the poller counts its deadline from this call.
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

#endif  // WAITER_BATCH_POLLER_H_
