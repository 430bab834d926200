// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// Waits whose status is asked for many at a time, as the Describe calls of
// cloud services do:
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
// Each key is a wait of its own: its delays, limits and hints are its own, and
// waits start and end while others go on. Only the calls are shared.

#ifndef WAITER_BATCH_POLLER_H_
#define WAITER_BATCH_POLLER_H_

#include <concepts>
#include <memory>
#include <utility>

#include "waiter/async_waiter.h"
#include "waiter/batch_options.h"
#include "waiter/internal/batch_call.h"
#include "waiter/internal/batch_state.h"
#include "waiter/internal/batched_key.h"
#include "waiter/options.h"
#include "waiter/wait_engine.h"
#include "waiter/wait_handle.h"
#include "waiter/wait_policy.h"

namespace waiter {

// `Key` is copied into calls and hashed; `T` is what a success brings. Both are
// copyable. Thread-safe; several pollers may share an engine.
template <typename Key, typename T = void>
class BatchPoller {
 public:
  // Asks for keys, which are distinct, at least one and at most `max_batch`.
  // Keys that are missing from the answer are not ready; others that are in it
  // are ignored. An error is a server error of each key, whatever its code, but
  // kResourceExhausted throttles each. So a call that can never work should
  // answer `Failed` for its keys. An exception is a server error as well.
  //
  // Runs where synchronous status functions do: on the engine's thread, or on
  // its executor. With more than one thread, several calls run at a time.
  using Call = internal::BatchCall<Key, T>;

  // `engine` must outlive the calls of `Start`. Invalid options are reported by
  // every wait, as is an empty call.
  BatchPoller(WaitEngine& engine, Call call, BatchOptions options = {})
      : engine_(engine),
        state_(std::make_shared<internal::BatchState<Key, T>>(
            engine, std::move(call), options)) {}

  // Awaits the calls under way, unless one of them destroys this; none is made
  // after that. Waits that are left fail with kCancelled when they are next
  // polled. Destroy their handles before to hear nothing.
  ~BatchPoller() { state_->Close(); }

  BatchPoller(const BatchPoller&) = delete;
  BatchPoller& operator=(const BatchPoller&) = delete;

  // Starts a wait for `key`, as `WaitEngine::Start` does. A poll joins the next
  // call. It takes from then to the end of the call, and is awaited however
  // long that is; but it does not wait for the end of the window if that is
  // after its deadline. A wait that ends meanwhile drops out. Waits for equal
  // keys are asked for once and get equal answers.
  template <typename Callback>
  requires WaitCallback<Callback, T> WaitHandle Start(Key key,
                                                      WaitOptions options,
                                                      Callback callback) {
    return Start(std::move(key), WaitPolicy::Make(std::move(options)),
                 std::move(callback));
  }

  // Shares `policy`, not null, with other waits.
  template <std::same_as<std::shared_ptr<const WaitPolicy>> Policy,
            typename Callback>
  requires WaitCallback<Callback, T> WaitHandle Start(Key key, Policy policy,
                                                      Callback callback) {
    return engine_.Start(Prepare(std::move(key), std::move(policy)),
                         std::move(callback));
  }

  // Makes a wait for `key` that is not started yet, for a coroutine or a group
  // on the same engine. It starts soon, as its deadline is foreseen from now.
  AsyncWaiter<internal::BatchedKey<Key, T>> Prepare(
      Key key, std::shared_ptr<const WaitPolicy> policy) {
    policy = WaitPolicy::Checked(std::move(policy), state_->status());
    internal::BatchedKey<Key, T> ask(state_, std::move(key), *policy);
    return {std::move(ask), std::move(policy)};
  }

 private:
  WaitEngine& engine_;
  std::shared_ptr<internal::BatchState<Key, T>> state_;
};

}  // namespace waiter

#endif  // WAITER_BATCH_POLLER_H_
