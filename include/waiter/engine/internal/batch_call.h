// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// The call of a `BatchPoller` (engine/batch_poller.h), and the distribution of
// its answer to the waits for its keys.

#ifndef WAITER_ENGINE_INTERNAL_BATCH_CALL_H_
#define WAITER_ENGINE_INTERNAL_BATCH_CALL_H_

#include <cstddef>
#include <exception>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "waiter/engine/async_waiter.h"
#include "waiter/engine/internal/batch_queue.h"
#include "waiter/internal/exceptions.h"
#include "waiter/poll.h"

namespace waiter::internal {

// `waiter::BatchAnswer`.
template <typename Key, typename T>
using AnswersByKey = absl::flat_hash_map<Key, Poll<T>>;

template <typename Key, typename T>
using BatchCall =
    std::function<absl::StatusOr<AnswersByKey<Key, T>>(absl::Span<const Key>)>;

// A poll that gets the answer for the key at `place` in the call.
template <typename T>
struct BatchRecipient {
  size_t place;
  PollCompletion<T> done;
};

// Returns the result of `call`, or kUnknown if it throws.
template <typename Key, typename T>
absl::StatusOr<AnswersByKey<Key, T>> TryBatchCall(
    const BatchCall<Key, T>& call, const std::vector<Key>& keys) {
  WAITER_TRY { return call(keys); }
  WAITER_CATCH(...) {
    const std::string what = WhatOf(std::current_exception());
    return absl::UnknownError(
        absl::StrCat("the batch call threw", what.empty() ? "" : ": ", what));
  }
}

// Returns the status of a call for `keys`, for its rate limiter: the
// status of its error, otherwise throttled if a poll of `keys` was, otherwise
// success.
template <typename Key, typename T>
PollStatus StatusOfBatchCall(const absl::StatusOr<AnswersByKey<Key, T>>& answer,
                             const std::vector<Key>& keys) {
  if (!answer.ok()) return FromCallError(answer.status()).status();
  for (const Key& key : keys) {
    const auto found = answer->find(key);
    if (found != answer->end() &&
        found->second.status() == PollStatus::kThrottled) {
      return PollStatus::kThrottled;
    }
  }
  return PollStatus::kSuccess;
}

// Answers all recipients. Requires them to be ordered by `place`, so that the
// last one for a key can take the answer by move.
template <typename Key, typename T>
void DistributeBatch(absl::StatusOr<AnswersByKey<Key, T>> answer,
                     const std::vector<Key>& keys,
                     const std::vector<BatchRecipient<T>>& recipients) {
  if (!answer.ok()) {
    const waiter::Poll<T> failure = FromCallError(answer.status());
    for (const BatchRecipient<T>& recipient : recipients) {
      recipient.done(failure);
    }
    return;
  }
  for (size_t i = 0; i < recipients.size(); ++i) {
    const size_t place = recipients[i].place;
    const auto found = answer->find(keys[place]);
    if (found == answer->end()) {
      recipients[i].done(waiter::Poll<T>(NotReady("not in answer")));
    } else if (i + 1 < recipients.size() && recipients[i + 1].place == place) {
      recipients[i].done(found->second);
    } else {
      recipients[i].done(std::move(found->second));
    }
  }
}

}  // namespace waiter::internal

#endif  // WAITER_ENGINE_INTERNAL_BATCH_CALL_H_
