// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// The status function of the waits of a `BatchPoller` (engine/batch_poller.h).

#ifndef WAITER_ENGINE_INTERNAL_BATCHED_KEY_H_
#define WAITER_ENGINE_INTERNAL_BATCHED_KEY_H_

#include <atomic>
#include <concepts>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "absl/strings/str_cat.h"
#include "waiter/engine/async_waiter.h"
#include "waiter/engine/internal/batch_state.h"
#include "waiter/internal/string_views.h"
#include "waiter/policy.h"

namespace waiter::internal {

// Whether a key can be part of a name.
template <typename Key>
concept TextualKey = std::convertible_to<const Key&, absl::AlphaNum> ||
    std::convertible_to<const Key&, std::string_view>;

// Returns the name of the wait for `key`, whose policy is called `name`.
template <TextualKey Key>
std::string NameOfKey(const std::string& name, const Key& key) {
  if constexpr (std::convertible_to<const Key&, absl::AlphaNum>) {
    return absl::StrCat(name, " ", key);
  } else {
    return absl::StrCat(name, " ", ToAbsl(key));
  }
}

// An asynchronous status function that joins the next call. Movable. It exists
// as long as the wait, and keeps its key registered with the poller.
template <typename Key, typename T>
class BatchedKey {
 public:
  BatchedKey(std::shared_ptr<BatchState<Key, T>> state, Key key,
             const WaitPolicy& policy)
      : wait_(std::make_unique<typename BatchState<Key, T>::Wait>(
            std::move(state), std::move(key), policy)) {}

  void operator()(PollCompletion<T> done) { wait_->Poll(std::move(done)); }

  // Every call ends, so the answer is certain once nothing holds the call up.
  bool IsAwaited() const {
    return wait_->is_awaited.load(std::memory_order_acquire);
  }

 private:
  std::unique_ptr<typename BatchState<Key, T>::Wait> wait_;
};

}  // namespace waiter::internal

#endif  // WAITER_ENGINE_INTERNAL_BATCHED_KEY_H_
