// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// Start of a wait that gets its handle before it begins: for forms of waits
// whose state holds the handle, and may be gone as soon as the wait has begun.
//
//   PreparedStart::Start(engine, std::move(waiter), callback,
//                        [&](WaitHandle& wait) {
//                          canceller = PreparedStart::CancellerOf(wait);
//                          state.wait = std::move(wait);
//                        });

#ifndef WAITER_ENGINE_INTERNAL_PREPARED_START_H_
#define WAITER_ENGINE_INTERNAL_PREPARED_START_H_

#include <utility>

#include "waiter/engine/engine.h"
#include "waiter/engine/handle.h"
#include "waiter/engine/internal/wait_canceller.h"

namespace waiter::internal {

class PreparedStart {
 public:
  // As `WaitEngine::Start`. Calls `prepare`, which must not throw, before the
  // wait begins.
  template <typename W, typename Callback, typename Prepare>
  static void Start(WaitEngine& engine, W waiter, Callback callback,
                    Prepare prepare) {
    static_cast<void>(engine.StartPrepared(
        std::move(waiter), std::move(callback), std::move(prepare)));
  }

  // Returns an object that cancels the wait of `wait`, also once the handle is
  // moved or destroyed.
  static WaitCanceller CancellerOf(const WaitHandle& wait) {
    return wait.wait_;
  }
};

}  // namespace waiter::internal

#endif  // WAITER_ENGINE_INTERNAL_PREPARED_START_H_
