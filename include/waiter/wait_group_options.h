// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// Options of a `WaitGroup` (wait_group.h). They decide when the group cancels
// the waits that are still pending. For `n` waits:
//
//   {}                          All waits go on to their own ends.
//   {.successes_required = 1}   The first success decides: `Any`.
//   {.successes_required = n}   The first failure decides: `All`.
//   {.successes_required = k}   The kth success decides, or as many failures
//                               as make k successes impossible: `FirstN`.
//
// Every wait also keeps its own limits: its timeout, attempts and budgets apply
// as they do outside of a group.

#ifndef WAITER_WAIT_GROUP_OPTIONS_H_
#define WAITER_WAIT_GROUP_OPTIONS_H_

#include <cstddef>
#include <optional>

#include "waiter/version.h"

namespace waiter {

// A value. No combination is invalid.
struct WaitGroupOptions {
  // Number of successes that are enough. The group cancels the other waits as
  // soon as that many have succeeded, or so many have ended without success
  // that the number is out of reach. Zero, or more than the number of waits,
  // cancels all waits at once.
  //
  // The result of a wait that was not needed has the reason `kCancelled`,
  // unless the wait ended by itself first; so there may be more successes than
  // this.
  //
  // The group awaits a synchronous poll that is under way at that moment; its
  // success or failure still counts for that wait.
  //
  // Unset: the group cancels no wait. The callback comes when the last wait has
  // ended.
  std::optional<size_t> successes_required = std::nullopt;
};

}  // namespace waiter

#endif  // WAITER_WAIT_GROUP_OPTIONS_H_
