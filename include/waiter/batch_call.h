// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// The call of a `BatchPoller` (batch_poller.h), and how its answer reaches
// those who asked.

#ifndef WAITER_BATCH_CALL_H_
#define WAITER_BATCH_CALL_H_

#include <cstddef>
#include <exception>
#include <functional>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "waiter/batch_queue.h"
#include "waiter/poll.h"
#include "waiter/poll_completion.h"

namespace waiter {

// What a call found of its keys.
template <typename Key, typename T = void>
using BatchAnswer = absl::flat_hash_map<Key, Poll<T>>;

template <typename Key, typename T>
using BatchCall =
    std::function<absl::StatusOr<BatchAnswer<Key, T>>(absl::Span<const Key>)>;

// Who gets the answer for the key of this place in the call.
template <typename T>
struct BatchAsker {
  size_t place;
  PollCompletion<T> done;
};

// Returns what `call` does; an exception is an error.
template <typename Key, typename T>
absl::StatusOr<BatchAnswer<Key, T>> TryBatchCall(const BatchCall<Key, T>& call,
                                                 const std::vector<Key>& keys) {
  try {
    return call(keys);
  } catch (const std::exception& exception) {
    return absl::UnknownError(
        absl::StrCat("the batch call threw: ", exception.what()));
  } catch (...) {
    return absl::UnknownError("the batch call threw");
  }
}

// Answers all askers, who are in the order of `keys`.
template <typename Key, typename T>
void DistributeBatch(absl::StatusOr<BatchAnswer<Key, T>> answer,
                     const std::vector<Key>& keys,
                     const std::vector<BatchAsker<T>>& askers) {
  if (!answer.ok()) {
    const waiter::Poll<T> failure = FromCallError(answer.status());
    for (const BatchAsker<T>& asker : askers) asker.done(failure);
    return;
  }
  for (size_t i = 0; i < askers.size(); ++i) {
    const size_t place = askers[i].place;
    const auto found = answer->find(keys[place]);
    if (found == answer->end()) {
      askers[i].done(waiter::Poll<T>(NotReady("not in answer")));
    } else if (i + 1 < askers.size() && askers[i + 1].place == place) {
      askers[i].done(found->second);
    } else {
      askers[i].done(std::move(found->second));
    }
  }
}

}  // namespace waiter

#endif  // WAITER_BATCH_CALL_H_
