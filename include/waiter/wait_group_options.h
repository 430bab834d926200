// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// Options of a `WaitGroup` (wait_group.h). They decide when the group cancels
// the waits that are still pending. For `n` waits:
//
//   {}                          All waits go on to their own ends.
//   {.successes_required = 1}   The first success decides ("any").
//   {.successes_required = n}   The first failure decides ("all or nothing").
//   {.successes_required = k}   The kth success decides, or as many failures
//                               as make k successes impossible ("quorum").
//
// For example, two of three replicas:
//
//   waiter::WaitGroup group(engine, std::move(replicas),
//                           {.successes_required = 2},
//                           [](std::vector<waiter::WaitResult<>> results) {
//                             ...
//                           });
//
// Every wait also keeps its own limits: its timeout, attempts and budgets apply
// as they do outside of a group.

#ifndef WAITER_WAIT_GROUP_OPTIONS_H_
#define WAITER_WAIT_GROUP_OPTIONS_H_

#include <cstddef>
#include <optional>

namespace waiter {

// A value. No combination is invalid.
struct WaitGroupOptions {
  // Number of successes that are enough. The other waits are cancelled as soon
  // as that many waits have succeeded, and as soon as too many have ended
  // otherwise for it to be reached. Zero, and a number above that of the waits,
  // cancel all waits at once.
  //
  // Results of waits that were not needed have the reason `kCancelled`, unless
  // they ended by themselves first; so there may be more successes than this.
  //
  // A synchronous poll that is under way at that moment is awaited, and its
  // success or failure still counts for that wait.
  //
  // Unset: no wait is cancelled on account of the others. The callback comes
  // when the last one has ended.
  std::optional<size_t> successes_required = std::nullopt;
};

}  // namespace waiter

#endif  // WAITER_WAIT_GROUP_OPTIONS_H_
