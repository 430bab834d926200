// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// The answer of a call that polls many keys (batch_poller.h).

#ifndef WAITER_BATCH_ANSWER_H_
#define WAITER_BATCH_ANSWER_H_

#include "absl/container/flat_hash_map.h"
#include "waiter/poll.h"

namespace waiter {

// What a call found of its keys.
template <typename Key, typename T = void>
using BatchAnswer = absl::flat_hash_map<Key, Poll<T>>;

}  // namespace waiter

#endif  // WAITER_BATCH_ANSWER_H_
