// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// Makes a `WaitEngineOptions::executor` of a thread pool that takes
// `std::function`, which cannot hold the polls of an engine directly because
// they are not copyable:
//
//   waiter::WaitEngine engine(
//       {.executor = waiter::CopyableExecutor(
//            [&pool](std::function<void()> poll) { pool.Post(poll); })});

#ifndef WAITER_COPYABLE_EXECUTOR_H_
#define WAITER_COPYABLE_EXECUTOR_H_

#include <functional>
#include <memory>
#include <utility>

#include "absl/functional/any_invocable.h"
#include "waiter/version.h"

namespace waiter {

// Returns an executor that hands its functions on to `executor`, each of them
// copyable. Copies are the same poll: run one of them once, on one thread, as
// `WaitEngineOptions::executor` says. A poll counts as destroyed without having
// run when its last copy is destroyed. Costs two allocations for each poll.
// Returns null if `executor` is.
inline std::function<void(absl::AnyInvocable<void()>)> CopyableExecutor(
    std::function<void(std::function<void()>)> executor) {
  if (executor == nullptr) return nullptr;
  return [executor = std::move(executor)](absl::AnyInvocable<void()> poll) {
    executor([poll = std::make_shared<absl::AnyInvocable<void()>>(
                  std::move(poll))] { (*poll)(); });
  };
}

}  // namespace waiter

#endif  // WAITER_COPYABLE_EXECUTOR_H_
