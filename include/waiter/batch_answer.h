// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// The answer of one call of a `BatchPoller` (batch_poller.h), which polls many
// keys at once:
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

#ifndef WAITER_BATCH_ANSWER_H_
#define WAITER_BATCH_ANSWER_H_

#include "absl/container/flat_hash_map.h"
#include "absl/types/span.h"
#include "waiter/poll.h"

namespace waiter {

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

// Returns an answer with `poll` for each of `keys`, where an `absl::Status` for
// the whole call cannot say enough, such as the time that a server asks for:
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

}  // namespace waiter

#endif  // WAITER_BATCH_ANSWER_H_
